// Retention of the log: only what every node that told of itself has may go, behind a margin, and never on the word
// of one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClusterView, NodeReport } from "../../src/stream/reports.ts";
import {
  describeMissingMessages,
  LogRetention,
  computeTrim,
  KEPT_TICKS_MAX,
  MessagePlaces,
} from "../../src/stream/retention.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

function reportOf(seq: number, changes: Partial<NodeReport> = {}): NodeReport {
  return {
    generation: 1,
    key: "k",
    seq,
    lsn: seq,
    chain: `c${seq}`,
    version: "1",
    atMs: NOW_MS - 5000,
    checkpoints: [],
    ...changes,
  };
}

function viewWith(
  reports: Readonly<Record<string, NodeReport>>,
  changes: Partial<ClusterView> = {},
): ClusterView {
  const state = { firstSeq: 1, lastSeq: 100_000, leader: "n" };
  const ages = new Map(
    Object.entries(reports).map(([node, { atMs }]) => [node, NOW_MS - atMs] as const),
  );
  return { generation: 1, state, reports: Object.entries(reports), ages, ...changes };
}

const trim = (view: ClusterView, keep = 1000, without: string[] = []) =>
  computeTrim(view, { keep, without });

describe("trimOf", () => {
  test("a node that is behind, or away for days, holds it back", () => {
    const there = { a: reportOf(90_000), b: reportOf(80_000) };
    expect(trim(viewWith(there))).toEqual({ before: 79_001, slowest: "b" });
    const away = { ...there, c: reportOf(5000, { atMs: NOW_MS - 6 * DAY_MS }) };
    expect(trim(viewWith(away))).toEqual({ before: 4001, slowest: "c" });
    expect(trim(viewWith(away), 1000, ["c"])).toEqual({ before: 79_001, slowest: "b" });
    expect(trim(viewWith({ ...there, d: reportOf(0) }))).toEqual({ before: 0, slowest: "d" });
  });

  test("it is never on the word of one node, nor where histories are in doubt", () => {
    const b = reportOf(80_000);
    const old = reportOf(80_000, { atMs: NOW_MS - 61_000 });
    expect(trim(viewWith({ b }))).toEqual({ why: expect.stringContaining("1 of 2 nodes") });
    expect(trim(viewWith({ a: old, b }))).toEqual({ why: expect.stringContaining("1 of 2 nodes") });
    expect(trim(viewWith({}))).toEqual({ why: expect.stringContaining("0 of 2 nodes") });
    const former = { a: reportOf(90_000), b, c: reportOf(7, { generation: 2 }) };
    expect(trim(viewWith(former))).toEqual({
      why: expect.stringContaining("follows generation 2"),
    });
    const differ = { a: reportOf(80_000, { chain: "other" }), b, c: reportOf(80_000) };
    expect(trim(viewWith(differ), 1000, ["a"])).toEqual({ why: expect.stringContaining("differ") });
    const strange = viewWith({ a: b, b }, { strangers: ["x"] });
    expect(trim(strange)).toEqual({ why: expect.stringContaining("`x`") });
    expect(trim(strange, 1000, ["x"])).toMatchObject({ before: 79_001 });
  });

  test("whatever was told, each node has its last message still there, and the margin behind it", () => {
    const report = fc.record({ seq: fc.nat(100_000), ageMs: fc.nat(7 * DAY_MS) });
    fc.assert(
      fc.property(fc.array(report, { maxLength: 5 }), fc.nat(50_000), (told, keep) => {
        const reports = told.map(
          ({ seq, ageMs }, index) =>
            [`n${index}`, reportOf(seq, { atMs: NOW_MS - ageMs })] as const,
        );
        const found = trim(viewWith(Object.fromEntries(reports)), keep);
        if ("why" in found) return;
        for (const { seq } of told) {
          expect(found.before).toBeLessThanOrEqual(Math.max(0, seq - Math.max(keep, 1000) + 1));
        }
      }),
    );
  });

  test("ticks do not count, as far as their places are known, and go in the end", () => {
    const at = (seq: number, places: MessagePlaces) =>
      computeTrim(viewWith({ a: reportOf(seq), b: reportOf(seq) }), {
        keep: 1000,
        places,
      });
    const places = new MessagePlaces(1000);
    // Of three places one is a message.
    for (let seq = 3; seq <= 30_000; seq += 3) places.add(seq);
    const found = at(30_000, places);
    expect(found).toMatchObject({ before: expect.any(Number) });
    const { before } = found as { before: number };
    expect((30_000 - before) / 3).toBeGreaterThanOrEqual(1000);
    expect((30_000 - before) / 3).toBeLessThanOrEqual(1020);
    // None is known: as many places as may be ticks stay.
    expect(at(30_000, new MessagePlaces(1000))).toMatchObject({ before: 0 });
    const idle = KEPT_TICKS_MAX + 50_000;
    expect(at(idle, new MessagePlaces(1000))).toMatchObject({ before: 49_001 });
  });

  test("the places of messages are the newest that leave the margin whole", () => {
    expect(new MessagePlaces(1000).findMarginStart(9)).toBe(0);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3000 }),
        fc.integer({ min: 1, max: 300 }),
        (gaps, keep) => {
          const places = new MessagePlaces(keep);
          let seq = 0;
          const all = gaps.map((gap) => (seq += gap));
          for (const place of all) places.add(place);
          const start = places.findMarginStart(seq);
          const kept = all.filter((place) => place >= start).length;
          const step = Math.ceil(keep / 100);
          const isWhole = start === 0 || kept >= keep;
          const isNewest = all.length <= 102 * step || kept <= 102 * step;
          expect([isWhole, isNewest]).toEqual([true, true]);
        },
      ),
    );
  });
});

test("a node removes what may go, not often and not little", async () => {
  const trimmed: number[] = [];
  const notes: string[] = [];
  let nowMs = NOW_MS;
  const retention = (keep: number | undefined) =>
    new LogRetention({
      log: { trim: (before) => Promise.resolve(void trimmed.push(before)) },
      keep,
      clock: () => nowMs,
      tell: ({ event, detail }) => notes.push(`${event}: ${detail}`),
    });
  const look = (each: LogRetention, seq: number, firstSeq = 1) => {
    const reports = { a: reportOf(seq), b: reportOf(seq) };
    const state = { firstSeq, lastSeq: 100_000, leader: "n" };
    return each.trimIfDue(viewWith(reports, { state }));
  };
  const [none, some] = [retention(undefined), retention(2000)];
  await look(some, 50_000);
  expect(trimmed).toEqual([]);
  nowMs += 600_000;
  await look(none, 50_000);
  expect(trimmed).toEqual([]);
  await look(some, 2100);
  expect(trimmed).toEqual([]);
  nowMs += 600_000;
  const frames = new Uint8Array([1]);
  for (let seq = 1; seq <= 50_000; seq++)
    some.recordMessage({ seq, timeMs: nowMs, origin: "a:1", n: seq, count: 1, rules: 2, frames });
  await look(some, 50_000);
  await look(some, 60_000);
  expect(trimmed).toEqual([47_981]);
  expect(notes).toEqual([expect.stringContaining("stream_trimmed: messages before 47981")]);
});

test("a journal is told what it needs and the log no longer has", () => {
  const at = (firstSeq: number, lastSeq: number, applied: number) =>
    describeMissingMessages({ firstSeq, lastSeq, leader: "n" }, applied);
  expect(at(0, 0, 0)).toBeUndefined();
  expect(at(1, 9, 0)).toBeUndefined();
  expect(at(5, 9, 5)).toBeUndefined();
  // Purged by hand as a whole: what comes next follows.
  expect(at(10, 9, 9)).toBeUndefined();
  expect(at(5, 9, 4)).toContain("cluster bootstrap");
  expect(at(5, 9, 0)).toContain("cluster bootstrap");
  expect(at(10, 9, 3)).toContain("cluster bootstrap");
  expect(at(1, 2, 4)).toMatch(
    /messages 1 to 2, .*applied up to 4: see `trustrank cluster restore`/,
  );
});
