// Waiting for a person with the client and with an approval policy, against the running service: what
// ends the wait, what the policy does then, and faults on the way.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustRankError } from "../../../src/client/errors.ts";
import { checkApproval } from "../../../src/client/gates/approval.ts";
import { type LiveService, startLiveService } from "../_live.ts";

let service: LiveService;
let client: TrustRankClient;
let stakes = 0;
let count = 0;

/** An agent that nobody knows, held back at `stakes`. */
const newcomer = () => `agent://newcomers/n-${(count += 1)}`;

beforeAll(async () => {
  service = await startLiveService();
  const { baseUrl, apiKey } = service;
  client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 5000, cache: {} });
  for (stakes = 1; stakes < 1e9; stakes *= 2) {
    if ((await client.check("agent://newcomers/first", { stakes })).decision === "escalate") return;
  }
});
afterAll(() => service.stop());

async function held(agent: string): Promise<string> {
  const { decision, review } = await client.check(agent, { stakes });
  expect(decision).toBe("escalate");
  return review!.id;
}

const decide = (id: string, decision: "overturned" | "upheld") =>
  service.call("POST", `/v1/reviews/${id}/decision`, {
    decision,
    ...(decision === "overturned" ? { until: Date.now() + 60_000, max_stakes: "any" } : {}),
  });

describe("awaitReview", () => {
  it("resolves with the decision, and the next check is not of before", async () => {
    const agent = newcomer();
    const id = await held(agent);
    const waiting = client.awaitReview(id, { timeoutMs: 30_000 });
    setTimeout(() => void decide(id, "overturned"), 200);
    expect(await waiting).toMatchObject({ id, agent, decision: "overturned", in_force: true });
    expect((await client.check(agent, { stakes })).decision).toBe("connect");
  });

  it("resolves with the open review when nobody decides in time", async () => {
    const id = await held(newcomer());
    const startedMs = performance.now();
    expect(await client.awaitReview(id, { timeoutMs: 1000 })).toMatchObject({ state: "open" });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
  });

  it("asks again over faults that pass, and gives up at those that stay and when aborted", async () => {
    const id = await held(newcomer());
    const { baseUrl, apiKey } = service;
    let failures = 2;
    const flaky = new TrustRankClient({
      baseUrl,
      apiKey,
      fetch: (url, init) => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new TypeError("cut off")) : fetch(url, init);
      },
    });
    setTimeout(() => void decide(id, "upheld"), 500);
    expect((await flaky.awaitReview(id, { timeoutMs: 20_000 })).decision).toBe("upheld");
    const unknown = client.awaitReview("rv-20260101-000000000000000000000000", { timeoutMs: 9000 });
    await expect(unknown).rejects.toMatchObject({ code: "not_found" });
    const signal = AbortSignal.timeout(200);
    const other = await held(newcomer());
    await expect(client.awaitReview(other, { signal })).rejects.toBeInstanceOf(TrustRankError);
  });
});

describe("an approval policy that waits", () => {
  const policyOf = (reviewWaitMs: number, agentId: string) =>
    checkApproval({ client, stakes: () => stakes, agentId: () => agentId, reviewWaitMs });
  const heldAtLevel = async (agent: string) => {
    const question = { agent_id: agent, action: "tool.pay", tool_level: "L2", stakes } as const;
    return (await client.verify(question)).review!.id;
  };
  const call = () => ({ toolName: "pay", input: {}, callId: `call-${(count += 1)}` });

  it("runs what is overturned, denies what is upheld, parks what nobody decides", async () => {
    for (const [decision, action] of [
      ["overturned", "run"],
      ["upheld", "deny"],
    ] as const) {
      const agent = newcomer();
      const id = await heldAtLevel(agent);
      const asked = policyOf(20_000, agent)(call());
      setTimeout(() => void decide(id, decision), 200);
      expect((await asked).action).toBe(action);
    }
    expect((await policyOf(1000, newcomer())(call())).action).toBe("park");
    const startedMs = performance.now();
    expect((await policyOf(0, newcomer())(call())).action).toBe("park");
    expect(performance.now() - startedMs).toBeLessThan(900);
  });
});
