// TrustRankClient against the real service, and its reading of replies against a service that lies.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError, TrustRankError } from "../../src/client/errors.ts";
import type { VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { checkReply, rejection, service as replying, verifyReply } from "./_replies.ts";
import type { FetchLike } from "../../src/client/runtime.ts";
import { type Service, startTestService } from "./_service.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const CONNECT = "agent://test/connect";
const REFUSE = "agent://test/refuse";
const ESCALATE = "agent://test/escalate";

const boom = (): never => {
  throw new Error("boom");
};

let service: Service;
let client: TrustRankClient;

beforeAll(async () => {
  service = await startTestService();
  // Times are tested elsewhere, on a clock of their own: a busy machine must not fail this suite.
  client = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX, agentId: "agent://acme/me" });
});
afterAll(() => service.stop());

describe("check and handshake", () => {
  it("give a low score as a verdict, never as an error", async () => {
    const verdict = await client.check(REFUSE, { stakes: 10 });
    expect(verdict).toMatchObject({ allowed: false, decision: "refuse", subject: REFUSE });
    expect(verdict.reasons).not.toEqual([]);
    expect(await client.check(CONNECT, { stakes: 10 })).toMatchObject({ allowed: true });
  });

  it("read the 403 of a refused handshake as the verdict it carries", async () => {
    const verdict = await client.handshake(CONNECT, REFUSE, { stakes: 10 });
    expect(verdict).toMatchObject({ decision: "refuse", connected: false });
    expect(verdict.a_to_b.subject).toBe(REFUSE);
    expect(verdict.reasons).not.toEqual([]);
    const open = await client.handshake(CONNECT, "agent://test/verify", { stakes: 10 });
    expect(open).toMatchObject({ decision: "connect_with_verification", connected: true });
  });

  it("report the service's problems with code, status and members", async () => {
    const thrown = await rejection(client.check("agent://not-an-agent", { stakes: 1 }));
    expect(thrown).toBeInstanceOf(TrustRankError);
    expect(thrown).toMatchObject({ code: "invalid_request", status: 400 });
    expect((thrown as TrustRankError).errors[0]?.pointer).toBe("/subject");
    const stranger = new TrustRankClient({ baseUrl: service.baseUrl, timeoutMs: WAIT_MS_MAX });
    // A 403 that is a problem is no verdict.
    const noKey = await rejection(stranger.handshake(CONNECT, CONNECT, { stakes: 1 }));
    expect(noKey).toMatchObject({ code: "unauthenticated", status: 401 });
  });

  it("serve a repeat from the cache when there is one", async () => {
    const fetch = replying(({ subject, stakes }) =>
      checkReply(subject!, stakes, "connect", { max_stakes: 100 }),
    );
    const cached = new TrustRankClient({
      baseUrl: "http://trust",
      fetch,
      cache: {},
      follow: false,
    });
    await cached.check(CONNECT, { stakes: 50 });
    expect(await cached.check(CONNECT, { stakes: 80 })).toMatchObject({ stakes: 80 });
    expect(fetch.calls).toBe(1);
    await cached.check(CONNECT, { stakes: 101 });
    expect(fetch.calls).toBe(2);
  });
});

it("says so when the service takes no signatures", async () => {
  // This one keeps no reporters' keys.
  expect(await rejection(client.serviceId())).toMatchObject({ code: "not_found" });
});

describe("require", () => {
  it("throws TrustGateError with the verdict on refuse, and only then", async () => {
    const thrown = await rejection(client.require(REFUSE, { stakes: 10 }));
    expect(thrown).toBeInstanceOf(TrustGateError);
    expect((thrown as TrustGateError).verdict).toMatchObject({ decision: "refuse" });
    expect((thrown as TrustGateError).response.status).toBe(403);
    expect(await client.require(ESCALATE, { stakes: 10 })).toMatchObject({ decision: "escalate" });
  });

  it("opens its connection before the first question, and says whether it could", async () => {
    let paths: string[] = [];
    const fetch: FetchLike = (url, init) => {
      paths = [...paths, new URL(url).pathname];
      return globalThis.fetch(url, init);
    };
    const warmed = new TrustRankClient({ ...service, fetch });
    expect([await warmed.warmUp(), paths]).toEqual([true, ["/healthz"]]);
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:64999" });
    expect(await down.warmUp()).toBe(false);
  });

  it("calls a refused connection unreachable, even in a process that was busy", async () => {
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:64999", timeoutMs: 20 });
    const asked = rejection(down.check("agent://acme/a", { stakes: 1 }));
    const until = performance.now() + 60;
    while (performance.now() < until);
    expect(await asked).toMatchObject({ code: "unreachable" });
  });

  it("reports an outage as another error", async () => {
    const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:64999", timeoutMs: WAIT_MS_MAX });
    const thrown = await rejection(down.require(CONNECT, { stakes: 10 }));
    expect(thrown).toBeInstanceOf(TrustRankError);
    expect(thrown).not.toBeInstanceOf(TrustGateError);
    expect(thrown).toMatchObject({ code: "unreachable", status: undefined, isTransient: true });
    // A newcomer's first error says what was asked and why it failed, and no more of the address.
    const { message } = thrown as TrustRankError;
    expect(message).toBe("the service at http://127.0.0.1:64999 cannot be reached (ECONNREFUSED)");
    const secret = new TrustRankClient({
      baseUrl: "http://u:pw@127.0.0.1:64999/p?k=1",
      fetch: boom,
    });
    const told = await rejection(secret.check(CONNECT, { stakes: 1 }));
    expect((told as Error).message).toBe("the service at http://127.0.0.1:64999 cannot be reached");
    expect(() => new TrustRankClient({ baseUrl: "localhost:8080" })).toThrow(/must begin with/);
    expect(() => new TrustRankClient({ baseUrl: "http://" })).toThrow(/not an address/);
  });
});

describe("verify", () => {
  const request = { agent_id: CONNECT, action: "payments.transfer", tool_level: "L3" } as const;

  it("gives the policy verdict", async () => {
    const verdict = await client.verify(request);
    expect(verdict.policy_action.verdict).toBe("ALLOW");
  });

  it("keeps order and single faults in a batch", async () => {
    const [first, second, third] = await client.verifyBatch([
      request,
      { ...request, agent_id: "" },
      { ...request, agent_id: REFUSE },
    ]);
    expect(first?.verdict?.policy_action.verdict).toBe("ALLOW");
    expect(second?.problem?.code).toBe("invalid_request");
    expect(third?.verdict?.policy_action.verdict).toBe("BLOCK");
    expect(await client.verifyBatch([])).toEqual([]);
  });
});

describe("reportOutcome", () => {
  const outcome = {
    subject: "agent://shop/seller",
    reporter: "agent://acme/me",
    outcome: 1,
    stakes: 5,
    grade: "counterparty",
  } as const;

  it("is repeatable under one id", async () => {
    const first = await client.reportOutcome({ ...outcome, id: "turn-1:0:1" });
    const again = await client.reportOutcome({ ...outcome, id: "turn-1:0:1" });
    expect([first.duplicate, again.duplicate]).toEqual([false, true]);
    expect(again.outcome_id).toBe(first.outcome_id);
  });

  it("reports many, each with its own result", async () => {
    const results = await client.reportOutcomes([
      { ...outcome, id: "many-1" },
      { ...outcome, subject: outcome.reporter },
      { ...outcome, id: "many-2" },
    ]);
    expect(results.map(({ error }) => error?.code)).toEqual([undefined, "self_report", undefined]);
  });
});

describe("a reply that is no verdict", () => {
  const lies: Record<string, unknown> = {
    "another agent": checkReply("agent://other/agent", 10),
    "other stakes": checkReply(CONNECT, 11),
    "an unknown decision": { ...checkReply(CONNECT, 10), decision: "maybe" },
    "an answer at odds with its decision": { ...checkReply(REFUSE, 10, "refuse"), allowed: true },
    "a number as reasons": { ...checkReply(CONNECT, 10), reasons: 3 },
    "no expiry": { ...checkReply(CONNECT, 10), expires_at: undefined },
    "a list": [],
    null: null,
  };

  it.each(Object.keys(lies))("is refused: %s", async (name) => {
    const agent = name === "an answer at odds with its decision" ? REFUSE : CONNECT;
    const lying = new TrustRankClient({
      baseUrl: "http://trust",
      fetch: replying(() => lies[name]),
    });
    const thrown = await rejection(lying.check(agent, { stakes: 10 }));
    expect(thrown).toMatchObject({ name: "TrustRankError", code: "malformed_reply" });
  });

  const verdict = verifyReply();
  const wrongVerdicts: Record<string, unknown> = {
    "an unknown word": { ...verdict, policy_action: { verdict: "PASS", log_reason: "X" } },
    "a risk nobody knows": {
      ...verdict,
      trust_evaluation: { ...verdict.trust_evaluation, risk_level: "NONE" },
    },
    "text for enforced": { ...verdict, enforced: "no" },
    "no policy": { ...verdict, policy_action: undefined },
  };

  it.each(Object.keys(wrongVerdicts))("is refused by verify: %s", async (name) => {
    const fetch = replying(() => wrongVerdicts[name]);
    const lying = new TrustRankClient({ baseUrl: "http://trust", fetch });
    const request = { agent_id: CONNECT, action: "a.b", tool_level: "L0" } as const;
    expect(await rejection(lying.verify(request))).toMatchObject({ code: "malformed_reply" });
  });

  const statuses = [
    [200, "text/html", "<p>portal</p>", "unexpected_status"],
    [200, "application/json", "{", "malformed_reply"],
    [200, "application/json", "", "malformed_reply"],
    [302, "application/json", "{}", "unexpected_status"],
    [500, "application/json", "{}", "unexpected_status"],
    [503, "application/problem+json", '{"code":"overloaded","detail":"x"}', "overloaded"],
    [503, "application/problem+json", "[1]", "unexpected_status"],
    [403, "text/plain", "forbidden", "unexpected_status"],
    [403, "application/problem+json", '{"code":"insufficient_scope"}', "insufficient_scope"],
  ] as const;

  it.each(statuses)("status %d, %s, %s", async (status, type, body, code) => {
    const headers = { "content-type": type, "retry-after": "7" };
    const fetch = async () => new Response(body, { status, headers });
    const lying = new TrustRankClient({ baseUrl: "http://trust", fetch });
    const thrown = await rejection(lying.handshake(CONNECT, CONNECT, { stakes: 1 }));
    expect(thrown).toMatchObject({ name: "TrustRankError", code });
    if (status === 503) expect(thrown).toMatchObject({ retryAfterMs: 7000 });
  });

  it("is refused when its bytes are not UTF-8 or too many", async () => {
    const headers = { "content-type": "application/json" };
    const bodies = [
      new Uint8Array([0x22, 0xff, 0x22]),
      new Uint8Array(4 * 1024 * 1024 + 1).fill(32),
    ];
    for (const body of bodies) {
      const lying = new TrustRankClient({
        baseUrl: "http://trust",
        fetch: async () => new Response(body, { headers }),
      });
      const thrown = await rejection(lying.check(CONNECT, { stakes: 1 }));
      expect(thrown).toMatchObject({ code: "malformed_reply" });
    }
  });
});

describe("AbortSignal", () => {
  it("ends a call that has begun, and one that has not", async () => {
    const slow = () => new Promise<Response>(() => undefined);
    const stuck = new TrustRankClient({
      baseUrl: "http://trust",
      fetch: slow,
      timeoutMs: WAIT_MS_MAX,
    });
    const caller = new AbortController();
    const begun = rejection(stuck.check(CONNECT, { stakes: 1, signal: caller.signal }));
    caller.abort(new Error("the user went away"));
    expect(await begun).toMatchObject({ code: "aborted" });
    const never = await rejection(client.check(CONNECT, { stakes: 1, signal: caller.signal }));
    expect(never).toMatchObject({ code: "aborted", cause: new Error("the user went away") });
  });
});

it("knows the shape of a verdict as the service writes it", async () => {
  const request = { agent_id: CONNECT, action: "a.b", tool_level: "L1", context: {} } as const;
  const direct: VerifyResponse = await client.verify(request);
  expect(Object.keys(direct).toSorted()).toEqual(Object.keys(verifyReply()).toSorted());
});
