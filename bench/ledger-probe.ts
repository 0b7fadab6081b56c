// Probe of bench:ledger: a process of its own that requests verdicts at a fixed rate beside the
// reports, so that their pauses are not its own. `node bench/ledger-probe.ts <url> <key> <per
// second> <seconds>`; one JSON object on stdout.
import { buildRequest, openLoop, quantile } from "./raw-client.ts";

/** Limit of connections: further ones would only queue, unlike a gateway's. */
const LANES = 10;

const [, , base = "", key = "", perSecond = "", seconds = ""] = process.argv;
const url = new URL(base);
const body = JSON.stringify({
  agent_id: "agent://bench/seller-7",
  action: "payments.transfer",
  tool_level: "L2",
  context: {},
});
const asked = buildRequest(url, "/v1/trust/verify", key, body, 1);
const tally = await openLoop(url, () => asked, Number(perSecond), Number(seconds), LANES);
process.stdout.write(
  JSON.stringify({
    p99_ms: quantile(tally.latencies, 0.99),
    service_p99_ms: quantile(tally.services, 0.99),
    refused: tally.refused,
  }),
);
