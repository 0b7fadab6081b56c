// Cache of TrustGateway: answers served without a call, for how long and at which stakes, and many
// callers at once as one question.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { AGENT, MINUTE_MS, open, settle } from "../_gateway.ts";
import { answersAfter, checkReply, service, verifyReply } from "../_replies.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
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
