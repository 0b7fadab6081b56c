// The seam: what the module imports and exports, and that the layout's regions do not overlap.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as codes from "../../assembly/codes.ts";
import * as layout from "../../assembly/layout.ts";
import { RING_BIT, STANDING_BITS } from "../../src/contract/standings.ts";
import * as engineVoices from "../../assembly/voices.ts";
import * as voices from "../../src/contract/voices.ts";
import { INCIDENT_MAX } from "../../src/journal/incidents.ts";
import { FEATURES, GRADES, REASON_CODES, TIERS } from "../../src/contract/vocabulary.ts";
import { INPUT_COUNT } from "../../src/store/decisions/ring-layout.ts";
import { createEngineMemory, instantiateEngine } from "../../src/engine/memory.ts";

const MODULE = new URL("../../build/trustrank.wasm", import.meta.url);

test("the module imports the memory alone and exports what the seam declares", () => {
  const module = new WebAssembly.Module(readFileSync(MODULE));
  expect(WebAssembly.Module.imports(module)).toEqual([
    { module: "env", name: "memory", kind: "memory" },
  ]);
  const names = WebAssembly.Module.exports(module).map((entry) => entry.name);
  expect(names.toSorted()).toEqual(
    [
      "assess",
      "beginConfig",
      "check",
      "commitConfig",
      "copy",
      "countedShare",
      "find",
      "fold",
      "handshake",
      "hasRoomFor",
      "initialise",
      "memory",
      "needOf",
      "rejudge",
      "scoreRange",
      "setMark",
      "setStanding",
      "setStandings",
    ].toSorted(),
  );
});

test("static data ends below the header and regions follow each other", () => {
  const memory = createEngineMemory();
  const before = Buffer.from(memory.buffer.slice(layout.HEADER_BASE));
  instantiateEngine(memory);
  // Instantiating writes static data only: everything from the header on is untouched.
  expect(Buffer.from(memory.buffer.slice(layout.HEADER_BASE)).equals(before)).toBe(true);
  const { HEADER_BASE, CHUNK_DIRECTORY_BASE, CONFIG_BASE, SCRATCH_BASE, HEAP_BASE } = layout;
  const freeEnd = layout.HEADER_FREE_RANGES + layout.FREE_RANGES_MAX * 8;
  expect(HEADER_BASE + freeEnd).toBeLessThanOrEqual(CHUNK_DIRECTORY_BASE);
  expect(CHUNK_DIRECTORY_BASE + layout.CHUNKS_MAX * 4).toBeLessThanOrEqual(CONFIG_BASE);
  expect(CONFIG_BASE + layout.CONFIG_SLOTS * layout.CONFIG_STRIDE).toBeLessThanOrEqual(
    SCRATCH_BASE,
  );
  const scratch = layout.SCRATCH_SLOTS * layout.SCRATCH_STRIDE;
  expect(SCRATCH_BASE + scratch).toBeLessThanOrEqual(HEAP_BASE);
});

test("the contract's bits of a standing are the engine's", () => {
  const { FLAG_SEED: seed, FLAG_CREDIBILITY: believed } = layout;
  const { FLAG_SIGNS: signs, FLAG_DISCOUNTED: discounted } = layout;
  expect(STANDING_BITS).toEqual({ seed, believed, signs, discounted });
  expect(layout.STANDING_FLAGS).toBe(seed | believed | signs | discounted);
  expect(RING_BIT).toBe(layout.CLUSTER_RING_BIT);
  // A cluster's number, which is at most that of a row, does not reach it.
  expect(RING_BIT).toBeGreaterThan(layout.CHUNKS_MAX << layout.CHUNK_ROWS_LOG2);
});

test("the contract's voices are the engine's", () => {
  const { hashTenantToVoice: _, hashTenantToAskerNumber: __, ...contract } = voices;
  expect(contract).toEqual({ ...engineVoices });
  // As sources of the pair map they stand apart from all rows and pools.
  const rows = layout.CHUNKS_MAX << layout.CHUNK_ROWS_LOG2;
  expect(layout.SOURCE_STRANGER_BIT).toBeGreaterThan(rows);
  expect(layout.SOURCE_STRANGER_BIT + voices.VOICE_MAX).toBeLessThan(layout.POOL_CLUSTER_BIT);
  // A cluster's number is at most that of a row.
  expect(layout.POOL_CLUSTER_BIT + RING_BIT + rows).toBeLessThan(layout.SOURCE_INCIDENT_BITS);
  expect(layout.SOURCE_INCIDENT_BITS + INCIDENT_MAX).toBeLessThan(layout.POOL_UNTRUSTED);
});

test("records fit their strides and the vocabularies match", () => {
  expect(layout.ROW_FAILING + 2).toBeLessThanOrEqual(layout.ROW_STRIDE);
  expect(layout.ROW_STRIDE % 8).toBe(0);
  expect(layout.FEATURE_COUNT).toBe(FEATURES.length);
  // The policy's own reasons follow the engine's.
  expect(REASON_CODES.slice(codes.REASON_COUNT)).toEqual([
    "STALE_RECORD",
    "STAKES_NEED_VERIFICATION",
    "STAKES_NEED_APPROVAL",
  ]);
  expect(codes.TIER_REVIEW).toBe(TIERS.indexOf("REVIEW"));
  expect(layout.WORD_SIGNATURE_WEIGHTS - layout.WORD_GRADE_WEIGHTS).toBe(GRADES.length);
  expect(layout.LEG_FEATURES + layout.FEATURE_COUNT).toBe(layout.LEG_RECORD_MEAN);
  expect(layout.LEG_SILENT_DAYS + 1).toBe(layout.LEG_INPUTS_END);
  expect(layout.LEG_INPUTS_END - layout.LEG_INPUTS).toBe(INPUT_COUNT);
  expect(layout.LEG_INPUTS_END).toBeLessThanOrEqual(layout.LEG_STAKES_FROM);
  expect(layout.LEG_STAKES_REACH).toBeLessThan(layout.LEG_DEFICITS);
  expect(layout.LEG_DEFICITS + 4).toBeLessThanOrEqual(layout.LEG_JUDGED);
  expect(layout.LEG_HUMAN_CATCH).toBeLessThan(layout.LEG_WORDS);
  const leg = layout.SCRATCH_LEG_A + 8 * layout.LEG_WORDS;
  expect(leg).toBeLessThanOrEqual(layout.SCRATCH_LEG_B);
  const secondLeg = layout.SCRATCH_LEG_B + 8 * layout.LEG_WORDS;
  expect(secondLeg).toBeLessThanOrEqual(layout.SCRATCH_RANGE);
  expect(layout.ROW_STRIDE).toBeLessThanOrEqual(layout.SCRATCH_ROW_B - layout.SCRATCH_ROW_A);
  expect(layout.WORD_MODEL_HANDSHAKE + layout.MODEL_WORDS).toBeLessThanOrEqual(
    layout.CONFIG_WORD_COUNT,
  );
  expect(layout.MODEL_WEIGHTS + layout.FEATURE_COUNT).toBeLessThanOrEqual(layout.MODEL_REFERENCES);
  expect(layout.MODEL_REFERENCES + layout.FEATURE_COUNT).toBeLessThanOrEqual(layout.MODEL_WORDS);
  const words = layout.CONFIG_WORDS + 8 * layout.CONFIG_WORD_COUNT;
  expect(words).toBeLessThanOrEqual(layout.CONFIG_STRIDE);
});
