// Byte layout of the memory in which the threads of one process count calls and hold stakes. Two tables of buckets of
// four slots; a key is a seeded 64-bit hash, so that a slot holds no name and callers cannot choose which agents share a bucket.
//
//   header  | seed u32 x 4 | changes u32 | calls beyond each limit that is logged, then enforced, u32 x 8 | zero u32 |
//           time at which the memory was made, epoch ms f64 |
//   agents  | slot | slot | slot | slot |  ...           by tenant and agent
//   stakes  | slot | slot | slot | slot |  ...           by tenant, agent and request id
//
// One slot of an agent:
//
//    0 | key u32 x 2 | lock i32 | minute of the last call u32 | hour u32 |
//   20 | calls of the hour u32, of the hour before u32 | new actions of the hour u32, of the hour before u32 |
//   36 | day u32 | day of the marks u32 | limits that were marked on it, bits u32 |
//   48 | unsettled stakes, grown from the time of the memory f64 | zero f64 |
//   64 | actions of the day, 512 bits | those of the day before, 512 bits |
//
// One slot of a call's stakes: | key u32 x 2 | stakes f64, 0: free | time, epoch ms f64 |
/** The agents stand behind it. */
export const HEADER_BYTES = 64;
export const SEED_WORDS = 4;
/** Counts changes of what is held, for the file. */
export const CHANGES = 4;
/** By code, those that are logged; behind them those that are enforced. */
export const LIMIT_COUNTS = 5;
export const MADE_AT_BYTES = 56;

export const SLOTS_PER_BUCKET = 4;
/** 32,768 pairs of tenant and agent, 6 MiB. Both counts are powers of two. */
export const AGENT_SLOTS = 32_768;
export const AGENT_SLOT_BYTES = 192;
/** 131,072 calls whose outcomes are awaited, 3 MiB. */
export const STAKES_SLOTS = 131_072;
export const STAKES_SLOT_BYTES = 24;

export const OFFSET_STAKES = HEADER_BYTES + AGENT_SLOTS * AGENT_SLOT_BYTES;
export const ACTIVITY_BYTES = OFFSET_STAKES + STAKES_SLOTS * STAKES_SLOT_BYTES;

// Words of an agent's slot.
export const KEY_LOW = 0;
export const KEY_HIGH = 1;
export const LOCK = 2;
export const MINUTE = 3;
export const HOUR = 4;
export const CALLS = 5;
export const CALLS_BEFORE = 6;
export const NEW_ACTIONS = 7;
export const NEW_ACTIONS_BEFORE = 8;
export const DAY = 9;
export const MARKS_DAY = 10;
export const MARKS = 11;
export const TODAY = 16;
export const DAY_BEFORE = 32;
export const SKETCH_WORDS = 16;
export const SKETCH_BITS = 512;
// Doubles of it.
export const UNSETTLED = 6;

/** Milliseconds after which held stakes that nothing settles are down to 1/e: the time that outcomes may take. */
export const FADE_MS = 7 * 86_400_000;
/** What is left of stakes after `ms`. */
export function computeFade(ms: number): number {
  return Math.exp(-ms / FADE_MS);
}

/** Memory for one process, made at `nowMs` (epoch ms). `fillRandom` makes its seed. */
export function createActivityMemory(
  fillRandom: (seed: Uint32Array) => void,
  nowMs: number,
): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(ACTIVITY_BYTES);
  const seed = new Uint32Array(SEED_WORDS);
  fillRandom(seed);
  new Uint32Array(memory, 0, SEED_WORDS).set(seed);
  new Float64Array(memory, MADE_AT_BYTES, 1)[0] = nowMs;
  return memory;
}
