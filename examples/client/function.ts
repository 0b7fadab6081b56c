// A function that runs only when the bureau lets its caller through (`withTrustRank`): not on
// `refuse`, not on an unapproved `escalate`, not during an outage.
// Run: npm run -s example examples/client/function.ts
import { TrustRankClient, useTrustRank, withTrustRank } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
useTrustRank(new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 }));

const transfer = withTrustRank(async (to: string, amount: number) => `sent ${amount} to ${to}`, {
  agentId: (to) => to,
  stakes: (_to, amount) => amount,
  onEscalate: (_verdict, _to, amount) => amount < 50, // a person's yes or no
});
console.log(await transfer("agent://test/connect", 25));
console.log(await transfer("agent://test/escalate", 25));
console.log(await transfer("agent://test/escalate", 500).catch((error) => error.name));
console.log(await transfer("agent://test/refuse", 25).catch((error) => error.name));
