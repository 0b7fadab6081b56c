// Whether a node may join: by the keys of those that tell of themselves.
import { expect, test } from "vitest";
import type { LogState } from "../../src/stream/ordered-log.ts";
import { findJoinRefusal } from "../../src/stream/reports.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

function logWith(told: Record<string, { key: string; secondsAgo: number }>) {
  const reports = new Map(
    Object.entries(told).map(([name, { key, secondsAgo }]) => [
      name,
      { told: { key, atMs: NOW_MS - secondsAgo * 1000 }, revision: 1, keptMs: NOW_MS },
    ]),
  );
  return {
    readReports: () => Promise.resolve(reports),
    readState: () => Promise.resolve({} as LogState),
  };
}

const ask = (told: Parameters<typeof logWith>[0]) =>
  findJoinRefusal(logWith(told), { node: "one", key: "new", nowMs: NOW_MS });

test("refuses a key of its own beside a node that is there", async () => {
  expect(await ask({ two: { key: "old", secondsAgo: 59 } })).toMatch(/`two`.*copy `bureau.key`/);
  expect(await ask({ two: { key: "new", secondsAgo: 1 } })).toBeUndefined();
  expect(await ask({ one: { key: "old", secondsAgo: 1 } })).toBeUndefined();
});

test("asks nobody who has been away for a minute: the key may have been replaced on all", async () => {
  expect(await ask({ two: { key: "old", secondsAgo: 61 } })).toBeUndefined();
});
