// Hash of the agent table at a place of a cluster's log: its counts and one slice of its heap, another slice
// at the next place. The whole of a table of gigabytes would hold up the fold, a difference that stays in
// it is found when its turn comes, and one of the counts at once.
import { createHash } from "node:crypto";
import {
  HEADER_BASE,
  HEADER_CONFIG_COUNT,
  HEADER_FREE_COUNT,
  HEADER_HEAP_MAX,
  HEADER_HEAP_TOP,
  HEAP_BASE,
} from "../../assembly/layout.ts";
import { openTableImage } from "./image.ts";

/** Some 2 ms of SHA-256, at every thousandth message. */
const SLICE_BYTES = 2 * 1024 * 1024;
/** 2^32 over the golden ratio: steps that come to every slice, whatever their number, also while it grows. */
const SLICE_STEP = 0x9e3779b1;
const UINT32_RANGE = 2 ** 32;
/** Hex digits that tell two apart. */
const HASH_DIGITS = 16;

/** What must be equal before the bytes of two tables can be. */
export interface TableIdentity {
  readonly layoutVersion: number;
  readonly engineDigest: Uint8Array;
  readonly seed: bigint;
}

/** Name of what makes a table: tables of one log under one name are equal byte for byte. */
export function computeEngineName({ layoutVersion, engineDigest, seed }: TableIdentity): string {
  const text = `${layoutVersion}\n${Buffer.from(engineDigest).toString("hex")}\n${seed}\n${SLICE_BYTES}`;
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_DIGITS);
}

/** Slice that is hashed in a round: within some three times `count` rounds each has had its turn. */
export function selectHashSliceIndex(round: number, count: number): number {
  return Math.floor(((Math.imul(round, SLICE_STEP) >>> 0) / UINT32_RANGE) * count);
}

/**
 * Hash of the table in `memory` for a round, between two folds. Configs and bounds, which are a node's own,
 * are left out.
 */
export function computeTableHash(memory: WebAssembly.Memory, round: number): string {
  const digest = createHash("sha256");
  for (const [from, to] of [
    [HEADER_HEAP_TOP, HEADER_CONFIG_COUNT],
    [HEADER_FREE_COUNT, HEADER_HEAP_MAX],
  ] as const) {
    digest.update(new Uint8Array(memory.buffer, HEADER_BASE + from, to - from));
  }
  const [, heap] = openTableImage(memory).viewParts();
  const bytes = heap!.byteLength;
  const at = selectHashSliceIndex(round, Math.ceil(bytes / SLICE_BYTES)) * SLICE_BYTES;
  const slice = new Uint8Array(memory.buffer, HEAP_BASE + at, Math.min(SLICE_BYTES, bytes - at));
  return digest.update(slice).digest("hex").slice(0, HASH_DIGITS);
}
