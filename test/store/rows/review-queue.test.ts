// The view of the review queue against the book that the service goes by: the same events in any order
// give the same reviews, before and after the calls are added up.
import fc from "fast-check";
import { expect, test } from "vitest";
import { ReviewBook } from "../../../src/contract/reviews/book.ts";
import {
  formatReviewDay,
  type ReviewEvent,
  deriveReviewId,
} from "../../../src/contract/reviews/events.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { compactCallRows, countSpareCallRows } from "../../../src/store/rows/review-queue.ts";
import { NOW_MS, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { askCore, catchUp, openJournal, openStoreCore } from "../_fixtures.ts";

const step = fc.record({
  kind: fc.constantFrom("open", "count", "claim", "decide"),
  agent: fc.constantFrom<string>("agent://a/b", "agent://a/c"),
  round: fc.integer({ min: 0, max: 3 }),
  isOverturned: fc.boolean(),
  isDispute: fc.boolean(),
  stakes: fc.integer({ min: 0, max: 1000 }),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function eventOf(each: Step, at: number): ReviewEvent {
  const { kind, agent, round, stakes } = each;
  const atMs = NOW_MS + 1000 * at;
  const key = { tenant: "acme", agent, level: "L2", day: formatReviewDay(NOW_MS), round } as const;
  const id = deriveReviewId(key);
  const last = { last_request_id: `r-${at}`, last_stakes: stakes, last_ms: atMs };
  const calls = { count: 1 + (at % 3), ...last, stakes_max: stakes };
  if (kind === "count") {
    return { event: "review.counted", at_ms: atMs, reviews: [{ id, ...calls }] };
  }
  const by = { ...key, id, at_ms: atMs, who: `who-${at}`, actor: "key-1", until_ms: atMs + 5000 };
  if (kind === "claim") return { event: "review.claimed", ...by };
  if (kind === "decide") {
    const decision = each.isOverturned ? "overturned" : "upheld";
    return { event: "review.decided", ...by, decision, note: `note ${at}`, max_stakes: stakes };
  }
  const said = { statement: `said ${at}`, contact: null, request_id: null, by_link: false };
  const first = { first_request_id: `r-${at}`, first_stakes: stakes, first_ms: atMs };
  const dispute = each.isDispute ? { dispute: { ...said, actor: "key-1" } } : {};
  const opened = { ...key, id, reason: "R", ...first, ...calls, ...dispute };
  return { event: "review.opened", at_ms: atMs, ...opened };
}

/** As the service writes them: no event of a review that is not there, no claim of a decided one. */
function storyOf(steps: readonly Step[]): { events: ReviewEvent[]; book: ReviewBook } {
  const book = new ReviewBook();
  const events = steps
    .map((each, at) => eventOf(each, at))
    .filter((event) => {
      const id = event.event === "review.counted" ? event.reviews[0]!.id : event.id;
      const review = book.find(id);
      const isNew = event.event === "review.opened";
      if (isNew === (review !== undefined)) return false;
      if (event.event === "review.claimed" && review!.decision !== null) return false;
      book.apply(event);
      return true;
    });
  return { events, book };
}

test("every review is the row that the book has", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const { core } = openStoreCore(dataDir);
  const steps = fc.sample(fc.array(step, { minLength: 30, maxLength: 60 }), {
    numRuns: 12,
    seed: 7,
  });
  for (const [index, story] of steps.entries()) {
    const { events, book } = storyOf(
      story.map((each) => ({ ...each, agent: `${each.agent}-${index}` })),
    );
    for (const event of events) {
      const batch = new FrameBatch();
      batch.addEvent(FRAME_KINDS.reviewEvent, Buffer.from(JSON.stringify(event)));
      journal.commit([batch.drain()], event.at_ms);
    }
    await catchUp(core, journal.lsn);
    const wanted = [...book.listReviews()].map((review) => [
      review.id,
      review.dispute === undefined ? "held" : "dispute",
      review.count,
      review.stakes_max,
      review.last_request_id,
      review.claimed_by,
      review.decision,
      review.decided_by,
      review.note,
      review.settled_by,
      review.dispute?.statement ?? null,
    ]);
    const sql = `SELECT review_id, kind, calls, stakes_max, last_request_id, claimed_by, decision,
        decided_by, note, settled_by, statement
      FROM review_queue WHERE agent LIKE '%-${index}'`;
    const byId = (one: unknown[], other: unknown[]) => (String(one[0]) < String(other[0]) ? -1 : 1);
    const shown = async () => (await askCore(core, sql)).rows.toSorted(byId);
    expect(await shown()).toEqual(wanted.toSorted(byId));
    if (index % 4 !== 3) continue;
    await core.write(compactCallRows);
    expect(await core.readQueue.read(countSpareCallRows)).toBe(0);
    expect(await shown()).toEqual(wanted.toSorted(byId));
  }
  await core.close();
  journal.close();
});
