// Both directions between two agents (`handshake`): the most restrictive leg decides, and a refusal
// is a verdict like any other although it travels as HTTP 403. Needs the sample history.
// Run: npm run -s example examples/client/handshake.ts
import { TrustRankClient } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 });

for (const counterparty of ["agent://hooli/search-agent", "agent://test/refuse"]) {
  const both = await client.handshake("agent://acme/ledger-sync", counterparty, { stakes: 10 });
  console.log(both.connected, both.decision);
  console.log("  they to us:", both.a_to_b.decision, both.a_to_b.reason_codes);
  console.log("  we to them:", both.b_to_a.decision, both.b_to_a.reason_codes);
}
