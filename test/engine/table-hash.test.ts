// Hash of the agent table: equal for equal histories, another where one bit of a row is.
import fc from "fast-check";
import { expect, test } from "vitest";
import { HEADER_BASE, HEADER_CONFIG_COUNT, HEAP_BASE } from "../../assembly/layout.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { openTableImage } from "../../src/engine/image.ts";
import { LiveTable } from "../../src/engine/live-table.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import {
  computeEngineName,
  selectHashSliceIndex,
  computeTableHash,
} from "../../src/engine/table-hash.ts";
import { createFoldedOutcome } from "../../src/journal/folded-outcome.ts";

const AGENTS = 20_000;
const NOW_MS = Date.UTC(2026, 0, 1);

function tableOf(agents: number, seed = 1n): LiveTable {
  const table = new LiveTable(createEngineMemory(), loadDefaultConfig(), seed, 256 * 1024 * 1024);
  table.open(false);
  const outcome = createFoldedOutcome();
  for (let index = 0; index < agents; index++) {
    Object.assign(outcome, {
      subject: `agent://shop/${index}`,
      reporter: `agent://buyer/${index % 100}`,
      outcome: index % 9 === 0 ? 0 : 1,
      stakes: 5,
      settledAtMs: NOW_MS + index,
    });
    table.fold(outcome);
  }
  return table;
}

test("every slice has its turn within three rounds of all", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.nat(1_000_000), (count, from) => {
      const seen = new Set<number>();
      for (let round = from; round < from + 3 * count; round++)
        seen.add(selectHashSliceIndex(round, count));
      expect([seen.size, Math.max(...seen)]).toEqual([count, count - 1]);
    }),
  );
});

test("equal histories have equal hashes, whatever weights are live", () => {
  const [one, two, less] = [tableOf(AGENTS), tableOf(AGENTS), tableOf(AGENTS - 1)];
  two.installConfig({ ...loadDefaultConfig() });
  const words = ({ memory }: LiveTable) => new Uint32Array(memory.buffer, HEADER_BASE);
  expect(words(two)[HEADER_CONFIG_COUNT >> 2]).not.toBe(words(one)[HEADER_CONFIG_COUNT >> 2]);
  for (let round = 1; round <= 10; round++) {
    const hash = computeTableHash(one.memory, round);
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    expect(computeTableHash(two.memory, round)).toBe(hash);
    // The counts differ in every round.
    expect(computeTableHash(less.memory, round)).not.toBe(hash);
  }
});

test("one bit that flipped anywhere is found within three rounds of all slices", () => {
  const [one, two] = [tableOf(AGENTS), tableOf(AGENTS)];
  const heapBytes = openTableImage(one.memory).viewParts()[1]!.byteLength;
  const count = Math.ceil(heapBytes / (2 * 1024 * 1024));
  expect(count).toBeGreaterThan(2);
  const bytes = new Uint8Array(two.memory.buffer);
  fc.assert(
    fc.property(fc.nat(heapBytes - 1), fc.nat(7), fc.nat(10_000), (at, bit, from) => {
      bytes[HEAP_BASE + at]! ^= 1 << bit;
      const rounds = Array.from({ length: 3 * count }, (_, index) => from + index);
      const found = rounds.filter(
        (each) => computeTableHash(one.memory, each) !== computeTableHash(two.memory, each),
      );
      bytes[HEAP_BASE + at]! ^= 1 << bit;
      expect(found.length).toBeGreaterThan(0);
    }),
    { numRuns: 20 },
  );
});

test("an engine's name is that of its layout, its digest and its key", () => {
  const identity = { layoutVersion: 1, engineDigest: Buffer.alloc(32), seed: 1n };
  const names = [
    identity,
    { ...identity, layoutVersion: 2 },
    { ...identity, engineDigest: Buffer.alloc(32, 1) },
    { ...identity, seed: 2n },
  ].map(computeEngineName);
  expect(new Set(names).size).toBe(4);
  expect(computeEngineName({ ...identity })).toBe(names[0]);
});
