// Policy verdicts on actions (`verify`): one question, then a batch of them with an agent that has
// no history yet. Needs the sample history.
// Run: npm run -s example examples/client/verify.ts
import { TrustRankClient } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 });

const { policy_action, trust_evaluation, reason_codes } = await client.verify({
  agent_id: "agent://globex/price-scout",
  action: "order.place",
  tool_level: "L2",
  stakes: 80,
});
console.log(policy_action.verdict, policy_action.log_reason, trust_evaluation.risk_level);
console.log(reason_codes.join(" "));

const agents = ["agent://acme/ledger-sync", "agent://quickcash/loan-broker", "agent://new/comer"];
const answers = await client.verifyBatch(
  agents.map((agent_id) => ({ agent_id, action: "report.write", tool_level: "L2" })),
);
for (const [index, { verdict, problem }] of answers.entries()) {
  console.log(agents[index], verdict?.policy_action.verdict ?? problem?.code);
}
