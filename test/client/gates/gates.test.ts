// The rails over the real service: nothing reaches a tool or a route unless a verdict lets it,
// and a policy that is asked again costs nothing while the verdict lives.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  checkApproval,
  handshakeApproval,
  type ToolDecision,
} from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateError } from "../../../src/client/errors.ts";
import {
  type EveApprovalStatus,
  mutualHandshakeApproval,
  trustRankApproval,
} from "../../../src/client/adapters/eve.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { DECISIONS, type Decision, TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { actionReply, service as replying, verifyReply } from "../_replies.ts";
import { type Service, startTestService } from "../_service.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const agent = (name: string) => `agent://test/${name}`;

let service: Service;
let client: TrustRankClient;
const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", timeoutMs: WAIT_MS_MAX });

beforeAll(async () => {
  service = await startTestService();
  client = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX, agentId: agent("connect") });
});
afterAll(() => service.stop());

const boom = (): never => {
  throw new Error("boom");
};
interface Transfer {
  counterparty: string;
  amount: number;
}
const input = (counterparty: string, amount = 5): Transfer => ({ counterparty, amount });
const stakes = (given: Transfer) => given.amount;

describe("the approval policies in eve's words", () => {
  const context = (to: string, callId = to) => ({
    toolName: "transfer",
    toolInput: input(to),
    callId,
    session: { auth: { current: { principalId: to } } },
  });
  const table: [string, EveApprovalStatus["type"]][] = [
    ["connect", "approved"],
    ["verify", "user-approval"],
    ["escalate", "user-approval"],
    ["refuse", "denied"],
  ];

  it.each(table)("%s is %s", async (name, type) => {
    const byCheck = trustRankApproval({ stakes, client });
    expect(await byCheck(context(agent(name)))).toMatchObject({ type });
    const byHandshake = mutualHandshakeApproval({ stakes, client });
    expect(await byHandshake(context(agent(name)))).toMatchObject({ type });
  });

  it("give no reason with user-approval, which eve forbids, and one with denied", async () => {
    const policy = mutualHandshakeApproval({ stakes, client });
    expect(await policy(context(agent("escalate")))).toEqual({ type: "user-approval" });
    const denied = await policy(context(agent("refuse")));
    expect(denied).toMatchObject({ type: "denied", reason: expect.stringMatching(/\w{3}/) });
  });

  it("run a verification below L2, verified by the caller's own, and ask a person otherwise", async () => {
    const to = context(agent("verify"));
    for (const open of [trustRankApproval, mutualHandshakeApproval]) {
      const type = async (more: object) => (await open({ stakes, client, ...more })(to)).type;
      expect(await type({ toolLevel: "L1" })).toBe("approved");
      expect(await type({})).toBe("user-approval");
      expect(await type({ toolLevel: "L3" })).toBe("user-approval");
      for (const toolLevel of ["L1", "L2", "L3"]) {
        expect(await type({ toolLevel, verification: () => true })).toBe("approved");
        expect(await type({ toolLevel, verification: async () => true })).toBe("approved");
        for (const verification of [() => false, () => 1, () => undefined, boom])
          expect(await type({ toolLevel, verification })).toBe("denied");
      }
    }
  });

  it("need no stakes for one agent, and have them for two", async () => {
    for (const [name, type] of table) {
      expect(await trustRankApproval({ client })(context(agent(name)))).toMatchObject({ type });
    }
    expect(() => mutualHandshakeApproval({ client } as never)).toThrow(
      new TypeError("`stakes` must be a function"),
    );
  });

  it("never run a refused agent's call, whatever the tool's level", async () => {
    for (const toolLevel of TOOL_LEVELS) {
      const policy = trustRankApproval({ client, toolLevel, verification: () => true });
      expect(await policy(context(agent("refuse")))).toMatchObject({ type: "denied" });
      expect(await policy(context(agent("escalate")))).toMatchObject({ type: "user-approval" });
    }
  });
});

describe("the gate is total", () => {
  const cases: Record<string, () => Promise<ToolDecision>> = {
    "the service is down": () => checkApproval({ stakes, client: down })(call("connect")),
    "no client": () => checkApproval({ stakes })(call("connect")),
    "stakes throws": () => checkApproval({ stakes: boom, client })(call("connect")),
    "stakes is no number": () =>
      checkApproval({ stakes: () => "5" as unknown as number, client })(call("connect")),
    "stakes is negative": () => checkApproval({ stakes: () => -1, client })(call("connect")),
    "agentId throws": () => checkApproval({ stakes, agentId: boom, client })(call("connect")),
    "no principal": () =>
      checkApproval({ stakes, client })({ toolName: "t", input: input("x"), callId: "1" }),
    "the input is missing": () =>
      handshakeApproval({ stakes: () => 5, client })({ toolName: "t", input: undefined }),
    "initiator throws": () => handshakeApproval({ stakes, initiator: boom, client })(call("x")),
    "an aborted call": () =>
      checkApproval({ stakes, client })({ ...call("connect"), signal: AbortSignal.abort() }),
    "an unknown decision": () =>
      checkApproval({ stakes, client: lying(verifyReply("MAYBE" as never)) })(call("connect")),
    "an unknown decision of a handshake": () =>
      handshakeApproval({ stakes, client: lying({ decision: "maybe", reasons: [] }) })(
        call("connect"),
      ),
    "undefined for a verdict": () =>
      checkApproval({ stakes, client: lying(undefined) })(call("connect")),
    "a client that throws text": () =>
      checkApproval({ stakes, client: { verify: boom } as never })(call("connect")),
    "stakes gives nothing": () =>
      checkApproval({ stakes: (() => undefined) as never, client })(call("connect")),
  };
  const call = (name: string) => ({
    toolName: "transfer",
    input: input(agent(name)),
    callId: "call-1",
    principalId: agent(name),
  });
  /** A client of somebody's own making: what it gives is not checked by ours. */
  const lying = (verdict: unknown) =>
    ({
      agentId: agent("connect"),
      verify: async () => verdict,
      handshake: async () => verdict,
    }) as unknown as TrustRankClient;

  it.each(Object.keys(cases))("denies when %s", async (name) => {
    const decision = await cases[name]!();
    expect(decision.action).toBe("deny");
    expect(decision.reason).toMatch(/^[a-z`].*[^.]$/);
  });

  it("keeps the cause for its observer, and from the model", async () => {
    const errors: (Error | undefined)[] = [];
    const onDecision = ({ error }: ToolDecision) => void errors.push(error);
    const own = { stakes, client, onDecision };
    const throwing = new RangeError("no agent in row 5 of vault");
    const agentId = (): never => {
      throw throwing;
    };
    const decision = await checkApproval({ ...own, agentId })(call("connect"));
    expect(decision.reason).toBe("callback `agentId` failed");
    expect(errors).toEqual([decision.error]);
    expect(decision.error).toBeInstanceOf(TrustGateError);
    expect(decision.error).toMatchObject({
      message: "callback `agentId` failed: no agent in row 5 of vault",
      cause: throwing,
      reasons: ["callback `agentId` failed"],
    });
  });

  it("says what its defaults lack", async () => {
    const anonymous = { toolName: "t", input: { to: "x" }, callId: "1" };
    const by = await checkApproval({ client })(anonymous);
    expect(by.reason).toBe("the session has no principal: pass `agentId`");
    const both = await handshakeApproval({ client, stakes: () => 5 })(anonymous);
    expect(both.reason).toBe("the input has no `counterparty`");
  });

  it("says what the service finds wrong with the question, by member", async () => {
    const wrong = { ...call("connect"), principalId: "agent://no" };
    const decision = await checkApproval({ stakes, client })(wrong);
    expect(decision.reason).toMatch(
      /^no trust verdict \(invalid_request: \/agent_id: must be [^;]+\)$/,
    );
    expect(decision.error).toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/agent_id" }],
    });
  });

  it("says of an outage no more than its code", async () => {
    const decision = await checkApproval({ stakes, client: down })(call("connect"));
    expect(decision.reason).toBe("no trust verdict (unreachable)");
    expect(decision.error).toMatchObject({ code: "unreachable" });
  });

  it("tells an observer that throws as well as one that does not", async () => {
    const seen: string[] = [];
    const observed = checkApproval({
      stakes,
      client,
      onDecision: ({ action }) => {
        seen.push(action);
        boom();
      },
    });
    expect((await observed(call("refuse"))).action).toBe("deny");
    expect(seen).toEqual(["deny"]);
  });
});

describe("a policy that is asked again", () => {
  let decision: Decision = "escalate";
  let fetch: FetchLike & { calls: number };
  const ask = (policy: ReturnType<typeof open>, callId?: string, amount = 5) =>
    policy({ toolName: "t", input: input("x", amount), callId, principalId: agent("a") });
  const open = () => {
    fetch = replying(() => actionReply(decision));
    return checkApproval({
      stakes,
      client: new TrustRankClient({ baseUrl: "http://trust", fetch }),
    });
  };

  beforeEach(() => {
    decision = "escalate";
  });

  it("costs one paid read per call, together or in turn", async () => {
    const policy = open();
    await Promise.all([ask(policy, "1"), ask(policy, "1")]);
    expect((await ask(policy, "1")).action).toBe("park");
    expect(fetch.calls).toBe(1);
    await ask(policy, "2");
    expect(fetch.calls).toBe(2);
  });

  it("asks again when an edited input changes what is at stake", async () => {
    const policy = open();
    await ask(policy, "1", 5);
    decision = "refuse";
    expect((await ask(policy, "1", 5000)).action).toBe("deny");
    expect(fetch.calls).toBe(2);
  });

  it("answers as before for five minutes, then anew", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      for (const [before, after] of DECISIONS.flatMap((a) =>
        DECISIONS.map((b) => [a, b] as const),
      )) {
        const policy = open();
        decision = before;
        const first = await ask(policy, "1");
        decision = after;
        vi.advanceTimersByTime(5 * 60_000 - 1);
        expect(await ask(policy, "1")).toEqual(first);
        vi.advanceTimersByTime(1);
        expect((await ask(policy, "1")).verdict?.decision).toBe(after);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  it("without a call id shares a verdict, but never a fault", async () => {
    const policy = open();
    await ask(policy);
    expect((await ask(policy)).action).toBe("park");
    expect(fetch.calls).toBe(1);
    let calls = 0;
    const failing: FetchLike = () => Promise.reject(new TypeError(`fault ${(calls += 1)}`));
    const own = new TrustRankClient({ baseUrl: "http://trust", fetch: failing });
    const denying = checkApproval({ stakes, client: own });
    expect([(await ask(denying)).action, (await ask(denying)).action]).toEqual(["deny", "deny"]);
    expect(calls).toBe(2);
  });

  it("tells calls of one id apart by their conversation", async () => {
    const policy = open();
    const inTalk = (conversationId: string) =>
      policy({
        toolName: "t",
        input: input("x"),
        callId: "functions.t:0",
        conversationId,
        principalId: agent("a"),
      });
    await inTalk("one");
    decision = "refuse";
    expect([(await inTalk("one")).action, (await inTalk("two")).action]).toEqual(["park", "deny"]);
    const known = (conversationId: string) =>
      policy.decisionOn?.({ toolName: "t", callId: "functions.t:0", conversationId })?.action;
    expect([known("one"), known("two"), known("three")]).toEqual(["park", "deny", undefined]);
  });

  it("is denied for as long as the outage lasts and no longer", async () => {
    let isUp = false;
    const flaky: FetchLike = async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return Response.json(verifyReply());
    };
    const own = new TrustRankClient({ baseUrl: "http://trust", fetch: flaky });
    const policy = checkApproval({ stakes, client: own });
    expect((await ask(policy, "1")).action).toBe("deny");
    isUp = true;
    expect((await ask(policy, "1")).action).toBe("run");
  });
});
