// Interning of recent texts, so that the caller keeps one string for each and makes none for a text
// it has seen: agents, actions and sources come again and again. Direct-mapped: the newest text of
// a slot takes it. A caller with ever new texts loses its own saving and costs others little.
import { KEPT_BASE, KEPT_BYTES_MAX, KEPT_SLOTS, KEPT_STRIDE, KEPT_TEXT } from "./layout.ts";
import { NOT_KEPT, REPLACED } from "./layout.ts";

/** The multiplier of Fibonacci hashing, 2^64 divided by the golden ratio. */
const GOLDEN: u64 = 0x9e3779b97f4a7c15;

/** Eight bytes of a text at `from`, zeros past its `left` bytes: more is loaded than looked at. */
function wordAt(from: u32, left: u32): u64 {
  const word = load<u64>(from);
  return left < 8 ? word & ((1 << ((<u64>left) << 3)) - 1) : word;
}

function slotOf(start: u32, length: u32): u32 {
  let hash: u64 = length;
  for (let index: u32 = 0; index < length; index += 8) {
    hash = (hash ^ wordAt(start + index, length - index)) * GOLDEN;
    hash ^= hash >> 32;
  }
  return <u32>(hash & (KEPT_SLOTS - 1));
}

function isAt(entry: u32, start: u32, length: u32): bool {
  if (load<u32>(entry) != length) return false;
  const text = entry + KEPT_TEXT;
  for (let index: u32 = 0; index < length; index += 8) {
    if (load<u64>(text + index) != wordAt(start + index, length - index)) return false;
  }
  return true;
}

/** Slot of the text from `start` to `end` (addresses), as described at KEPT_AGENT. */
export function intern(start: u32, end: u32): i32 {
  const length = end - start;
  if (length > <u32>KEPT_BYTES_MAX) return NOT_KEPT;
  const slot = slotOf(start, length);
  const entry = KEPT_BASE + slot * KEPT_STRIDE;
  if (isAt(entry, start, length)) return slot;
  store<u32>(entry, length);
  for (let index: u32 = 0; index < length; index += 8) {
    store<u64>(entry + KEPT_TEXT + index, wordAt(start + index, length - index));
  }
  return REPLACED - <i32>slot;
}
