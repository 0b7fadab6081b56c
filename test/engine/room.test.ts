// Room in a bounded table: what is promised to fit is folded, what does not fit changes nothing and is
// counted, and the same log gives the same bytes under the same bound, full or not.
import { expect, test } from "vitest";
import { HEADER_BASE, HEAP_BASE, SCRATCH_BASE } from "../../assembly/layout.ts";
import { VOICE_STRANGER } from "../../src/contract/voices.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import { computeHeapEnd } from "../../src/engine/table-use.ts";
import { openEngineWriter, resumeEngineWriter } from "../../src/engine/writer.ts";
import { seededRandom } from "../ledger/_fixtures.ts";

const BOUND = 2 * 1024 * 1024;
const START_MS = Date.UTC(2026, 0, 1);
const SEED = 7n;

function openTable(bytesMax: number) {
  const memory = createEngineMemory();
  return { memory, writer: openEngineWriter(memory, loadDefaultConfig(), SEED, bytesMax) };
}

/** Outcomes of ever new agents of all lengths, old ones among them, by reporters and strangers. */
function outcomes(count: number, seed = 3): FoldOutcome[] {
  const random = seededRandom(seed);
  const agent = (most: number) => {
    const number = Math.floor(random() * most);
    return `agent://room/${"x".repeat(number % 100)}-${number}`;
  };
  return Array.from({ length: count }, (_, at) => ({
    subject: agent(count / 2),
    reporter: agent(count / 4),
    outcome: random() < 0.2 ? (0 as const) : (1 as const),
    stakes: 10,
    gradeIndex: 4,
    signatureIndex: 1,
    settledAtMs: START_MS + at * 1000,
    voice: random() < 0.2 ? VOICE_STRANGER + at : 0,
  }));
}

function imageOf(memory: WebAssembly.Memory, bytes: number): Buffer {
  const control = Buffer.from(memory.buffer, HEADER_BASE, SCRATCH_BASE - HEADER_BASE);
  return Buffer.concat([control, Buffer.from(memory.buffer, HEAP_BASE, bytes)]);
}

test("what has room is folded, what adds nothing is folded in a full table too", () => {
  const { writer } = openTable(BOUND);
  const { header } = writer;
  let refused = 0;
  for (const outcome of outcomes(12_000)) {
    const need = { ...writer.estimateNewEntries(outcome) };
    const before = [header.agents, header.pairs, header.overflow] as const;
    const fits = writer.hasCapacityFor(need);
    writer.fold(outcome);
    const more = [header.agents - before[0], header.pairs - before[1]];
    const isLeftOut = header.overflow > before[2];
    if (isLeftOut) {
      refused++;
      expect(more).toEqual([0, 0]);
      expect(need.agents + need.pairs).toBeGreaterThan(0);
    } else {
      expect(more[0]).toBeLessThanOrEqual(need.agents);
      expect(more[1]).toBeLessThanOrEqual(need.pairs);
    }
    if (need.agents + need.pairs === 0) expect(isLeftOut).toBe(false);
    // Room for the most that an outcome may add is more than it needs.
    const most = { agents: 2, identifierBytes: 1036, pairs: 3 };
    if (fits && writer.hasCapacityFor(most)) expect(isLeftOut).toBe(false);
    expect(header.heapTop).toBeLessThanOrEqual(computeHeapEnd(BOUND));
  }
  expect(refused).toBeGreaterThan(1000);
  expect(header.computeFillShare()).toBeGreaterThan(0.95);
});

test("the same log under the same bound gives the same bytes, whatever was left out", () => {
  const log = outcomes(12_000);
  const fold = (bytesMax: number) => {
    const { memory, writer } = openTable(bytesMax);
    for (const outcome of log) writer.fold(outcome);
    return { writer, image: imageOf(memory, BOUND) };
  };
  const [one, two, smaller] = [fold(BOUND), fold(BOUND), fold(BOUND / 2)];
  expect(one.writer.header.overflow).toBeGreaterThan(0);
  expect(one.image.equals(two.image)).toBe(true);
  expect(smaller.writer.header.overflow).toBeGreaterThan(one.writer.header.overflow);
});

test("a table with standings in force: pools and clusters have room as well", () => {
  const { writer } = openTable(BOUND);
  const agents = Array.from({ length: 40 }, (_, at) => ({
    agent: `agent://room/x-${at}`,
    flags: 0,
    credibility: 0,
    cluster: 1 + (at % 3),
  }));
  writer.applyStandings({ isInForce: true, stakesHigh: 0, agents });
  for (const outcome of outcomes(12_000, 5)) {
    const need = { ...writer.estimateNewEntries(outcome) };
    const { pairs, overflow } = writer.header;
    writer.fold(outcome);
    const added = writer.header.pairs - pairs;
    expect(added).toBeLessThanOrEqual(need.pairs);
    if (need.agents + need.pairs === 0) expect(writer.header.overflow).toBe(overflow);
  }
  expect(writer.header.overflow).toBeGreaterThan(0);
});

test("marks, standings and assessments that find no room are counted and throw nothing", () => {
  const { writer } = openTable(BOUND);
  for (let at = 0; writer.header.overflow === 0; at++) {
    writer.foldAssessment({
      agent: `agent://room/${at}`,
      asker: at,
      kindIndex: 0,
      assessedAtMs: START_MS,
    });
  }
  const { overflow, agents } = writer.header;
  for (let at = 0; writer.header.overflow === overflow; at++) {
    writer.markKeyRevoked(`agent://revoked/${at}`, true);
  }
  const standing = { agent: "agent://late/one", flags: 0, credibility: 1, cluster: 0 };
  writer.applyStandings({ isInForce: true, stakesHigh: 0, agents: [standing] });
  expect(writer.header.overflow).toBe(overflow + 2);
  expect(writer.header.agents).toBeGreaterThanOrEqual(agents);
});

test("a reader sees the fill grow to whole", () => {
  const { memory, writer } = openTable(BOUND);
  const reader = openEngineReader(memory, 1);
  const shares: number[] = [];
  for (const [at, outcome] of outcomes(12_000).entries()) {
    writer.fold(outcome);
    if (at % 1000 === 999) shares.push(reader.readTableUse().share);
  }
  expect(shares[0]).toBeLessThan(0.6);
  expect(shares.at(-1)).toBeGreaterThan(0.95);
  expect(reader.readTableUse()).toMatchObject({
    bytesMax: BOUND,
    overflow: writer.header.overflow,
  });
});

test("a snapshot's table goes on under another bound only where nothing was left out", () => {
  const { memory, writer } = openTable(BOUND);
  const [first, ...rest] = outcomes(12_000);
  writer.fold(first!);
  const used = writer.header.heapTop - HEAP_BASE;
  expect(resumeEngineWriter(memory, SEED, BOUND * 2)).toBeDefined();
  expect(resumeEngineWriter(memory, SEED, used - 1)).toBeUndefined();
  const resumed = resumeEngineWriter(memory, SEED, BOUND)!;
  for (const outcome of rest) resumed.fold(outcome);
  expect(resumed.header.overflow).toBeGreaterThan(0);
  expect(resumeEngineWriter(memory, SEED, BOUND * 2)).toBeUndefined();
  expect(resumeEngineWriter(memory, SEED, BOUND)).toBeDefined();
});

test("what needOf says of each fits in all: nothing that was admitted by it is left out", () => {
  const { writer } = openTable(BOUND);
  const sum = { agents: 0, identifierBytes: 0, pairs: 0 };
  const admitted: FoldOutcome[] = [];
  let refused = 0;
  for (const [at, outcome] of outcomes(12_000, 11).entries()) {
    const need = writer.estimateNewEntries(outcome);
    const more = {
      agents: sum.agents + need.agents,
      identifierBytes: sum.identifierBytes + need.identifierBytes,
      pairs: sum.pairs + need.pairs,
    };
    if (writer.hasCapacityFor(more)) {
      Object.assign(sum, more);
      admitted.push(outcome);
    } else refused++;
    if (at % 50 !== 49) continue;
    // As a commit does it: judged together, then folded.
    for (const each of admitted.splice(0)) writer.fold(each);
    Object.assign(sum, { agents: 0, identifierBytes: 0, pairs: 0 });
    expect(writer.header.overflow).toBe(0);
  }
  expect(refused).toBeGreaterThan(1000);
});
