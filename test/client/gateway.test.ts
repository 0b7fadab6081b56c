// TrustGateway on a clock of its own: the table of SPEC §8.1 under every fault at the exact
// milliseconds, and what the cache may and may not serve.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { failPolicy } from "../../src/client/fail-policy.ts";
import { TrustGateway, type TrustGatewayOptions } from "../../src/client/gateway.ts";
import type { OutageAlert } from "../../src/client/outage-alert.ts";
import { answerHeaders, type GatewayLog } from "../../src/client/ruling.ts";
import type { FetchLike } from "../../src/client/runtime.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../src/contract/vocabulary.ts";
import { answersAfter, checkReply, service, verifyReply } from "./_replies.ts";

const AGENT = "agent://acme/buyer";
const MINUTE_MS = 60_000;

function open(fetch: FetchLike, more: Partial<TrustGatewayOptions> = {}) {
  const alerts: OutageAlert[] = [];
  const logs: GatewayLog[] = [];
  const gateway = new TrustGateway({
    client: new TrustRankClient({ baseUrl: "http://trust", fetch }),
    onAlert: (alert) => void alerts.push(alert),
    onLog: (entry) => void logs.push(entry),
    ...more,
  });
  const ask = (toolLevel: ToolLevel, stakes = 0, agentId = AGENT) =>
    gateway.authorize({ agentId, action: "files.read", toolLevel, stakes });
  return { gateway, ask, alerts, logs };
}

/** Lets timers run until `promise` settles, at most a virtual second. */
async function settle<Value>(promise: Promise<Value>): Promise<Value> {
  const result = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.advanceTimersByTimeAsync(1000);
  const settled = await result;
  if ("error" in settled) throw settled.error;
  return settled.value;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const reject = (code: string) => async (): Promise<Response> => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
};
const reply = (body: string | null, status = 200, type = "application/json") => {
  return async () => new Response(body, { status, headers: { "content-type": type } });
};
const half = async () => {
  const text = JSON.stringify(verifyReply());
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text.slice(0, 100)));
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
};
const stalled = async () => {
  const start = (controller: ReadableStreamDefaultController) =>
    controller.enqueue(new TextEncoder().encode("{"));
  const body = new ReadableStream({ start });
  return new Response(body, { headers: { "content-type": "application/json" } });
};

const FAULTS: Record<string, FetchLike> = {
  "101 ms": answersAfter(101, verifyReply),
  "never an answer": () => new Promise(() => undefined),
  "connection refused": reject("ECONNREFUSED"),
  "connection reset": reject("ECONNRESET"),
  "DNS failure": reject("ENOTFOUND"),
  "half a body, then an end": half,
  "half a body, then silence": stalled,
  "status 500": reply("{}", 500),
  "status 503 with a problem": reply('{"code":"overloaded"}', 503, "application/problem+json"),
  "garbage JSON": reply("{{{"),
  "a wrong type": reply('{"policy_action":"ALLOW"}'),
  "an empty 200": reply(null),
  "a portal's page": reply("<html>", 200, "text/html"),
  "status 401": reply('{"code":"unauthenticated"}', 401, "application/problem+json"),
};

/** SPEC §8.1 as a table: level, allowed, status, degraded mark, alerts, log entries, Retry-After. */
const TABLE = readFileSync(new URL("../tables/fail-policy.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^L[0-3]/.test(line))
  .map((line) => line.trim().split(/\s+/) as [ToolLevel, ...string[]]);

describe.each(Object.keys(FAULTS))("%s", (name) => {
  it.each(TABLE)("%s: %s %s %s", async (level, action, status, mark, alerts, logs, retry) => {
    const gate = open(FAULTS[name]!);
    const answer = await settle(gate.ask(level));
    const again = await settle(gate.ask(level));
    expect(answer.allowed ? "ALLOW" : "BLOCK").toBe(action);
    expect([answer.word, answer.status]).toEqual([action, Number(status)]);
    expect(answer).toMatchObject({ degraded: true, failPolicy: mark, verdict: undefined });
    expect(answerHeaders(answer)["X-Trust-Degraded"]).toBe(mark);
    expect(String(answer.retryAfterSec)).toBe(retry === "-" ? "undefined" : retry);
    // Twice the same fault: told once, logged each time.
    expect(again.allowed).toBe(answer.allowed);
    expect(gate.alerts).toHaveLength(Number(alerts));
    expect(gate.logs).toHaveLength(2 * Number(logs));
  });
});

it("has a row for every tool level, and closes for anything else", () => {
  expect(TABLE.map(([level]) => level)).toEqual([...TOOL_LEVELS]);
  for (const stray of ["L4", "l0", "", undefined, "constructor"]) {
    expect(failPolicy(stray as ToolLevel)).toMatchObject({ action: "BLOCK" });
  }
});

describe("time", () => {
  it("takes an answer at 99 ms at every level", async () => {
    for (const level of TOOL_LEVELS) {
      const gate = open(answersAfter(99, verifyReply));
      const answer = await settle(gate.ask(level));
      expect(answer).toMatchObject({ allowed: true, degraded: false, isCached: false });
      expect(gate.alerts).toEqual([]);
    }
  });

  it("is over after 100 ms, not later", async () => {
    const gate = open(() => new Promise(() => undefined));
    let isDone = false;
    void gate.ask("L3").then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isDone).toBe(true);
  });
});

describe("verdicts", () => {
  it("blocks with 403 whatever is not ALLOW", async () => {
    for (const word of ["CHALLENGE", "QUARANTINE", "BLOCK"] as const) {
      const answer = await settle(open(service(() => verifyReply(word))).ask("L1"));
      expect(answer).toMatchObject({ allowed: false, status: 403, word, degraded: false });
    }
  });

  it("lets a low score through on L1, flagged for review", async () => {
    const reply_ = verifyReply();
    reply_.trust_evaluation.risk_level = "CRITICAL";
    const gate = open(service(() => reply_));
    expect(await settle(gate.ask("L1"))).toMatchObject({ allowed: true, flagged: true });
    expect(gate.logs).toMatchObject([{ kind: "low_score_allowed", agentId: AGENT }]);
    expect(await settle(gate.ask("L0"))).toMatchObject({ allowed: true, flagged: false });
  });

  it("applies none of a shadow key, but shows and logs it", async () => {
    const gate = open(service(() => verifyReply("BLOCK", { enforced: false })));
    const answer = await settle(gate.ask("L3"));
    expect(answer).toMatchObject({ allowed: true, word: "BLOCK", flagged: true });
    expect(answerHeaders(answer)).toMatchObject({
      "X-Trust-Effective": "allow",
      "X-Trust-Verdict": "BLOCK",
    });
  });

  it("by check: a leg's decision stands at L2 and L3, and is flagged at L1", async () => {
    const fetch = service(({ subject, stakes }) => checkReply(subject!, stakes, "refuse"));
    const { gateway, logs } = open(fetch);
    const at = (toolLevel: ToolLevel) => gateway.check({ agentId: AGENT, toolLevel, stakes: 5 });
    expect(await settle(at("L3"))).toMatchObject({ allowed: false, status: 403, word: "refuse" });
    expect(await settle(at("L1"))).toMatchObject({ allowed: true, flagged: true, isCached: true });
    expect(await settle(at("L0"))).toMatchObject({ allowed: true, flagged: false });
    expect(fetch.calls).toBe(1);
    expect(logs).toHaveLength(1);
  });
});

describe("alerts", () => {
  it("are one per outage, and not a siren for a service that flaps", async () => {
    let isUp = false;
    const fetch: FetchLike = async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return Response.json(verifyReply("CHALLENGE"));
    };
    const gate = open(fetch);
    await settle(gate.ask("L1"));
    expect(gate.alerts).toHaveLength(0);
    for (let index = 0; index < 5; index += 1) await settle(gate.ask("L3"));
    expect(gate.alerts).toMatchObject([{ kind: "service_unreachable", blockedCount: 1 }]);
    isUp = true;
    await settle(gate.ask("L2", 1));
    isUp = false;
    await settle(gate.ask("L3"));
    expect(gate.alerts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await settle(gate.ask("L3"));
    expect(gate.alerts).toHaveLength(2);
    expect(gate.alerts[1]).toMatchObject({ blockedCount: 6, toolLevel: "L3", agentId: AGENT });
  });

  it("and logs that throw change nothing", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const later = () => Promise.reject(new Error("boom"));
    for (const callback of [boom, later]) {
      const gate = open(reject("ECONNREFUSED"), { onAlert: callback, onLog: callback });
      expect(await settle(gate.ask("L2"))).toMatchObject({ status: 503 });
      expect(await settle(gate.ask("L1"))).toMatchObject({ status: 200 });
    }
  });
});

describe("the caller's own faults", () => {
  it("open nothing at any level and alert nobody", async () => {
    for (const level of TOOL_LEVELS) {
      const gate = open(answersAfter(50, verifyReply));
      const signal = AbortSignal.abort();
      const question = { agentId: AGENT, action: "a.b", toolLevel: level };
      const hungUp = await settle(gate.gateway.authorize({ ...question, signal }));
      expect(hungUp).toMatchObject({ allowed: false, status: 503, reason: "aborted" });
      const stakes = Number.NaN;
      const nonsense = await settle(gate.gateway.authorize({ ...question, stakes }));
      expect(nonsense).toMatchObject({ allowed: false, status: 403, reason: "invalid_argument" });
      expect(gate.alerts).toEqual([]);
    }
  });
});

describe("the cache", () => {
  it("serves five minutes and re-verifies after that", async () => {
    const fetch = service(() => verifyReply());
    const gate = open(fetch);
    await settle(gate.ask("L3"));
    await vi.advanceTimersByTimeAsync(4 * MINUTE_MS);
    expect(await settle(gate.ask("L3"))).toMatchObject({ isCached: true });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(await settle(gate.ask("L3"))).toMatchObject({ isCached: false });
    expect(fetch.calls).toBe(2);
  });

  it("with a longer lifetime still re-verifies L2 and L3 after five minutes", async () => {
    const longLived = verifyReply("ALLOW", { expires_at: "2026-01-01T01:00:00.000Z" });
    const fetch = service(() => longLived);
    const gate = open(fetch, { cache: { ttlMs: 60 * MINUTE_MS } });
    for (const level of TOOL_LEVELS) await settle(gate.ask(level));
    await vi.advanceTimersByTimeAsync(6 * MINUTE_MS);
    const cached: boolean[] = [];
    for (const level of TOOL_LEVELS) cached.push((await settle(gate.ask(level))).isCached);
    expect(cached).toEqual([true, true, false, false]);
  });

  it("never outlives the verdict's own lifetime", async () => {
    const brief = verifyReply("ALLOW", { expires_at: "2026-01-01T00:00:02.000Z" });
    const fetch = service(() => brief);
    const gate = open(fetch);
    await settle(gate.ask("L1"));
    await vi.advanceTimersByTimeAsync(2000);
    await settle(gate.ask("L1"));
    expect(fetch.calls).toBe(2);
  });

  it("does not stand in for a verdict at L2 and L3 once it is too old", async () => {
    let isUp = true;
    const fetch: FetchLike = async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return Response.json(verifyReply());
    };
    const gate = open(fetch);
    await settle(gate.ask("L3"));
    isUp = false;
    expect(await settle(gate.ask("L3"))).toMatchObject({ allowed: true, isCached: true });
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(await settle(gate.ask("L3"))).toMatchObject({ allowed: false, status: 503 });
  });

  it("serves smaller stakes from a leg's max_stakes, and nothing beyond it", async () => {
    const fetch = service(({ subject, stakes }) =>
      stakes <= 100
        ? checkReply(subject!, stakes, "connect", { max_stakes: 100 })
        : checkReply(subject!, stakes, "escalate", { max_stakes: 500 }),
    );
    const { gateway } = open(fetch);
    const word = async (stakes: number) =>
      (await settle(gateway.check({ agentId: AGENT, toolLevel: "L2", stakes }))).word;
    const asked = [60, 100, 0, 99.5, 300, 500, 400, 250];
    const words: string[] = [];
    for (const stakes of asked) words.push(await word(stakes));
    expect(words.slice(0, 4)).toEqual(["connect", "connect", "connect", "connect"]);
    expect(words.slice(4)).toEqual(["escalate", "escalate", "escalate", "escalate"]);
    // 60 covers 0 to 100; 300 covers 300 to 500; 250 might have been milder than 300, so it asks.
    expect(fetch.calls).toBe(3);
    expect(gateway.counts).toMatchObject({ asked: 3, cached: 5 });
  });

  it("keeps a verdict about content to that content", async () => {
    const fetch = service(() => verifyReply());
    const { gateway } = open(fetch);
    const question = { agentId: AGENT, action: "a.b", toolLevel: "L2" } as const;
    const context = { cited_sources: ["doc:1"] };
    await settle(gateway.authorize({ ...question, context }));
    await settle(gateway.authorize({ ...question, context }));
    await settle(gateway.authorize(question));
    expect(fetch.calls).toBe(3);
  });

  it("is bounded, and forgets what was used longest ago", async () => {
    const fetch = service(() => verifyReply());
    const gate = open(fetch, { cache: { entriesMax: 3 } });
    const ask = (name: string) => settle(gate.ask("L1", 0, `agent://acme/${name}`));
    for (const name of ["a", "b", "c"]) await ask(name);
    await ask("a");
    await ask("d");
    const { calls } = fetch;
    for (const name of ["a", "c", "d"]) expect((await ask(name)).isCached).toBe(true);
    expect((await ask("b")).isCached).toBe(false);
    expect(fetch.calls).toBe(calls + 1);
  });

  it("can be told to forget an agent", async () => {
    const fetch = service(() => verifyReply());
    const gate = open(fetch);
    await settle(gate.ask("L3"));
    gate.gateway.forget(AGENT);
    await settle(gate.ask("L3"));
    gate.gateway.forget();
    await settle(gate.ask("L3"));
    expect(fetch.calls).toBe(3);
  });
});

describe("single flight", () => {
  it("asks once for many at the same time", async () => {
    const fetch = answersAfter(50, verifyReply);
    const gate = open(fetch);
    const answers = await settle(Promise.all(Array.from({ length: 50 }, () => gate.ask("L3"))));
    expect(fetch.calls).toBe(1);
    expect(answers.every((answer) => answer.allowed)).toBe(true);
  });

  it("shares a fault too, and counts each request it blocks", async () => {
    const fetch = answersAfter(500, verifyReply);
    const gate = open(fetch);
    const answers = await settle(Promise.all(Array.from({ length: 20 }, () => gate.ask("L2"))));
    expect(fetch.calls).toBe(1);
    expect(answers.every((answer) => answer.status === 503)).toBe(true);
    expect(gate.alerts).toHaveLength(1);
    expect(gate.gateway.counts.blocked).toBe(20);
  });

  it("never makes a caller wait twice its time for others", async () => {
    // 40 ms an answer, each for its own stakes only: nobody may end up in a queue.
    const fetch = answersAfter(40, () => verifyReply("CHALLENGE"));
    const gate = open(fetch);
    const asked = Array.from({ length: 10 }, (_, index) => gate.ask("L2", index));
    await vi.advanceTimersByTimeAsync(80);
    const answers = await Promise.all(asked);
    expect(answers.every((answer) => answer.status === 403)).toBe(true);
  });

  it("goes on when the caller who began it hangs up", async () => {
    const fetch = answersAfter(50, verifyReply);
    const { gateway } = open(fetch);
    const question = { agentId: AGENT, action: "a.b", toolLevel: "L2" } as const;
    const caller = new AbortController();
    const first = gateway.authorize({ ...question, signal: caller.signal });
    const second = gateway.authorize(question);
    caller.abort();
    expect(await settle(first)).toMatchObject({ allowed: false, reason: "aborted" });
    expect(await settle(second)).toMatchObject({ allowed: true });
  });
});
