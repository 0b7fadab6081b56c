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
import { trustGate, TrustGateUnavailableError } from "../../../src/client/gates/trust-gate.ts";
import { DECISIONS, type Decision } from "../../../src/contract/vocabulary.ts";
import { checkReply, rejection, service as replying } from "../_replies.ts";
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

  it("let a verification through below L2 or when told to, and ask otherwise", async () => {
    const to = context(agent("verify"));
    const type = async (more: object) =>
      (await trustRankApproval({ stakes, client, ...more })(to)).type;
    expect(await type({ toolLevel: "L1" })).toBe("approved");
    expect(await type({ toolLevel: "L3" })).toBe("user-approval");
    expect(await type({ toolLevel: "L3", onVerification: "approve" })).toBe("approved");
    expect(await type({ toolLevel: "L1", onVerification: "ask" })).toBe("user-approval");
    expect(await type({ onVerification: "approve", verify: () => true })).toBe("approved");
    expect(await type({ onVerification: "approve", verify: () => 1 })).toBe("denied");
    expect(await type({ onVerification: "approve", verify: boom })).toBe("denied");
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
      checkApproval({ stakes, client: lying({ decision: "maybe", reasons: [] }) })(call("connect")),
    "undefined for a verdict": () =>
      checkApproval({ stakes, client: lying(undefined) })(call("connect")),
    "a client that throws text": () =>
      checkApproval({ stakes, client: { check: boom } as never })(call("connect")),
  };
  const call = (name: string) => ({
    toolName: "transfer",
    input: input(agent(name)),
    callId: "call-1",
    principalId: agent(name),
  });
  /** A client of somebody's own making: what it gives is not checked by ours. */
  const lying = (verdict: unknown) =>
    ({ check: async () => verdict }) as unknown as TrustRankClient;

  it.each(Object.keys(cases))("denies when %s", async (name) => {
    const decision = await cases[name]!();
    expect(decision.action).toBe("deny");
    expect(decision.reason).toMatch(/^[a-z`].*[^.]$/);
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
    fetch = replying(({ subject, stakes: at }) => checkReply(subject!, at, decision));
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
    const flaky: FetchLike = async (_url, init) => {
      if (!isUp) throw new TypeError("fetch failed");
      const { subject, stakes: at } = JSON.parse(init.body as string);
      return Response.json(checkReply(subject, at));
    };
    const own = new TrustRankClient({ baseUrl: "http://trust", fetch: flaky });
    const policy = checkApproval({ stakes, client: own });
    expect((await ask(policy, "1")).action).toBe("deny");
    isUp = true;
    expect((await ask(policy, "1")).action).toBe("run");
  });
});

describe("trustGate", () => {
  const CHALLENGES = Symbol.for("eve.channels.auth.challenges");
  const inner = Object.assign(
    (request: Request) => {
      const name = request.headers.get("x-token");
      return name === null ? null : { principalId: agent(name), principalType: "service" };
    },
    { schemes: ["basic"] },
  );
  Object.defineProperty(inner, CHALLENGES, { value: [{ scheme: "Basic" }], enumerable: false });
  const request = (token?: string) =>
    new Request("http://app/", token === undefined ? {} : { headers: { "x-token": token } });

  it("lets in whom the bureau trusts, as the inner authenticator saw them", async () => {
    const gate = trustGate(inner, { client });
    expect(await gate(request("connect"))).toMatchObject({ principalType: "service" });
    expect(await gate(request("verify"))).toMatchObject({ principalId: agent("verify") });
  });

  it("leaves identities it does not know to the next authenticator", async () => {
    expect(await trustGate(inner, { client: down })(request())).toBeNull();
    expect(await trustGate(async () => undefined, { client: down })(request())).toBeUndefined();
  });

  it.each(["refuse", "escalate"])("answers 403 with the scored reason on %s", async (name) => {
    const thrown = await rejection(trustGate(inner, { client })(request(name)));
    const { response } = thrown as TrustGateError;
    expect(response.status).toBe(403);
    const body = await response.json();
    expect(body).toMatchObject({ decision: name, reasons: [expect.stringMatching(/\w/)] });
    // Looked at twice by some frameworks: a body must not have been used up.
    expect(await (thrown as TrustGateError).response.json()).toEqual(body);
  });

  it("fails closed: 503 when there is no verdict, 403 when a callback throws", async () => {
    const noVerdict = await rejection(trustGate(inner, { client: down })(request("connect")));
    expect(noVerdict).toBeInstanceOf(TrustGateUnavailableError);
    const { response } = noVerdict as TrustGateUnavailableError;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    for (const options of [{ agentId: boom }, { stakes: boom }]) {
      const thrown = await rejection(trustGate(inner, { client, ...options })(request("connect")));
      expect((thrown as TrustGateError).response.status).toBe(403);
    }
    const noClient = await rejection(trustGate(inner)(request("connect")));
    expect((noClient as TrustGateUnavailableError).response.status).toBe(503);
  });

  it("passes the inner authenticator's own rejection on", async () => {
    const strict = () => Promise.reject(new Error("401"));
    await expect(trustGate(strict, { client })(request("connect"))).rejects.toThrow("401");
  });

  it("keeps what hangs on the function: challenges under symbols, plain members", () => {
    const gate = trustGate(inner, { client });
    expect(Object.getOwnPropertyDescriptor(gate, CHALLENGES)).toEqual(
      Object.getOwnPropertyDescriptor(inner, CHALLENGES),
    );
    expect(Reflect.get(gate, "schemes")).toEqual(["basic"]);
  });
});
