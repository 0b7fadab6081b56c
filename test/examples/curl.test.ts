// examples/curl/first-verdicts.sh, run as its head says: every answer is one of the service and
// says what the comment above it promises.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type SampleService, startSampleService } from "./_sample-service.ts";
import { needs } from "../_needs.ts";

let service: SampleService;
beforeAll(async () => {
  service = await startSampleService();
});
afterAll(() => service.stop());

it("asks each question and gets its answer", needs("bash", "curl"), async () => {
  const printed = await service.run("bash", ["examples/curl/first-verdicts.sh"]);
  const answers = printed.split("\n").filter((line) => line.startsWith("{"));
  expect(answers.map((line) => JSON.parse(line))).toMatchObject([
    {
      policy_action: { verdict: "CHALLENGE", log_reason: "RISK_ABOVE_BOUND" },
      trust_evaluation: { risk_level: "CRITICAL" },
    },
    { subject: "agent://acme/ledger-sync", stakes: 250, allowed: true },
    { decision: "refuse", connected: false, a_to_b: { decision: "refuse" } },
    { duplicate: false, signature: "none" },
    { duplicate: true },
    { agent_id: "agent://hooli/search-agent", known: true },
    { source_id: "invoice-17", state: "active" },
    { provenance_data: { source_verified: true }, policy_action: { verdict: "ALLOW" } },
  ]);
});

it("says what is missing without a key", async () => {
  const command = "unset TRUSTRANK_KEY; examples/curl/first-verdicts.sh";
  await expect(service.run("bash", ["-c", command])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the key that the first start printed"),
  });
});
