// Signed outcomes: a key is made and registered once, then every report carries its signature. It counts
// fully where the operator vouches for the namespace (`trustrank namespaces grant acme --vouched`) or the
// API key is first-party. One report is wrong on purpose, to show that it does not stop the others.
// Run: npm run -s example examples/client/signed.ts
import { generateSigningKey, TrustRankClient } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const agentId = "agent://acme/buyer";
const { keyPair } = await generateSigningKey(); // keep its `jwk` for `importSigningKey`
const signer = await new TrustRankClient({ baseUrl, apiKey, agentId }).registerKey({ keyPair });

const client = new TrustRankClient({ baseUrl, apiKey, agentId, signer });
const order = { subject: "agent://shop/seller", reporter: agentId, grade: "counterparty" } as const;
const [first, second] = await client.reportOutcomes([
  { ...order, id: "order-1", outcome: 1, stakes: 250 },
  { ...order, id: "order-2", outcome: 0, stakes: -1 },
]);
console.log(first?.receipt?.signature, second?.error?.code);
