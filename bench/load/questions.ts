// Requests of the HTTP suites: one verify of each kind, as a gateway sends it.
import { ADMIN_KEY } from "../server-process.ts";

export const ROUTE = "/v1/trust/verify";
export const HEADERS = {
  authorization: `Bearer ${ADMIN_KEY}`,
  "content-type": "application/json",
};

/** Of the sample history: `ledger-sync` is allowed at L2, an unknown agent is not at L3. */
const verifyBody = (agent: string, level: string, cited?: readonly string[]): string =>
  JSON.stringify({
    agent_id: agent,
    action: "payments.transfer",
    tool_level: level,
    context: {
      content_hash: `sha256:${"ab".repeat(32)}`,
      ...(cited === undefined ? {} : { cited_sources: cited }),
      session_duration_sec: 318,
    },
  });

const KNOWN = "agent://acme/ledger-sync";

const STRANGERS = 1000;

/** Allowed with nothing cited; with two sources that nobody registered; denied, one or many agents. */
export const BODIES = {
  plain: verifyBody(KNOWN, "L2"),
  cited: verifyBody(KNOWN, "L2", ["doc:quarterly-report", "doc:price-list"]),
  denied: verifyBody("agent://acme/unknown-bot", "L3"),
  strangers: Array.from({ length: STRANGERS }, (_, at) =>
    verifyBody(`agent://acme/unknown-bot-${at}`, "L3"),
  ),
};
