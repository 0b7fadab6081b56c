// Byte layout of a decision ring: its counters and the form of a record; behind it the thread's exact
// counts (count-slots.ts). Shared by the writing end and the reading end.
//
//   control   | head u32 | tail u32 | dropped u32 | recorded u32 |
//   ring      ...|####record####|##record##|skip|        (8-aligned, never split at the end)
//             tail -----------------------------^ head
import { COUNT_SLOTS_BYTES } from "./count-slots.ts";

export const HEAD = 0;
export const TAIL = 1;
export const DROPPED = 2;
export const RECORDED = 3;
export const CONTROL_BYTES = 16;

/** Some 8,000 decisions of ordinary length. A power of two: positions are masked. */
export const RING_BYTES = 4 * 1024 * 1024;
/** Behind the ring. */
export const OFFSET_COUNTS = CONTROL_BYTES + RING_BYTES;

// One record. Texts follow the numbers in the order of their lengths.
//
//    0 | length u32 (0: skip to the ring's start) |
//    4 | kind | leg | tool level | verdict | decision | leg decision | tier | regime | flags |
//   13 | session u24, little-endian: seconds; of no meaning without FLAG_SESSION |
//   16 | eleven text lengths, u16 each |
//   38 | decisions that it stands for, u16; of no meaning without FLAG_COUNTED |
//   40 | ten numbers, the last of them the weight, then the inputs, f64 each |
//  ... | the texts | up to seven bytes without a meaning |
//  -16 | trace id, 16 bytes; only with FLAG_TRACED, and then behind all else |
export const OFFSET_INDEXES = 4;
export const OFFSET_SESSION = 13;
export const OFFSET_LENGTHS = 16;
export const OFFSET_COUNT = 38;
export const OFFSET_NUMBERS = 40;
export const INDEX_COUNT = 9;
export const NUMBER_COUNT = 10;
export const OFFSET_WEIGHT = OFFSET_NUMBERS + 8 * (NUMBER_COUNT - 1);
export const INPUT_COUNT = 34;
/**
 * The first input is the config's number in its process, 0 or above, which no row keeps. Below 0 it is -1 less
 * the index of the policy's `actions` that decided the level.
 */
export const ACTION_INPUT = 0;
export const TEXT_COUNT = 11;
export const OFFSET_TEXTS = OFFSET_NUMBERS + 8 * (NUMBER_COUNT + INPUT_COUNT);

export const FLAG_ALLOWED = 1;
export const FLAG_FLAGGED = 2;
export const FLAG_KNOWN = 4;
export const FLAG_RESERVED = 8;
export const FLAG_ENFORCED = 16;
export const FLAG_SESSION = 32;
/** Set only by the reading end (denial-counts.ts): the record counts several decisions. */
export const FLAG_COUNTED = 64;
/** The record ends with the id of the trace that its request was part of. */
export const FLAG_TRACED = 128;
export const TRACE_BYTES = 16;

/** Most decisions that one record stands for; the next begins another record. */
export const RECORD_COUNT_MAX = 0xffff;

/** Longest session that a record holds, 194 days; longer ones are cut to it. */
export const SESSION_SECONDS_MAX = 0xffffff;

/** A new, empty ring; one per thread that decides, all of them given to the store. */
export function createDecisionRing(): SharedArrayBuffer {
  return new SharedArrayBuffer(OFFSET_COUNTS + COUNT_SLOTS_BYTES);
}

/** Counters of one ring, readable from any thread. */
export function readRingCounters(ring: SharedArrayBuffer): { recorded: number; dropped: number } {
  const control = new Uint32Array(ring, 0, 4);
  return {
    recorded: Atomics.load(control, RECORDED),
    dropped: Atomics.load(control, DROPPED),
  };
}
