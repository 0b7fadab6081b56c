// One agent at rising stakes (`check`): the decision gets stricter, never an exception, and
// `require` is the form that throws. Needs the sample history.
// Run: npm run -s example examples/client/check.ts
import { TrustGateError, TrustRankClient } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 });

for (const stakes of [250, 25_000, 1_000_000]) {
  // It only looks: stakes that an agent is let through for count with those of its next calls.
  const check = await client.check("agent://acme/ledger-sync", { stakes, reserve: false });
  console.log(stakes, check.allowed, check.decision, check.reason_codes);
}
try {
  await client.require("agent://test/refuse", { stakes: 50 });
} catch (error) {
  // An outage is a TrustRankError: not a verdict, and not this class.
  if (!(error instanceof TrustGateError)) throw error;
  console.log(error.decision, error.reasons.length > 0);
}
