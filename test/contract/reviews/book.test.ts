// The book of reviews under any order of events: what a state may follow, that counts add up, and that
// a book made from its own list, as a snapshot keeps it, goes on like the first.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReviewBook, computeReviewState } from "../../../src/contract/reviews/book.ts";
import {
  isReviewId,
  REVIEW_RETENTION_MS,
  type ReviewCalls,
  formatReviewDay,
  type ReviewEvent,
  deriveReviewId,
  type ReviewKey,
  REVIEWS_PER_TENANT_MAX,
  buildReviewSubject,
} from "../../../src/contract/reviews/events.ts";
import { REVIEW_LEVELS } from "../../../src/contract/vocabulary.ts";

const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

function askedOf(key: ReviewKey, atMs: number, stakes = 1): ReviewCalls {
  return {
    ...key,
    id: deriveReviewId(key),
    reason: "RISK_ABOVE_BORDER",
    count: 1,
    first_request_id: `first-${atMs}`,
    first_stakes: stakes,
    first_ms: atMs,
    last_request_id: `first-${atMs}`,
    last_stakes: stakes,
    last_ms: atMs,
    stakes_max: stakes,
  };
}

const key = fc.record({
  tenant: fc.constantFrom("acme", "globex"),
  agent: fc.constantFrom("agent://a/b", "any text"),
  level: fc.constantFrom(...REVIEW_LEVELS.slice(2)),
  dayIndex: fc.integer({ min: 0, max: 2 }),
  round: fc.integer({ min: 0, max: 1 }),
});

/** One step of a story, at a time that never goes back. */
const step = fc.record({
  kind: fc.constantFrom("open", "count", "claim", "decide"),
  key,
  afterMs: fc.integer({ min: 0, max: 6 * HOUR_MS }),
  stakes: fc.integer({ min: 0, max: 1000 }),
  who: fc.constantFrom("ann", "ben"),
  isOverturned: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function eventOf({ kind, key: { dayIndex, ...rest }, ...told }: Step, atMs: number): ReviewEvent {
  const day = formatReviewDay(START_MS + 24 * HOUR_MS * dayIndex);
  const of: ReviewKey = { ...rest, day };
  const id = deriveReviewId(of);
  if (kind === "open") {
    return { event: "review.opened", at_ms: atMs, ...askedOf(of, atMs, told.stakes) };
  }
  if (kind === "count") {
    const calls = { last_request_id: `call-${atMs}`, last_stakes: told.stakes, last_ms: atMs };
    const counted = { id, count: 2, ...calls, stakes_max: told.stakes };
    return { event: "review.counted", at_ms: atMs, reviews: [counted] };
  }
  const by = { ...of, id, at_ms: atMs, who: told.who, actor: "key-1", until_ms: atMs + HOUR_MS };
  if (kind === "claim") return { event: "review.claimed", ...by };
  const decision = told.isOverturned ? "overturned" : "upheld";
  return { event: "review.decided", ...by, decision, note: null, max_stakes: null };
}

function eventsOf(story: readonly Step[]): ReviewEvent[] {
  let atMs = START_MS;
  return story.map((each) => eventOf(each, (atMs += each.afterMs)));
}

describe("the book", () => {
  it("never leaves `decided`, settles all of a subject, and counts every call once", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (story) => {
        const book = new ReviewBook();
        const calls = new Map<string, number>();
        for (const event of eventsOf(story)) {
          const before = new Map(
            [...book.listReviews()].map((review) => [review.id, { ...review }]),
          );
          book.apply(event);
          if (event.event === "review.opened" && !before.has(event.id)) calls.set(event.id, 1);
          if (event.event === "review.counted") {
            const { id } = event.reviews[0]!;
            if (before.has(id)) calls.set(id, calls.get(id)! + 2);
          }
          for (const review of book.listReviews()) {
            const was = before.get(review.id);
            if (was?.decision !== undefined && was.decision !== null) {
              expect(review.decision).not.toBeNull();
            }
            expect(review.count).toBe(calls.get(review.id));
            expect(review.stakes_max).toBeGreaterThanOrEqual(review.last_stakes);
            expect(computeReviewState(review, event.at_ms) === "decided").toBe(
              review.decision !== null,
            );
          }
          if (event.event === "review.decided" && before.has(event.id)) {
            const of = buildReviewSubject(event);
            const same = [...book.listReviews()].filter((each) => buildReviewSubject(each) === of);
            expect(same.every((each) => each.decision !== null)).toBe(true);
            const [ruling] = book.listRulings(of);
            expect(ruling).toMatchObject({ decision: event.decision, until_ms: event.until_ms });
          }
          const open = [...book.listReviews()].filter((review) => review.decision === null);
          expect(book.undecidedCount).toBe(open.length);
          expect(book.findOldestUndecidedMs()).toBe(open[0]?.first_ms);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is the same book when it was kept and read back at any point", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(40), (story, cut) => {
        const events = eventsOf(story);
        const whole = new ReviewBook();
        for (const event of events) whole.apply(event);
        const first = new ReviewBook();
        for (const event of events.slice(0, cut)) first.apply(event);
        const kept = JSON.parse(JSON.stringify([...first.listReviews()]));
        const second = new ReviewBook(kept);
        for (const event of events.slice(cut)) second.apply(JSON.parse(JSON.stringify(event)));
        expect([...second.listReviews()]).toEqual([...whole.listReviews()]);
        expect(second.listRulings()).toEqual(whole.listRulings());
        expect(second.undecidedCount).toBe(whole.undecidedCount);
      }),
    );
  });

  it("names the newest decision and the newest review that is decided", () => {
    const book = new ReviewBook();
    const of = { tenant: "acme", agent: "agent://a/b", level: "L2", round: 0 } as const;
    const days = ["2026-01-01", "2026-01-02"] as const;
    for (const day of days) {
      book.apply({ event: "review.opened", at_ms: START_MS, ...askedOf({ ...of, day }, START_MS) });
    }
    const decided = { ...of, day: days[0], id: deriveReviewId({ ...of, day: days[0] }) };
    const by = { at_ms: START_MS + 5, who: "ann", actor: "key-1", until_ms: START_MS + HOUR_MS };
    const decision = { decision: "overturned", note: "known", max_stakes: 9 } as const;
    book.apply({ event: "review.decided", ...decided, ...by, ...decision });
    expect(book.listRulings()).toEqual([
      { ...of, day: days[1], decision: "overturned", until_ms: by.until_ms, max_stakes: 9 },
    ]);
    expect([...book.listReviews()].map(({ settled_by: by_ }) => by_)).toEqual([null, decided.id]);
  });

  it("forgets what nobody asked about for a month, and is full for a tenant at its bound", () => {
    const book = new ReviewBook();
    for (let n = 0; n < REVIEWS_PER_TENANT_MAX; n += 1) {
      expect(book.hasCapacityFor("acme")).toBe(true);
      const of = {
        tenant: "acme",
        agent: `a-${n}`,
        level: "L2",
        day: "2026-01-01",
        round: 0,
      } as const;
      book.apply({ event: "review.opened", at_ms: START_MS, ...askedOf(of, START_MS) });
    }
    expect([book.hasCapacityFor("acme"), book.hasCapacityFor("globex")]).toEqual([false, true]);
    const later = START_MS + REVIEW_RETENTION_MS;
    const of = { tenant: "globex", agent: "b", level: "L2", day: "2026-02-01", round: 0 } as const;
    book.apply({ event: "review.opened", at_ms: later, ...askedOf(of, later) });
    expect([book.count, book.undecidedCount, book.hasCapacityFor("acme")]).toEqual([1, 1, true]);
  });
});

describe("an id", () => {
  it("follows from all that a review is about, and is told from other ids", () => {
    const of = { tenant: "a", agent: "b", level: "L2", day: "2026-01-01", round: 0 } as const;
    const ids = [
      of,
      { ...of, tenant: "a2" },
      { ...of, agent: "b2" },
      { ...of, level: "L3" as const },
      { ...of, day: "2026-01-02" },
      { ...of, round: 1 },
    ].map((each) => deriveReviewId(each));
    expect(new Set(ids).size).toBe(6);
    expect(ids.every(isReviewId)).toBe(true);
    expect(isReviewId("019abc00-0000-7000-8000-000000000000")).toBe(false);
  });
});
