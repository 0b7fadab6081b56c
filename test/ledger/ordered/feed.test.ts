// Feed between the ledger's ports and the ordered log: what is sent, what is answered and in which order, and
// what becomes of holes, doubles and messages that are not those of this journal.
import { expect, test } from "vitest";
import { setImmediate as turn } from "node:timers/promises";
import { JournalDamaged } from "../../../src/journal/faults.ts";
import {
  VERDICT_DUPLICATE,
  VERDICT_NEWCOMERS_LIMITED,
  VERDICT_RECORDED,
  VERDICT_DISK_FULL,
  VERDICT_LOG_UNAVAILABLE,
} from "../../../src/ledger/replay-guard.ts";
import { newKey, NOW_MS, recordOf, runOf, temporaryDirectory } from "../_fixtures.ts";
import { fillUp, mountSmall, unmount } from "../_small-disk.ts";
import { rmSync } from "node:fs";
import { ACCESS, foreign, foreignEvent, messagesOf, openFeed, openOrdered } from "./_feed.ts";
import { needs } from "../../_needs.ts";

test("an append is answered once it stands in the journal, not when the log has taken it", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.offer([recordOf(1), recordOf(2)]);
  const own = await feed.own(1, 1);
  feed.give({ kind: "published", n: 1 });
  await turn();
  expect(feed.answers).toEqual([]);
  feed.give(own);
  await expect.poll(() => feed.answers).toEqual([["a", [VERDICT_RECORDED, VERDICT_RECORDED]]]);
  await expect.poll(feed.applied).toEqual([1]);
  expect(feed.follows()).toEqual([1]);
});

test("answers of a port come in the order of its appends, others do not wait for them", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.offer([recordOf(1)], "a");
  feed.offer([recordOf(2)], "b");
  feed.offer([recordOf(3), recordOf(4)], "a");
  const [first, second, third] = await Promise.all([
    feed.own(3, 1),
    feed.own(2, 2),
    feed.own(1, 3),
  ]);
  feed.give(third);
  await expect.poll(feed.applied).toEqual([1]);
  expect(feed.answers).toEqual([]);
  feed.give(second);
  await expect.poll(() => feed.answers).toEqual([["b", [VERDICT_RECORDED]]]);
  feed.give(first);
  await expect.poll(() => feed.answers.length).toBe(3);
  expect(feed.answers.slice(1)).toEqual([
    ["a", [VERDICT_RECORDED]],
    ["a", [VERDICT_RECORDED, VERDICT_RECORDED]],
  ]);
});

test("what the log did not take is unavailable, in its turn, and may come all the same", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.offer([recordOf(1)]);
  feed.offer([recordOf(2, { idempotencyKey: "two" })]);
  const late = await feed.own(2, 2);
  feed.give({ kind: "unpublished", n: 2 });
  await turn();
  expect(feed.answers).toEqual([]);
  feed.give(await feed.own(1, 1));
  const expected = [
    ["a", [VERDICT_RECORDED]],
    ["a", [VERDICT_LOG_UNAVAILABLE]],
  ];
  await expect.poll(() => feed.answers).toEqual(expected);
  feed.give(late);
  await expect.poll(feed.applied).toEqual([1, 2]);
  expect(feed.answers).toEqual(expected);
  // Its repeat learns what became of it.
  feed.offer([recordOf(2, { idempotencyKey: "two", outcomeId: recordOf(3).outcomeId })]);
  feed.give(await feed.own(3, 3));
  await expect.poll(() => feed.answers.at(-1)).toEqual(["a", [VERDICT_DUPLICATE]]);
});

test("four messages are under way at most, the next one gathers", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  for (let index = 1; index <= 20; index++) feed.offer([recordOf(index)]);
  await expect.poll(() => feed.published().length).toBe(4);
  await turn();
  expect(feed.published().map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  feed.give({ kind: "published", n: 2 });
  await expect.poll(() => feed.published().map(({ count }) => count)).toEqual([1, 1, 1, 1, 16]);
});

test("a message that stays behind holds up those after it before it is forgotten", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.offer([recordOf(1)]);
  for (let n = 2; n <= 514; n++) {
    feed.offer([recordOf(n)]);
    feed.give({ kind: "published", n });
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    while (feed.published().length < Math.min(n, 513)) await turn();
  }
  feed.offer([recordOf(600)]);
  await turn();
  expect(feed.published().at(-1)!.n).toBe(513);
  feed.give({ kind: "published", n: 1 });
  await expect.poll(() => feed.published().at(-1)).toMatchObject({ n: 514, count: 2 });
});

test("a hole is read again from the last message, and nothing before it is unanswered", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.offer([recordOf(1)]);
  const own = await feed.own(2, 1);
  // All in one turn, as messages gather behind a sync.
  feed.give(foreign(1), own, foreign(4), foreign(5));
  await expect.poll(() => feed.answers).toEqual([["a", [VERDICT_RECORDED]]]);
  await expect.poll(feed.follows).toEqual([1, 2]);
  expect(core.progress.seq).toBe(2);
  // What is left of the reading before asks for no further one.
  feed.give(foreign(6), foreign(7));
  await turn();
  feed.give(await feed.own(2, 1), foreign(3), foreign(4));
  await expect.poll(() => feed.applied().at(-1)).toBe(4);
  expect(feed.follows()).toEqual([1, 2]);
  expect(feed.failures).toEqual([]);
});

test("a message that stands in the log twice is applied once", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.offer([recordOf(1)]);
  feed.give(await feed.own(1, 1), await feed.own(2, 1), foreign(3));
  await expect.poll(() => core.progress.seq).toBe(3);
  expect(feed.answers).toEqual([["a", [VERDICT_RECORDED]]]);
  // Three marks and two outcomes.
  expect(core.lsn).toBe(5);
});

test("a node that starts again says where it stands, though nothing new is there", async () => {
  const directory = temporaryDirectory();
  const key = newKey();
  const before = openOrdered(directory, { key });
  const second = foreign(2);
  before.applyMessages([...messagesOf(foreign(1)), ...messagesOf(second)]);
  before.close();
  const feed = openFeed(openOrdered(directory, { key }));
  await expect.poll(feed.follows).toEqual([2]);
  feed.give(second);
  await expect.poll(feed.applied).toEqual([2]);
});

test("another message at a known place ends the thread as a damaged journal does", async () => {
  const directory = temporaryDirectory();
  const key = newKey();
  const before = openOrdered(directory, { key });
  before.applyMessages(messagesOf(foreign(1)));
  before.close();
  const feed = openFeed(openOrdered(directory, { key }));
  feed.give(foreign(1, { frames: Uint8Array.from(runOf([recordOf(77)]).bytes) }));
  await expect.poll(() => feed.failures.length).toBe(1);
  const [failure] = feed.failures;
  expect(failure).toBeInstanceOf(JournalDamaged);
  expect((failure as JournalDamaged).exitCode).toBe(65);
  expect((failure as Error).message).toMatch(/holds another message 1 .*cluster restore/);
});

test("a message of rules that are not known ends the thread before it is applied", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(foreign(1), foreign(2, { rules: 99 }));
  await expect.poll(() => feed.failures.length).toBe(1);
  expect(String(feed.failures[0])).toMatch(/rules 99/);
  expect(core.progress.seq).toBe(1);
});

test("newcomers over their key's limit are refused here, in order, and leave no trace in the log", async () => {
  const newcomersPerHour = { agents: 4, pairs: Number.POSITIVE_INFINITY };
  const feed = openFeed(openOrdered(temporaryDirectory(), { newcomersPerHour }));
  const fresh = (at: number) =>
    recordOf(at, {
      subject: `agent://new/s-${at}`,
      reporter: `agent://new/r-${at}`,
      voice: 7,
      signature: "reporter",
    });
  feed.offer([fresh(1), fresh(2), fresh(3)]);
  feed.give(await feed.own(1, 1));
  await expect.poll(() => feed.answers.length).toBe(1);
  // The second names known agents, the others do not; the third append is refused as a whole.
  feed.offer([fresh(4), { ...fresh(1), outcomeId: recordOf(99).outcomeId }, fresh(5)]);
  feed.offer([fresh(6)]);
  await turn();
  expect(feed.answers).toHaveLength(1);
  const own = await feed.own(2, 2);
  expect(own).toMatchObject({ messages: [{ count: 1 }] });
  feed.give(own);
  await expect
    .poll(() => feed.answers.slice(1))
    .toEqual([
      ["a", [VERDICT_NEWCOMERS_LIMITED, VERDICT_RECORDED, VERDICT_NEWCOMERS_LIMITED]],
      ["a", [VERDICT_NEWCOMERS_LIMITED]],
    ]);
});

test(
  "a full disk refuses what is offered here and stands still before what others recorded",
  needs("mount a tmpfs"),
  async () => {
    const small = `${temporaryDirectory()}/small`;
    mountSmall(small, 3);
    try {
      const reserveBytes = 256 * 1024;
      const core = openOrdered(`${small}/journal`, { reserveBytes });
      while (core.probeDisk()) await turn();
      const feed = openFeed(core);
      feed.give(foreign(1));
      await expect.poll(feed.applied).toEqual([1]);
      fillUp(`${small}/other`, 0);
      core.probeDisk();
      feed.offer([recordOf(1)]);
      expect(feed.answers).toEqual([["a", [VERDICT_DISK_FULL]]]);
      const body = Buffer.from(`{"text":"${"x".repeat(60_000)}"}`);
      const large = (seq: number) =>
        foreign(seq, { frames: Uint8Array.from(runOf([recordOf(seq, { body })]).bytes) });
      const asked = feed.follows().length;
      const given = Array.from({ length: 40 }, (_, index) => large(index + 2));
      feed.give(...given);
      await expect.poll(() => feed.follows().length).toBeGreaterThan(asked);
      const stands = core.progress.seq;
      expect(stands).toBeLessThan(41);
      expect(feed.failures).toEqual([]);
      rmSync(`${small}/other`);
      const from = feed.follows().at(-1)!;
      expect(from).toBe(stands);
      expect(stands).toBeGreaterThan(1);
      // The bytes of the failed write were sealed; what the log gives again is what it gave before.
      feed.give(...given.slice(from - 2, 9));
      await expect.poll(() => core.progress.seq).toBeGreaterThanOrEqual(10);
      expect(feed.failures).toEqual([]);
    } finally {
      unmount(small);
    }
  },
);

test("what others keep in memory counts as applied once they have taken it", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.give(foreign(1), foreignEvent(2), foreign(3));
  await expect.poll(() => feed.told.map(({ lsn }) => lsn)).toEqual([4]);
  feed.give(foreignEvent(4), foreign(5));
  await expect.poll(() => feed.told.length).toBe(2);
  expect(feed.applied().every((seq) => seq < 2)).toBe(true);
  feed.taken();
  await expect.poll(() => feed.applied().at(-1)).toBe(3);
  feed.taken();
  await expect.poll(() => feed.applied().at(-1)).toBe(5);
  feed.give(foreign(6));
  await expect.poll(() => feed.applied().at(-1)).toBe(6);
});

test("an event that was given up and came all the same is told as another node's is", async () => {
  const feed = openFeed(openOrdered(temporaryDirectory()));
  feed.offerEvent(ACCESS);
  const known = await feed.own(1, 1);
  feed.offerEvent(ACCESS);
  const late = await feed.own(2, 2);
  feed.give({ kind: "unpublished", n: 2 }, known);
  await expect.poll(() => feed.answers.length).toBe(2);
  expect(feed.told).toEqual([]);
  feed.give(late);
  await expect.poll(() => feed.told.map(({ payload }) => Buffer.from(payload))).toEqual([ACCESS]);
});

test("a revoked key stays revoked in the journal's state, whatever comes after it", () => {
  const directory = temporaryDirectory();
  const core = openOrdered(directory);
  const forms = [{ revokedAtMs: null }, { revokedAtMs: NOW_MS }, { revokedAtMs: null, label: "x" }];
  const messages = forms.map((form, index) =>
    foreignEvent(index + 1, Buffer.from(JSON.stringify({ keyId: "k", ...form }))),
  );
  core.applyMessages(messages.flatMap(messagesOf));
  const held = () => [...core.access].map((payload) => JSON.parse(payload.toString()) as unknown);
  expect(held()).toEqual([{ keyId: "k", revokedAtMs: NOW_MS, label: "x" }]);
  core.close();
});
