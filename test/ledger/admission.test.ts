// Admission by room and by newcomers: nothing that does not fit is journaled, a key brings so much
// that is new by the hour, and a start folds whatever the journal holds into a smaller table too.
import { beforeEach, expect, test } from "vitest";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { LiveTable } from "../../src/engine/live-table.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import type { BureauKey } from "../../src/journal/signing-key.ts";
import { LedgerCore } from "../../src/ledger/core.ts";
import type { NewcomersPerHour } from "../../src/ledger/admission/newcomer-limits.ts";
import {
  VERDICT_NEWCOMERS_LIMITED,
  VERDICT_RECORDED,
  VERDICT_TABLE_FULL,
} from "../../src/ledger/replay-guard.ts";
import { GUARD_ENTRIES, newKey, NOW_MS, recordOf, runOf, temporaryDirectory } from "./_fixtures.ts";

const BOUND = 8 * 1024 * 1024;
const HOUR_MS = 3_600_000;
const KEY_A = 7;
const KEY_B = 8;
let directory: string;
let key: BureauKey;

beforeEach(() => {
  directory = temporaryDirectory();
  key = newKey();
});

function open(bytesMax: number, newcomersPerHour?: NewcomersPerHour) {
  const table = new LiveTable(createEngineMemory(), loadDefaultConfig(), 1n, bytesMax);
  table.open(false);
  const core = new LedgerCore({
    files: diskFileLayer,
    directory,
    key,
    epoch: 1,
    fold: (outcome) => table.fold(outcome),
    nowMs: NOW_MS,
    replayEntriesMax: GUARD_ENTRIES,
    room: table,
    newcomersPerHour,
  });
  return { table, core };
}

/** A pair that nobody has named before. */
const fresh = (at: number, voice = KEY_A) =>
  recordOf(at, {
    subject: `agent://new/${"s".repeat(100)}-${at}`,
    reporter: `agent://new/r-${at}`,
    voice,
    signature: "reporter",
  });
const known = (voice = KEY_A) => ({ ...fresh(0, voice), outcomeId: recordOf(9_999_999).outcomeId });

function fill(core: ReturnType<typeof open>["core"]): number {
  for (let at = 0; ; at += 500) {
    const run = runOf(Array.from({ length: 500 }, (_, index) => fresh(at + index)));
    const verdicts = core.commit([run], NOW_MS).map(({ verdict }) => verdict);
    if (verdicts.includes(VERDICT_TABLE_FULL)) return at + 500;
  }
}

test("a full table: new agents are refused before the journal, known ones are taken", () => {
  const { core, table } = open(BOUND, { agents: Infinity, pairs: Infinity });
  const warnings: (string | undefined)[] = [];
  const sent = fill(core);
  warnings.push(core.admission!.takeFillWarning());
  expect(table.overflow).toBe(0);
  expect(core.lsn).toBeGreaterThan(1000);
  expect(core.lsn).toBeLessThan(sent);
  expect(core.admission!.status.refusedFull).toBe(sent - core.lsn);
  const before = core.lsn;
  const [again, other] = core.commit([runOf([known(), fresh(sent)])], NOW_MS);
  expect([again!.verdict, other!.verdict]).toEqual([VERDICT_RECORDED, VERDICT_TABLE_FULL]);
  expect(core.lsn).toBe(before + 1);
  expect(table.overflow).toBe(0);
  expect(warnings[0]).toMatch(/^agent table \d+ % full/);
  expect(core.admission!.takeFillWarning()).toBeUndefined();
  core.close();
});

test("a start under a smaller bound folds what fits and counts the rest, the same every time", () => {
  const { core } = open(BOUND, { agents: Infinity, pairs: Infinity });
  fill(core);
  core.commit([runOf([known()])], NOW_MS);
  const { lsn } = core;
  core.close();
  const starts = [BOUND, BOUND / 4, BOUND / 4].map((bytesMax) => {
    const { core: next, table } = open(bytesMax);
    const after = next.commit([runOf([known(), fresh(1_000_000)])], NOW_MS);
    next.close();
    const { agents, pairs, overflow } = table;
    return { overflow, agents, pairs, verdicts: after.map(({ verdict }) => verdict) };
  });
  expect(starts[0]!.overflow).toBe(0);
  expect(starts[1]!.overflow).toBeGreaterThan(100);
  expect(starts[1]!.agents).toBeLessThan(starts[0]!.agents);
  // The first of the three started before the known pair was reported once more by each.
  expect(starts[2]).toEqual(starts[1]);
  for (const { verdicts } of starts) {
    expect(verdicts).toEqual([VERDICT_RECORDED, VERDICT_TABLE_FULL]);
  }
  expect(open(BOUND).core.lsn).toBe(lsn + 3);
});

test("a key brings so many new agents by the hour, known ones always, other keys their own", () => {
  const { core } = open(64 * 1024 * 1024, { agents: 100, pairs: 1000 });
  const verdictsOf = (records: Parameters<typeof runOf>[0], nowMs = NOW_MS) =>
    core.commit([runOf(records)], nowMs).map(({ verdict }) => verdict);
  // The commit that reaches the limit is taken whole.
  const first = Array.from({ length: 60 }, (_, at) => fresh(at));
  expect(new Set(verdictsOf(first))).toEqual(new Set([VERDICT_RECORDED]));
  expect(verdictsOf([fresh(60), known(), fresh(61, KEY_B)])).toEqual([
    VERDICT_NEWCOMERS_LIMITED,
    VERDICT_RECORDED,
    VERDICT_RECORDED,
  ]);
  expect(core.admission!.status).toMatchObject({ refusedLimited: 1, keysLimited: 1 });
  // 120 agents were brought: back below the limit of 100 after more than a fifth of an hour.
  expect(verdictsOf([fresh(62)], NOW_MS + HOUR_MS / 10)).toEqual([VERDICT_NEWCOMERS_LIMITED]);
  expect(verdictsOf([fresh(63)], NOW_MS + HOUR_MS / 4)).toEqual([VERDICT_RECORDED]);
  core.close();
});

test("new pairs of known agents are limited too; imports never are", () => {
  const { core } = open(64 * 1024 * 1024, { agents: 1000, pairs: 3 });
  const pair = (subject: number, reporter: number, signature: "reporter" | "bureau" = "reporter") =>
    recordOf(subject * 10 + reporter, {
      subject: `agent://pairs/${subject}`,
      reporter: `agent://pairs/${reporter}`,
      voice: KEY_A,
      signature,
    });
  const imported = Array.from({ length: 9 }, (_, at) => pair(at + 1, at, "bureau"));
  for (const record of imported) core.commit([runOf([record])], NOW_MS);
  const verdicts = [pair(1, 3), pair(1, 4), pair(1, 5), pair(1, 6), pair(1, 0)].map(
    (record) => core.commit([runOf([record])], NOW_MS)[0]!.verdict,
  );
  expect(verdicts).toEqual([
    VERDICT_RECORDED,
    VERDICT_RECORDED,
    VERDICT_RECORDED,
    VERDICT_NEWCOMERS_LIMITED,
    VERDICT_RECORDED,
  ]);
  core.close();
});

test("a repeat within the commit of a record that is refused is refused as well", () => {
  const { core } = open(64 * 1024 * 1024, { agents: 1, pairs: 1 });
  core.commit([runOf([fresh(1)])], NOW_MS);
  const twice = { ...fresh(2), idempotencyKey: "same" };
  const verdicts = core.commit([runOf([twice, twice])], NOW_MS).map(({ verdict }) => verdict);
  expect(verdicts).toEqual([VERDICT_NEWCOMERS_LIMITED, VERDICT_NEWCOMERS_LIMITED]);
  core.close();
});
