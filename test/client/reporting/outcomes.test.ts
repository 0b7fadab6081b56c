// The write rail: what is reported under which id, what never is, and that nothing here can hold up
// or break the turn it watches. Signatures are verified by another implementation.
import { flattenedVerify, importJWK } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { handshakeApproval } from "../../../src/client/gates/approval.ts";
import { type ActionResultEvent, outcomeHook } from "../../../src/client/reporting/outcome-hook.ts";
import { type OutcomeDrop, OutcomeQueue } from "../../../src/client/reporting/outcome-queue.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { createOutcomeSigner } from "../../../src/client/reporting/sign.ts";
import type { OutcomeRequest } from "../../../src/contract/schemas/outcomes.ts";
import { type Service, startTestService } from "../_service.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { recordWarnings } from "./_warnings.ts";

const REPORTER = "agent://acme/me";
const SUBJECT = "agent://shop/seller";
const CONTEXT = { session: { auth: { current: { principalId: SUBJECT } } } };

let service: Service;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const warned = recordWarnings();

const openClient = (more: object = {}) =>
  new TrustRankClient({ ...service, agentId: REPORTER, slowTimeoutMs: WAIT_MS_MAX, ...more });

const TOOL = "transfer";
/** A tool without a gate whose results are reported all the same. */
const tools = [TOOL];

function event(status: string, sequence = 0, turnId = "turn-1"): ActionResultEvent {
  const result = { kind: "tool-result", toolName: TOOL };
  return { data: { turnId, stepIndex: 2, sequence, status, result } };
}

/**
 * A service that gives statuses in turn, then takes all: 0 hangs up, 200 answers the batch. Of a
 * batch it refuses what has the stakes 422 and cannot take now, once, what has 503.
 */
function statuses(...given: number[]): FetchLike & { batches: OutcomeRequest[][] } {
  const busy = new Set<string>();
  const item = ({ id = "", stakes }: OutcomeRequest) => {
    const isBusy = stakes === 503 && !busy.has(id);
    if (isBusy) busy.add(id);
    if (stakes === 422 || isBusy) return { status: stakes, problem: { code: `said_${stakes}` } };
    return { status: 201, result: { outcome_id: "o", duplicate: false } };
  };
  const answer = Object.assign(
    async (_url: string, init: RequestInit) => {
      const outcomes = JSON.parse(init.body as string) as OutcomeRequest[];
      answer.batches.push(outcomes);
      const status = given.shift() ?? 200;
      if (status === 0) throw new TypeError("fetch failed");
      if (status === 200) return Response.json({ items: outcomes.map(item) });
      const headers = { "content-type": "application/problem+json" };
      return new Response('{"code":"overloaded"}', { status, headers });
    },
    { batches: [] as OutcomeRequest[][] },
  );
  return answer;
}

describe("outcomeHook", () => {
  it("reports completed and failed results under an id of their place in the turn", async () => {
    const client = openClient();
    const isAgentFault = () => true;
    const hook = outcomeHook({ client, tools, stakes: () => 12, isAgentFault });
    const observe = hook.events["action.result"];
    expect(observe(event("completed", 1), CONTEXT)).toBeUndefined();
    observe(event("failed", 2), CONTEXT);
    // At least once: the same event again must count once.
    observe(event("completed", 1), CONTEXT);
    await hook.queue.flush(5000);
    expect(hook.queue.counts).toMatchObject({ offered: 3, sent: 3, dropped: 0 });
    const shared = { subject: SUBJECT, reporter: REPORTER, stakes: 12, grade: "counterparty" };
    expect(service.appended).toMatchObject([
      { ...shared, outcome: 1, id: "turn-1:2:1" },
      { ...shared, outcome: 0, id: "turn-1:2:2" },
    ]);
  });

  it("tells turns of one name apart by their session", async () => {
    const before = service.appended.length;
    const hook = outcomeHook({ client: openClient(), tools });
    for (const id of ["s-1", "s-2", "s-2"]) {
      const { session } = CONTEXT;
      hook.events["action.result"](event("completed"), { session: { ...session, id } });
    }
    await hook.queue.flush(5000);
    expect(service.appended.slice(before).map(({ id }) => id)).toEqual([
      "s-1:turn-1:2:0",
      "s-2:turn-1:2:0",
    ]);
  });

  it("never reports a refusal of ours as anything", async () => {
    const fetch = statuses();
    const hook = outcomeHook({ client: openClient({ fetch }), tools });
    for (const status of ["rejected", "cancelled", "", "__proto__"]) {
      hook.events["action.result"](event(status), CONTEXT);
    }
    await hook.queue.flush(100);
    expect(fetch.batches).toEqual([]);
    expect(hook.skipped).toMatchObject({ refused: 4, unattributed: 0 });
  });

  it("survives callbacks that throw, missing sessions and events that are none", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const client = openClient({ fetch: statuses() });
    outcomeHook({ client, subject: boom }).events["action.result"](event("completed"), CONTEXT);
    const own = { client, tools };
    outcomeHook({ ...own, stakes: boom }).events["action.result"](event("completed"), CONTEXT);
    const hook = outcomeHook(own);
    for (const context of [undefined, null, 5, {}, { session: null }]) {
      hook.events["action.result"](event("completed"), context);
    }
    hook.events["action.result"]({} as ActionResultEvent, CONTEXT);
    expect(hook.skipped).toMatchObject({ refused: 0, unattributed: 6 });
  });

  it("reports nothing that no gate of its own has decided on", async () => {
    const fetch = statuses();
    const client = openClient();
    const policy = handshakeApproval({ client, stakes: () => 5 });
    const decided = { toolName: TOOL, callId: "c-1", conversationId: "s-1" };
    await policy({ ...decided, input: { counterparty: "agent://test/connect" } });
    const hooks = [{ policy }, { policy, subject: () => SUBJECT }, {}, { tools }].map((options) =>
      outcomeHook({ client: openClient({ fetch }), ...options }),
    );
    const { session } = CONTEXT;
    const context = { session: { ...session, id: "s-1" } };
    const results = [
      { kind: "load-skill-result", callId: "c-0", name: "farming", output: "" },
      { kind: "tool-result", callId: "c-0", toolName: "load_skill", output: "" },
      { kind: "tool-result", callId: "c-2", toolName: "bash", output: "" },
      { kind: "subagent-result", callId: "c-3", subagentName: TOOL, output: "" },
      { kind: "tool-result", callId: "c-1", toolName: TOOL, output: "sent" },
    ];
    for (const [sequence, result] of results.entries()) {
      const data = { turnId: "t", stepIndex: 0, sequence, status: "completed", result };
      for (const hook of hooks) hook.events["action.result"]({ data }, context);
    }
    for (const hook of hooks) await hook.queue.flush(1000);
    const id = "s-1:t:0:4";
    expect(fetch.batches).toMatchObject([
      [{ subject: "agent://test/connect", stakes: 5, id }],
      [{ subject: SUBJECT, stakes: 5, id }],
      [{ subject: SUBJECT, stakes: 0, id }],
    ]);
    expect(hooks.map(({ skipped }) => skipped.undecided)).toEqual([4, 4, 5, 4]);
    // One line for each hook: eve has many tools without a gate.
    expect(warned()).toHaveLength(4);
    expect(warned()[0]).toMatch(/^trustrank: the tool `load-skill-result` ran without a decision/);
  });

  it("does not report a failure unless it is told whose fault that was", async () => {
    const fetch = statuses();
    const hook = outcomeHook({ client: openClient({ fetch }), tools });
    hook.events["action.result"](event("failed"), CONTEXT);
    const { data } = event("completed");
    const output = { isError: true, content: [] };
    const returned = { data: { ...data, result: { toolName: TOOL, output } } };
    hook.events["action.result"](returned, CONTEXT);
    await hook.queue.flush(1000);
    expect(fetch.batches).toMatchObject([[{ outcome: 0 }]]);
    expect(hook.skipped).toMatchObject({ faultUnknown: 1 });
  });

  it("says when the tool and not the agent failed", async () => {
    const fetch = statuses();
    const client = openClient({ fetch });
    const hook = outcomeHook({ client, isAgentFault: () => false, subject: () => SUBJECT });
    hook.events["action.result"](event("failed"));
    await hook.queue.flush(1000);
    expect(fetch.batches).toMatchObject([[{ outcome: 0, agent_fault: false }]]);
  });

  it("makes ids of any turn id, distinct ones for distinct turns", async () => {
    const fetch = statuses();
    const hook = outcomeHook({ client: openClient({ fetch }), tools });
    const turns = ["a b", "a=20b", "a%20b", "über", "t/1", "x".repeat(500)];
    for (const turn of turns) hook.events["action.result"](event("completed", 7, turn), CONTEXT);
    await hook.queue.flush(1000);
    const ids = fetch.batches.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(turns.length);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._~:/+=@-]{1,128}$/);
  });
});

describe("the queue", () => {
  it("does not wait for the service, drops what does not fit and counts it", async () => {
    const drops: OutcomeDrop[] = [];
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const fetch: FetchLike = async (_url, init) => {
      await held;
      return statuses()(_url, init);
    };
    const hook = outcomeHook({
      client: openClient({ fetch }),
      tools,
      queuedMax: 10,
      onDrop: (drop) => {
        drops.push(drop);
        throw new Error("observers must not matter");
      },
    });
    const observe = hook.events["action.result"];
    for (let index = 0; index < 25; index += 1) observe(event("completed", index), CONTEXT);
    expect(hook.queue.counts.dropped).toBe(15);
    expect(hook.queue.pendingCount).toBe(10);
    release();
    await hook.queue.flush(5000);
    expect(hook.queue.counts).toMatchObject({ offered: 25, sent: 10, dropped: 15 });
    expect(drops.every(({ why }) => why === "queue_full")).toBe(true);
  });

  it("tries again what failed for the moment, under the same ids, and only that", async () => {
    const fetch = statuses(0, 503);
    const drops: OutcomeDrop[] = [];
    const client = openClient({ fetch });
    const queue = new OutcomeQueue({
      client: () => client,
      pauseMs: 1,
      onDrop: (drop) => void drops.push(drop),
    });
    const members = {
      subject: SUBJECT,
      reporter: REPORTER,
      outcome: 1,
      grade: "counterparty",
    } as const;
    for (const stakes of [1, 422, 503]) queue.offer({ ...members, stakes });
    await queue.flush(5000);
    expect(queue.counts).toEqual({ offered: 3, sent: 2, dropped: 1, retried: 7 });
    expect(fetch.batches.map((batch) => batch.map(({ stakes }) => stakes))).toEqual([
      [1, 422, 503],
      [1, 422, 503],
      [1, 422, 503],
      [503],
    ]);
    const [first, ...later] = fetch.batches.map((batch) => batch.map(({ id }) => id));
    expect(new Set(first).size).toBe(3);
    expect(later).toEqual([first, first, [first![2]]]);
    expect(drops).toMatchObject([{ why: "refused", error: { code: "said_422" } }]);
  });

  it("gives up after its attempts, and what waited meanwhile still goes out", async () => {
    const drops: OutcomeDrop[] = [];
    const client = openClient({ fetch: statuses(500, 500) });
    const queue = new OutcomeQueue({
      client: () => client,
      pauseMs: 1,
      attemptsMax: 2,
      onDrop: (drop) => void drops.push(drop),
    });
    const hook = outcomeHook({ client, tools });
    const taken: OutcomeRequest[] = [];
    hook.queue.offer = (outcome) => void taken.push(outcome);
    hook.events["action.result"](event("completed", 1), CONTEXT);
    hook.events["action.result"](event("completed", 2), CONTEXT);
    queue.offer(taken[0]!);
    await Promise.resolve();
    await Promise.resolve();
    queue.offer(taken[1]!);
    await queue.flush(5000);
    expect(queue.counts).toEqual({ offered: 2, sent: 1, dropped: 1, retried: 1 });
    expect(drops).toMatchObject([
      { why: "attempts_used_up", outcome: { id: "turn-1:2:1" }, error: { code: "overloaded" } },
    ]);
  });

  it("ends at a shutdown's deadline with everything accounted for", async () => {
    const fetch: FetchLike = (_url, init) =>
      new Promise((_resolve, reject) => {
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      });
    const hook = outcomeHook({ client: openClient({ fetch }), tools });
    for (const index of [1, 2, 3]) hook.events["action.result"](event("completed", index), CONTEXT);
    await hook.queue.flush(30);
    expect(hook.queue.counts).toMatchObject({ offered: 3, sent: 0, dropped: 3 });
    expect(hook.queue.pendingCount).toBe(0);
  });
});

describe("signing", () => {
  it("writes a detached JWS over the exact body that another implementation accepts", async () => {
    const keyPair = (await crypto.subtle.generateKey({ name: "Ed25519" }, true, [
      "sign",
      "verify",
    ])) as Awaited<ReturnType<typeof crypto.subtle.generateKey>> & {
      privateKey: never;
      publicKey: never;
    };
    const nowMs = Date.UTC(2026, 0, 1);
    const options = { keyPair, audience: "trust.example", now: () => nowMs };
    const signer = await createOutcomeSigner(options);
    const seen: { body: string; signature: string }[] = [];
    const fetch: FetchLike = async (_url, init) => {
      const signature = new Headers(init.headers).get("x-jws-signature")!;
      seen.push({ body: init.body as string, signature });
      return Response.json({ outcome_id: "o", duplicate: false }, { status: 201 });
    };
    const client = openClient({ fetch, signer });
    const outcome = { subject: SUBJECT, reporter: REPORTER, outcome: 1, stakes: 5 } as const;
    await client.reportOutcome({ ...outcome, grade: "counterparty", action: "über.test" });
    const { body, signature } = seen[0]!;
    expect(signature.length).toBeLessThan(1024);
    const [protectedPart, empty, value] = signature.split(".") as [string, string, string];
    expect(empty).toBe("");
    const jwk = await crypto.subtle.exportKey("jwk", keyPair.publicKey);
    const key = await importJWK({ ...jwk, alg: "Ed25519" });
    const jws = { protected: protectedPart, signature: value };
    const payload = new TextEncoder().encode(body);
    const { protectedHeader } = await flattenedVerify({ ...jws, payload }, key);
    expect(protectedHeader).toEqual({
      alg: "Ed25519",
      kid: signer.kid,
      typ: "outcome+jws",
      b64: false,
      crit: ["b64"],
      iat: nowMs / 1000,
      jti: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/),
      aud: "trust.example",
    });
    const changed = new TextEncoder().encode(body.replace('"outcome":1', '"outcome":0'));
    await expect(flattenedVerify({ ...jws, payload: changed }, key)).rejects.toThrow(/signature/);
  });

  it("refuses keys of another kind", async () => {
    const keyPair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ])) as never;
    await expect(createOutcomeSigner({ keyPair, audience: "x" })).rejects.toThrow(/Ed25519/);
  });
});
