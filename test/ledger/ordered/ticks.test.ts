// Ticks in a journal: all nodes pass them in the same way, whenever each was started, and all but those at checkpoints
// leave nothing there.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CHECKPOINT_MESSAGES,
  FIRST_RULES,
  formatTickOrigin,
  type OrderedMessage,
  TICK_RULES,
} from "../../../src/ledger/ordered/message.ts";
import { VERDICT_RECORDED } from "../../../src/ledger/replay-guard.ts";
import { newKey, recordOf, temporaryDirectory } from "../_fixtures.ts";
import { foreign, messagesOf, openFeed, openOrdered, ORIGIN } from "./_feed.ts";

function tick(seq: number, changes: Partial<OrderedMessage> = {}) {
  const origin = formatTickOrigin("two:1");
  return foreign(seq, {
    origin,
    n: seq,
    count: 0,
    frames: new Uint8Array(0),
    rules: TICK_RULES,
    ...changes,
  });
}

/** The journal's bytes in hex, by segment. */
function journalOf(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => /^seg-\d+\.log$/.test(name));
  return names.toSorted().map((name) => readFileSync(path.join(directory, name)).toString("hex"));
}

test("leave no frame but at the first place and at checkpoints, and are read again after a start", async () => {
  const key = newKey();
  const directory = temporaryDirectory();
  const core = openOrdered(directory, { key });
  const feed = openFeed(core);
  const third = foreign(3);
  feed.give(tick(1), tick(2), structuredClone(third), tick(4), tick(5));
  await expect.poll(() => feed.applied().at(-1)).toBe(5);
  // Two marks and an outcome.
  expect([core.lsn, core.progress.mark?.seq, core.progress.rulesLevel]).toEqual([3, 3, TICK_RULES]);
  core.close();
  const again = openOrdered(directory, { key });
  expect([again.progress.seq, again.progress.rulesLevel]).toEqual([3, TICK_RULES]);
  const next = openFeed(again);
  await expect.poll(next.follows).toEqual([3]);
  next.give(third, tick(4), tick(5), foreign(6));
  await expect.poll(() => next.applied().at(-1)).toBe(6);
  expect([again.lsn, next.failures]).toEqual([5, []]);
});

test("an own message behind ticks is answered, also where the log is read again from the last mark", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(tick(1), tick(2), tick(3, { origin: formatTickOrigin(ORIGIN), n: 1 }));
  feed.offer([recordOf(1)]);
  const own = await feed.own(5, 1);
  // One is left out: the log is read again from the last message with a mark.
  feed.give(own);
  await expect.poll(feed.follows).toEqual([1, 1]);
  feed.give(tick(1), tick(2), tick(3), tick(4), own);
  await expect.poll(() => feed.answers).toEqual([["a", [VERDICT_RECORDED]]]);
  expect([core.progress.seq, feed.failures]).toEqual([5, []]);
});

test("in a log of the first rules one is a message that no node has sent", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(foreign(1, { rules: FIRST_RULES }), tick(2), foreign(3, { rules: FIRST_RULES }));
  await expect.poll(() => feed.applied().at(-1)).toBe(3);
  // Three marks, two outcomes and an entry of the audit trail.
  expect([core.lsn, core.progress.rulesLevel]).toEqual([6, FIRST_RULES]);
});

test("a snapshot keeps the rules of the log", () => {
  const core = openOrdered(temporaryDirectory());
  core.applyMessages([tick(1), foreign(2), tick(3)].flatMap(messagesOf));
  const { stream } = core.buildSnapshotContents();
  expect(JSON.parse(stream.toString())).toMatchObject({ rules: TICK_RULES, mark: { seq: 2 } });
  core.close();
});

test("journals are equal wherever nodes were started again among ticks, and end a checkpoint alike", () => {
  const places = fc.array(fc.boolean(), { minLength: 20, maxLength: 60 });
  const starts = fc.array(fc.nat(80), { maxLength: 5 });
  fc.assert(
    fc.property(places, starts, (ticks, restarts) => {
      const key = newKey();
      const made = new Map<number, OrderedMessage>();
      // Few messages, then ticks alone across a checkpoint, then few again.
      const messageAt = (seq: number) => {
        const isTick = seq > 30 && seq < CHECKPOINT_MESSAGES + 10;
        const isTicked = isTick || ticks[seq % ticks.length] === true;
        if (!made.has(seq)) made.set(seq, messagesOf(isTicked ? tick(seq) : foreign(seq))[0]!);
        const message = made.get(seq)!;
        return { ...message, frames: Uint8Array.from(message.frames) };
      };
      const length = CHECKPOINT_MESSAGES + 60;
      const applyAll = (stops: Set<number>) => {
        const directory = temporaryDirectory();
        let core = openOrdered(directory, { key });
        while (core.progress.seq < length) {
          const seq = core.progress.seq + 1;
          core.applyMessages([messageAt(seq)]);
          if (!stops.delete(seq)) continue;
          core.close();
          core = openOrdered(directory, { key });
        }
        const { lsn } = core;
        core.close();
        return { lsn, journal: journalOf(directory) };
      };
      const steady = applyAll(new Set());
      const stops = new Set(
        restarts.flatMap((at) => [at + 1, CHECKPOINT_MESSAGES - 5 + (at % 10)]),
      );
      const restarted = applyAll(stops);
      expect(restarted).toEqual(steady);
    }),
    { numRuns: 5 },
  );
});
