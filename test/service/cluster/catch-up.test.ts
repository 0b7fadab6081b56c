// Wait of a starting node for its cluster's log: ended by a proof, by a failure or by the time without progress, and told
// of every ten seconds.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readMonotonicMs } from "../../../src/platform/moment.ts";
import { waitUntilCaughtUp } from "../../../src/service/cluster/catch-up.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED } from "../../../src/service/failure.ts";
import { StreamMetrics } from "../../../src/stream/metrics.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function begin() {
  const figures = new StreamMetrics();
  figures.setConnection({ isUp: true, lost: 0 });
  const lines: unknown[] = [];
  let failure: CommandFailure | undefined;
  const ended: unknown[] = [];
  waitUntilCaughtUp({
    figures,
    log: { info: (event, fields) => void lines.push({ event, ...fields }) },
    stallMs: 60_000,
    servers: ["a:4222", "b:4222"],
    monitors: ["http://a:8222", "http://b:8222"],
    findFailure: () => failure,
  }).then(
    () => ended.push("caught up"),
    (error: unknown) => ended.push(error),
  );
  const fail = (why: CommandFailure) => (failure = why);
  return { figures, lines, ended, fail };
}

test("ends with the first proof of a moment after it began", async () => {
  const { figures, lines, ended } = begin();
  await vi.advanceTimersByTimeAsync(1000);
  figures.setCaughtUpAt({ epochMs: Date.now(), monotonicMs: readMonotonicMs() - 1100 });
  await vi.advanceTimersByTimeAsync(1000);
  expect(ended).toEqual([]);
  figures.setCaughtUpAt({ epochMs: Date.now(), monotonicMs: readMonotonicMs() });
  await vi.advanceTimersByTimeAsync(100);
  expect([ended, lines]).toEqual([["caught up"], []]);
});

test("goes on while it applies what it lacks, and says how far it is", async () => {
  const { figures, lines, ended } = begin();
  figures.known = 10_000_000;
  for (let applied = 1; applied <= 20; applied++) {
    figures.applied = applied;
    await vi.advanceTimersByTimeAsync(59_000);
  }
  expect(ended).toEqual([]);
  expect(lines).toHaveLength(118);
  expect(lines.at(-1)).toMatchObject({
    event: "cluster_waiting",
    applied: 20,
    known: 10_000_000,
    detail: "message 20 of 10000000 known ones is applied",
  });
  await vi.advanceTimersByTimeAsync(1100);
  expect(ended).toEqual([expect.any(CommandFailure)]);
  const [failure] = ended as [CommandFailure];
  expect(failure.exitCode).toBe(EXIT_FAILED);
  expect(failure.message).toMatch(
    /60 s without progress .*; check this node's disk space, .*status --cluster a:4222,b:4222`/,
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(118);
});

test("messages of other nodes are no progress once all were applied", async () => {
  const { figures, ended } = begin();
  for (let seq = 1; seq <= 61; seq++) {
    figures.known = seq;
    figures.applied = seq;
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect((ended[0] as CommandFailure).message).toMatch(
    /no majority of the log's servers acknowledges .*: `curl -s http:\/\/a:8222\/healthz http:\/\/b:8222\/healthz`/,
  );
});

test("what it learns to lack later is progress as well", async () => {
  const { figures, ended } = begin();
  figures.known = figures.applied = 5_000_000;
  await vi.advanceTimersByTimeAsync(59_000);
  figures.known = 9_000_000;
  for (let applied = 1; applied <= 5; applied++) {
    figures.applied = 5_000_000 + applied;
    await vi.advanceTimersByTimeAsync(59_000);
  }
  expect(ended).toEqual([]);
});

test("ends at once for another reason", async () => {
  const { ended, fail } = begin();
  const why = new CommandFailure("another journal", EXIT_DAMAGED);
  fail(why);
  await vi.advanceTimersByTimeAsync(100);
  expect(ended).toEqual([why]);
});
