// A process of its own that asks for verdicts at a fixed rate beside bench:ledger's reports: its
// pauses are not theirs. `node bench/ledger-probe.ts <url> <key> <per second> <seconds>`; one JSON
// object on stdout.
import { buildRequest, openLoop, quantile } from "./raw-client.ts";

/** More connections than that are more threads of nobody's gateway: they only queue. */
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
