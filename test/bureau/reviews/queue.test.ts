// The queue and the desks of several threads against a journal that can fail: one review a day, who
// may decide and when, expiry by a fake clock, readers that wait, and a tenant that is full.
import { describe, expect, it } from "vitest";
import { ReviewDecisionCache } from "../../../src/bureau/reviews/decision-cache.ts";
import { ReviewQueue } from "../../../src/bureau/reviews/queue.ts";
import { REVIEW_WAITERS_MAX } from "../../../src/bureau/reviews/review-waiters.ts";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { parseReviewClaim, parseReviewDecision } from "../../../src/contract/parse/reviews.ts";
import { ReviewBook } from "../../../src/contract/reviews/book.ts";
import { REVIEWS_PER_TENANT_MAX, type ReviewUpdate } from "../../../src/contract/reviews/events.ts";
import { principal } from "../_harness.ts";

const START_MS = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;
const AGENT = "agent://a/b";

function open() {
  const time = { nowMs: START_MS };
  const journal = { payloads: [] as string[], failure: undefined as Error | undefined };
  const append = async (payload: Uint8Array) => {
    await Promise.resolve();
    if (journal.failure !== undefined) throw journal.failure;
    return journal.payloads.push(Buffer.from(payload).toString());
  };
  const news: ReviewUpdate[] = [];
  const queue = new ReviewQueue({
    log: { appendReviewCalls: append, appendReviewEvent: append },
    book: new ReviewBook(),
    onUpdate: (each) => {
      news.push(each);
      for (const desk of desks) desk.apply(each);
    },
    clock: () => time.nowMs,
  });
  const desks = [0, 1].map(
    () => new ReviewDecisionCache((asked) => queue.addCalls(structuredClone(asked))),
  );
  const ask = (desk: number, requestId: string, stakes = 5, agent = AGENT, tenant = "acme") =>
    desks[desk]!.countCall(
      { tenant, agent, level: "L2", requestId, stakes, reason: "R" },
      time.nowMs,
    );
  const decide = (id: string, request: object, tenant?: string) =>
    queue.decide(id, tenant, parseReviewDecision(request), principal);
  const claim = (id: string, request: object) =>
    queue.claim(id, "acme", parseReviewClaim(request), principal);
  const flush = async () => {
    for (const desk of desks) desk.flush(time.nowMs);
    await queue.flush();
  };
  return { time, journal, news, queue, desks, ask, decide, claim, flush };
}

const code = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (fault: ServiceFault) => fault.code,
  );

describe("calls of a day", () => {
  it("are one review over all threads, with first, last and largest", async () => {
    const { ask, queue, flush, journal, time } = open();
    const id = ask(0, "one", 5);
    time.nowMs += 10;
    expect(ask(1, "two", 9)).toBe(id);
    time.nowMs += 10;
    expect(ask(0, "three", 7)).toBe(id);
    await flush();
    const review = await queue.find(id, "acme");
    expect(review).toMatchObject({ count: 3, first_request_id: "one", last_request_id: "three" });
    expect(review).toMatchObject({ first_stakes: 5, last_stakes: 7, stakes_max: 9 });
    expect(journal.payloads.map((text) => JSON.parse(text).event)).toEqual([
      "review.opened",
      "review.counted",
    ]);
    await flush();
    expect(journal.payloads).toHaveLength(2);
    expect(await code(queue.find(id, "globex"))).toBe("not_found");
  });

  it("come back under the same id when the journal could not take the opening", async () => {
    const { ask, queue, flush, journal } = open();
    journal.failure = new ServiceFault("overloaded", "full");
    const id = ask(0, "one");
    await flush();
    expect([queue.isKnown(id), queue.refusedCount]).toEqual([false, 1]);
    journal.failure = undefined;
    expect(ask(0, "two")).toBe(id);
    await flush();
    expect(await queue.find(id, "acme")).toMatchObject({ count: 1, first_request_id: "two" });
  });

  it("are counted again when their record could not be written", async () => {
    const { ask, queue, flush, journal } = open();
    const id = ask(0, "one");
    await flush();
    ask(0, "two");
    journal.failure = new ServiceFault("journal_unavailable", "no");
    await flush();
    ask(0, "three");
    journal.failure = undefined;
    await flush();
    expect((await queue.find(id, "acme")).count).toBe(3);
  });
});

describe("deciding", () => {
  it("is in force on every desk when it resolves, until its expiry", async () => {
    const { ask, decide, desks, time } = open();
    const id = ask(0, "one");
    await decide(id, { decision: "overturned", until: START_MS + HOUR_MS, max_stakes: 9 });
    for (const desk of desks) {
      expect(desk.findActiveDecision("acme", AGENT, "L2", time.nowMs)).toMatchObject({
        stakesMax: 9,
      });
      expect(desk.findActiveDecision("acme", AGENT, "L3", time.nowMs)).toBeUndefined();
      expect(desk.findActiveDecision("globex", AGENT, "L2", time.nowMs)).toBeUndefined();
    }
    time.nowMs += HOUR_MS;
    expect(desks[1]!.findActiveDecision("acme", AGENT, "L2", time.nowMs)).toBeUndefined();
    // The same day, and decided: the next call is about something new.
    const next = ask(1, "two");
    expect(next).not.toBe(id);
    expect(ask(0, "three")).toBe(next);
  });

  it("is bounded by the stakes that the decision names, not by those of calls since", async () => {
    const { ask, decide, desks, flush, queue, journal, time } = open();
    const find = () => desks[1]!.findActiveDecision("acme", AGENT, "L2", time.nowMs);
    const id = ask(0, "one", 5);
    await flush();
    expect((await queue.find(id, "acme")).stakes_max).toBe(5);
    ask(0, "two", 9000);
    await flush();
    await decide(id, { decision: "overturned", until: START_MS + HOUR_MS, max_stakes: 5 });
    expect(find()).toMatchObject({ stakesMax: 5 });
    const any = { decision: "overturned", until: START_MS + HOUR_MS, max_stakes: "any" };
    await decide(id, { ...any, again: true });
    expect(find()).toMatchObject({ stakesMax: Infinity });
    expect(JSON.parse(journal.payloads.at(-1)!)).toMatchObject({ max_stakes: null });
  });

  it("asks for an end that is ahead, and upholds for a day when none is named", async () => {
    const { ask, decide } = open();
    const id = ask(0, "one");
    expect(
      await code(decide(id, { decision: "overturned", until: START_MS, max_stakes: "any" })),
    ).toBe("invalid_request");
    const far = START_MS + 91 * 24 * HOUR_MS;
    expect(await code(decide(id, { decision: "overturned", until: far, max_stakes: "any" }))).toBe(
      "invalid_request",
    );
    const review = await decide(id, { decision: "upheld", note: "no" });
    expect(review).toMatchObject({ decision: "upheld", until_ms: START_MS + 24 * HOUR_MS });
    expect(await code(decide(id, { decision: "upheld" }))).toBe("review_decided");
    const anew = { decision: "overturned", until: START_MS + 5, max_stakes: "any", again: true };
    expect(await decide(id, anew)).toMatchObject({ decision: "overturned" });
  });

  it("is the claimant's while the lease runs", async () => {
    const { ask, claim, decide, time } = open();
    const id = ask(0, "one");
    await claim(id, { who: "ann", lease_sec: 60 });
    expect(await code(claim(id, { who: "ben" }))).toBe("review_claimed");
    expect(await code(decide(id, { decision: "upheld", who: "ben" }))).toBe("review_claimed");
    expect(await code(claim(id, { who: "ann", lease_sec: 60 }))).toBe("done");
    time.nowMs += 60_000;
    expect(await code(decide(id, { decision: "upheld", who: "ben" }))).toBe("done");
    expect(await code(claim(id, { who: "ann" }))).toBe("review_decided");
    expect(await code(claim("rv-20260101-000000000000000000000000", {}))).toBe("not_found");
  });

  it("changes nothing when it could not be journaled", async () => {
    const { ask, decide, desks, journal, queue } = open();
    const id = ask(0, "one");
    await queue.find(id, "acme");
    journal.failure = new ServiceFault("journal_unavailable", "no");
    const until = START_MS + HOUR_MS;
    expect(await code(decide(id, { decision: "overturned", until, max_stakes: 9 }))).toBe(
      "journal_unavailable",
    );
    expect(desks[0]!.findActiveDecision("acme", AGENT, "L2", START_MS)).toBeUndefined();
    expect((await queue.find(id, "acme")).decision).toBeNull();
  });
});

describe("waiting", () => {
  it("ends with the decision, also of another day's review of the subject", async () => {
    const { ask, decide, queue, time } = open();
    const first = ask(0, "one");
    time.nowMs += 24 * HOUR_MS;
    const second = ask(0, "two");
    await queue.find(second, "acme");
    const waits = [first, second].map((id) => queue.waiters.waitForReview(id, 30_000));
    expect(queue.waiters.count).toBe(2);
    await decide(second, { decision: "upheld" });
    await Promise.all(waits);
    expect((await queue.find(first, "acme")).settled_by).toBe(second);
    expect(queue.waiters.count).toBe(0);
  });

  it("ends by its time and with the service, and is bounded", async () => {
    const { queue, time } = open();
    const early = queue.waiters.waitForReview("a", 1000);
    const late = queue.waiters.waitForReview("a", 2000);
    time.nowMs += 1000;
    queue.waiters.endExpired();
    await early;
    expect(queue.waiters.count).toBe(1);
    const others = Array.from({ length: REVIEW_WAITERS_MAX - 1 }, () =>
      queue.waiters.waitForReview("b", 9),
    );
    expect(await code(queue.waiters.waitForReview("c", 9))).toBe("overloaded");
    queue.waiters.endAll();
    await Promise.all([late, ...others]);
    await queue.waiters.waitForReview("a", 60_000);
    expect(queue.waiters.count).toBe(0);
  });
});

describe("a tenant that is full", () => {
  it("opens no further review until one is decided, and other tenants do", async () => {
    const { ask, queue, decide, news } = open();
    const ids: string[] = [];
    for (let n = 0; n < REVIEWS_PER_TENANT_MAX; n += 1) {
      ids.push(ask(0, "one", 1, `agent-${n}`));
      if (n % 500 === 499) await queue.flush();
    }
    expect(queue.book.undecidedCount).toBe(REVIEWS_PER_TENANT_MAX);
    ask(0, "two", 1, "one too many");
    expect(news).toEqual([{ tenant: "acme", isFull: true }]);
    expect(ask(1, "three", 1, "another")).toBe("");
    expect(ask(0, "four", 1, "theirs", "globex")).not.toBe("");
    await decide(ids[0]!, { decision: "upheld" });
    expect(news.at(-1)).toEqual({ tenant: "acme", isFull: false });
    expect(ask(1, "five", 1, "another")).not.toBe("");
  });
});
