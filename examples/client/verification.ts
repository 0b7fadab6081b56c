// Additional verification on the weaker leg (`connect_with_verification`): a signed challenge, the same for a
// tool of the AI SDK, a function and a route.
// Run: npm run -s example examples/client/verification.ts
import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { checkApproval, trustGate, TrustRankClient, withTrustRank } from "@trustrank/client";
import { aiSdkApproval } from "@trustrank/client/ai-sdk";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 });

// The agent keeps the private key; the public one was registered when it was introduced to you.
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const publicKeys = new Map([["agent://test/verify", publicKey]]);
/** Stands for a request to the agent's own endpoint. */
const signByAgent = async (nonce: Buffer) => sign(null, nonce, privateKey);

async function verification(_verdict: unknown, weakerLeg: { subject: string }) {
  const key = publicKeys.get(weakerLeg.subject);
  if (key === undefined) return false;
  const nonce = randomBytes(32);
  return verify(null, nonce, key, await signByAgent(nonce));
}

// A tool: `verification` decides where a person would have been asked.
const agentId = ({ payee }: { payee: string }) => payee;
const toolCall = { toolName: "pay", toolCallId: "1", input: { payee: "agent://test/verify" } };
for (const options of [{}, { verification }]) {
  const toolApproval = aiSdkApproval(checkApproval({ client, agentId, ...options }));
  console.log("tool:", (await toolApproval({ toolCall })).type);
}

// A function.
const pay = withTrustRank((to: string, amount: number) => `sent ${amount} to ${to}`, {
  client,
  agentId: (to) => to,
  stakes: (_to, amount) => amount,
  verification,
});
console.log("function:", await pay("agent://test/verify", 25));

// A route: the inner authenticator proves who calls, the gate asks whether to trust the caller.
const authenticate = (request: Request) => ({
  principalId: request.headers.get("x-verified-agent") ?? "",
});
const request = new Request("http://app/", {
  headers: { "x-verified-agent": "agent://test/verify" },
});
for (const options of [{}, { verification }]) {
  const gate = trustGate(authenticate, { client, level: "L2", ...options });
  const admitted = await gate(request).catch((error) => error.response.status);
  console.log("route:", admitted);
}
