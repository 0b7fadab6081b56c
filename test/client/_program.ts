// A user's program in TypeScript, of which no line says what the package's types already say. Good
// for `import` and for `require`; reads BASE_URL and API_KEY.
export const PROGRAM = `
import {
  generateSigningKey,
  handshakeApproval,
  type OutcomeSigner,
  TrustGateError,
  TrustGateway,
  TrustRankClient,
  withTrustRank,
} from "@trustrank/client";
import { aiSdkToolApproval } from "@trustrank/client/ai-sdk";

const client = new TrustRankClient({
  baseUrl: process.env["BASE_URL"] ?? "",
  apiKey: process.env["API_KEY"] ?? "",
  timeoutMs: 60_000,
});
const pay = withTrustRank(async (to: string, amount: number) => to + amount, {
  agentId: (to) => to,
  stakes: (_to, amount) => amount,
  client,
});
async function main() {
  const paid: string = await pay("agent://test/connect", 5);
  let refused: readonly string[] = [];
  try {
    await pay("agent://test/refuse", 5);
  } catch (error) {
    if (error instanceof TrustGateError) refused = error.reasons;
  }
  const gateway = new TrustGateway({ client });
  const answer = await gateway.authorize({
    agentId: "agent://test/refuse",
    action: "payments.transfer",
    toolLevel: "L3",
  });
  const policy = handshakeApproval({ client, stakes: (input) => input.amount });
  const approval = typeof aiSdkToolApproval(policy, "pay");
  console.log(JSON.stringify({ paid, refused: refused.length, word: answer.word, approval }));
}
export async function enrol(): Promise<OutcomeSigner> {
  const { keyPair, jwk } = await generateSigningKey();
  const kept: string = jwk.d;
  return client.registerKey({ keyPair, agentId: "agent://acme/" + kept.length });
}
void main();
`;

export const PRINTED = {
  paid: "agent://test/connect5",
  refused: 1,
  word: "BLOCK",
  approval: "function",
};
