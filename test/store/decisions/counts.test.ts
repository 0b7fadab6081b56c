// Exact counts of decisions: equal to the truth over threads, minutes, restarts and a rebuilt database,
// whatever the log keeps; what the disk refuses waits, and what cannot be counts is damage.
import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DecisionEntry } from "../../../src/contract/decisions.ts";
import { createDecisionBudget } from "../../../src/store/decisions/budget.ts";
import {
  COUNT_SLOTS_MAX,
  DecisionCounter,
  DecisionCountReader,
} from "../../../src/store/decisions/count-slots.ts";
import {
  decodeCounts,
  encodeCounts,
  mergeCounts,
  type DecisionCount,
} from "../../../src/store/decisions/counts.ts";
import { createDecisionRing, OFFSET_COUNTS } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { StoreDecisionLog } from "../../../src/store/decision-log.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS, principalOf } from "../_decisions.ts";
import { askCore, openStoreCore } from "../_fixtures.ts";

const MINUTE_MS = 60_000;
const SEED = 20_260_505;

/** What differs between decisions of the property. */
const kindOfEntry = fc.record({
  tenant: fc.constantFrom("acme", "émile", 'quo"te'),
  kindIndex: fc.constantFrom(0, 1, 2),
  toolLevelIndex: fc.constantFrom(0, 3),
  resultIndex: fc.constantFrom(0, 1, 3),
  isAllowed: fc.boolean(),
  isEnforced: fc.boolean(),
  isRecorded: fc.boolean(),
  logReason: fc.constantFrom("TRUST_SUFFICIENT", "THIN_FILE"),
  configVersion: fc.constantFrom("c-1", "c-2"),
  policyVersion: fc.constantFrom("p-1", "p-2"),
  minute: fc.integer({ min: 0, max: 3 }),
  stakes: fc.integer({ min: 0, max: 100 }),
});

function buildEntry(one: {
  tenant: string;
  kindIndex: number;
  resultIndex: number;
  toolLevelIndex: number;
  minute: number;
}): DecisionEntry {
  const isVerify = one.kindIndex === 0;
  return {
    ...entryOf(0, true),
    ...one,
    principal: principalOf(one.tenant),
    toolLevelIndex: isVerify ? one.toolLevelIndex : 255,
    verdictIndex: isVerify ? one.resultIndex : 255,
    decisionIndex: one.resultIndex,
    evaluatedAtMs: NOW_MS + one.minute * MINUTE_MS,
  };
}

/** Sums by minute and everything that is counted by. */
function sumUp(counts: readonly DecisionCount[]) {
  return mergeCounts(counts)
    .filter(({ decisions }) => decisions > 0)
    .map((count) => JSON.stringify(count))
    .toSorted();
}

describe("counts in shared memory", () => {
  it("are those of a plain tally, whenever they are collected", () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: kindOfEntry },
      { weight: 1, arbitrary: fc.constant("collect" as const) },
      { weight: 1, arbitrary: fc.constant("refused by the disk" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const memory = createDecisionRing();
        const counter = new DecisionCounter(memory, OFFSET_COUNTS);
        const reader = new DecisionCountReader(memory, OFFSET_COUNTS);
        const found: DecisionCount[] = [];
        const truth: DecisionCount[] = [];
        const collect = () => {
          const { counts, commit } = reader.collect(NOW_MS);
          found.push(...counts);
          commit();
        };
        for (const each of steps) {
          if (each === "collect") collect();
          else if (each === "refused by the disk") reader.collect(NOW_MS);
          else {
            const entry = buildEntry(each);
            counter.count(entry, each.isRecorded);
            counter.count({ ...entry, legIndex: 1 }, each.isRecorded);
            truth.push(tallyOf(entry, each.isRecorded));
          }
        }
        collect();
        expect(sumUp(found)).toEqual(sumUp(truth));
        expect(reader.hasCounts()).toBe(false);
      }),
      { seed: SEED },
    );
  });

  it("beyond the slots count without a name, and slots come back", () => {
    const memory = createDecisionRing();
    const counter = new DecisionCounter(memory, OFFSET_COUNTS);
    const reader = new DecisionCountReader(memory, OFFSET_COUNTS);
    const given = COUNT_SLOTS_MAX + 500;
    for (let n = 0; n < given; n++) {
      counter.count({ ...entryOf(n, true), evaluatedAtMs: NOW_MS }, true);
    }
    const { counts, commit } = reader.collect(NOW_MS);
    commit();
    expect(counts).toHaveLength(COUNT_SLOTS_MAX);
    expect(counts.find(({ tenant }) => tenant === "")?.decisions).toBe(501);
    expect(counts.reduce((sum, { decisions }) => sum + decisions, 0)).toBe(given);
    // Slots of a minute that is over are free once its counts are on disk; until then it goes on.
    const later = { ...entryOf(0, true), evaluatedAtMs: NOW_MS + MINUTE_MS };
    counter.count(later, true);
    expect(reader.isUrgent).toBe(true);
    const [during] = reader.collect(NOW_MS).counts;
    expect(during).toMatchObject({ minuteMs: NOW_MS - (NOW_MS % MINUTE_MS), decisions: 1 });
  });

  it("of a thread that died are taken over by the next one", () => {
    const memory = createDecisionRing();
    const reader = new DecisionCountReader(memory, OFFSET_COUNTS);
    const entry = { ...entryOf(1, true), verdictIndex: 0 };
    new DecisionCounter(memory, OFFSET_COUNTS).count(entry, true);
    new DecisionCounter(memory, OFFSET_COUNTS).count(entry, true);
    expect(sumUp(reader.collect(NOW_MS).counts)).toEqual([
      JSON.stringify({ ...tallyOf(entry, true), decisions: 2, stakesTotal: 2 }),
    ]);
  });
});

const WORDS = {
  kinds: ["verify", "check", "handshake"],
  levels: ["L0", "L1", "L2", "L3"],
  verdicts: ["ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK"],
  decisions: ["connect", "connect_with_verification", "escalate", "refuse"],
};

function tallyOf(entry: DecisionEntry, isRecorded: boolean): DecisionCount {
  const { verdictIndex, decisionIndex, isAllowed, isEnforced } = entry;
  return {
    minuteMs: Math.floor(entry.evaluatedAtMs / MINUTE_MS) * MINUTE_MS,
    tenant: entry.principal.tenant,
    kind: WORDS.kinds[entry.kindIndex]!,
    toolLevel: WORDS.levels[entry.toolLevelIndex] ?? "",
    result: WORDS.verdicts[verdictIndex] ?? WORDS.decisions[decisionIndex]!,
    effective: isAllowed || !isEnforced ? "allow" : "deny",
    logReason: entry.logReason,
    configVersion: entry.configVersion,
    policyVersion: entry.policyVersion,
    isEnforced,
    decisions: 1,
    notRecorded: isRecorded ? 0 : 1,
    stakesTotal: entry.stakes,
  };
}

describe("a block of counts", () => {
  it("comes back as it was; what is none is not read", () => {
    const counts = [tallyOf(entryOf(1, true), true), tallyOf(entryOf(2, false), false)];
    expect(decodeCounts(encodeCounts(counts))).toEqual(counts);
    for (const text of ["", "[", "{}", "[1]", "[[]]", '[["a"]]']) {
      expect(decodeCounts(Buffer.from(text))).toBeUndefined();
    }
    const changed = encodeCounts(counts).toString().replace("acme", "\\u0061cme");
    expect(decodeCounts(Buffer.from(changed))).toEqual(counts);
    expect(decodeCounts(Buffer.from(changed.replace("true", "1")))).toBeUndefined();
    expect(decodeCounts(Buffer.from(changed.replace('"verify"', "null")))).toBeUndefined();
  });
});

function openLog(dataDir: string, startMs: number, rings: SharedArrayBuffer[]) {
  const { core } = openStoreCore(dataDir);
  const budget = createDecisionBudget(1024 * 1024, NOW_MS);
  const options = { core, rings, startMs, budget, decisionsKeptDays: 36_500 };
  const records = new StoreDecisionLog(options);
  const rowsOf = async (sql: string) => (await askCore(core, sql)).rows;
  const writers = rings.map((ring) => new DecisionRingWriter(ring, { waitMs: 0, budget }));
  const close = async (nowMs: number) => {
    await records.close(nowMs);
    await core.close();
  };
  return { records, rowsOf, writers, close };
}

const COUNTS = `SELECT minute, tenant, result, effective, decisions::INTEGER, stakes_total
  FROM decisions_minutely ORDER BY ALL`;
const DAILY = `SELECT day, tenant, result, effective, decisions::INTEGER, stakes_total
  FROM decisions_daily ORDER BY ALL`;

/** Decisions of two tenants, half let through, over two minutes and two threads. */
function decide(writers: readonly DecisionRingWriter[], count: number): void {
  for (let n = 0; n < count; n++) {
    const entry = {
      ...entryOf(n, n % 2 === 0),
      policyVersion: "p",
      principal: principalOf(n % 3 === 0 ? "acme" : "globex"),
      verdictIndex: n % 2 === 0 ? 0 : 3,
      isKeptFirst: n % 2 === 1,
      stakes: 2,
      evaluatedAtMs: NOW_MS - (NOW_MS % MINUTE_MS) + (n % 2) * MINUTE_MS,
    };
    const writer = writers[n % writers.length]!;
    if (writer.admit(entry)) writer.record(entry);
  }
}

describe("rows of counts", () => {
  it("are exact where the log is a sample, and after a rebuild of the database", async () => {
    const dataDir = temporaryDirectory();
    const rings = [createDecisionRing(), createDecisionRing()];
    const first = openLog(dataDir, 1, rings);
    const given = 3000;
    decide(first.writers, given);
    // A disk that refuses once: nothing is lost, nothing is counted twice.
    const kept = join(dataDir, "store-kept");
    fs.renameSync(kept, `${kept}-away`);
    expect(() => first.records.ringDrain.drain(NOW_MS, true)).toThrow(/ENOENT/);
    fs.renameSync(`${kept}-away`, kept);
    await first.records.ingestAll(NOW_MS + 2000);
    const counts = await first.rowsOf(COUNTS);
    expect(counts.map(([, ...rest]) => rest)).toEqual([
      ["acme", "ALLOW", "allow", 500, 1000],
      ["globex", "ALLOW", "allow", 1000, 2000],
      ["acme", "BLOCK", "deny", 500, 1000],
      ["globex", "BLOCK", "deny", 1000, 2000],
    ]);
    const daily = await first.rowsOf(DAILY);
    expect(daily).toHaveLength(4);
    const log = "SELECT count(*)::INTEGER, sum(weight) FROM decisions";
    const [[rows, weight]] = (await first.rowsOf(log)) as [[number, number]];
    expect(rows).toBeLessThan(given / 2);
    const missing = "SELECT sum(not_recorded)::INTEGER FROM decisions_minutely";
    const merged = first.records.readMetrics().decisionsCounted;
    expect(await first.rowsOf(missing)).toEqual([[given - rows - merged]]);
    // Both that are kept last and those kept first were sampled; the sum is near the truth.
    expect(Math.abs(weight - given)).toBeLessThan(given);
    const page = await first.records.readDecisionPage({ tenant: "acme", limit: 10 }, NOW_MS + 3000);
    expect([page.isComplete, page.isSampled]).toEqual([true, true]);
    const facets = await first.records.countDecisions({ tenant: "acme", limit: 0 }, NOW_MS + 3000);
    expect([facets.isComplete, facets.isSampled]).toEqual([true, true]);
    await first.close(NOW_MS + 4000);
    fs.rmSync(join(dataDir, "store"), { recursive: true });
    const second = openLog(dataDir, 2, [createDecisionRing()]);
    await second.records.ingestAll(NOW_MS + 5000);
    expect(await second.rowsOf(COUNTS)).toEqual(counts);
    expect(await second.rowsOf(DAILY)).toEqual(daily);
    await second.close(NOW_MS + 6000);
  });
});
