// Heap of the shared memory: a bump allocator owned by the single writer, plus a short list of
// ranges that outgrown tables left behind. Nothing is ever returned to the system.
import {
  FREE_RANGES_MAX,
  HEADER_ARENA_END,
  HEADER_ARENA_TOP,
  HEADER_BASE,
  HEADER_BYTES_ARENA,
  HEADER_FREE_COUNT,
  HEADER_FREE_RANGES,
  HEADER_HEAP_MAX,
  HEADER_HEAP_TOP,
  ID_BYTES_MAX,
} from "./layout.ts";

const PAGE_BYTES: u64 = 65536;
const GROW_PAGES_MIN: i32 = 64;
const ARENA_BLOCK_BYTES: u32 = 262144;
/** Two identifiers: what is stored together lies in one block. */
const ARENA_WASTE_BYTES: u64 = 2 * ID_BYTES_MAX;
/** Most that aligning an allocation costs. */
export const ALIGN_BYTES: u64 = 64;

/** Address that the heap may end at: the configured one, or the last of the address space. */
function heapMax(): u64 {
  const configured = load<u32>(HEADER_BASE, HEADER_HEAP_MAX);
  return configured == 0 ? 0xfffffffe : <u64>configured;
}

/** Bytes between the top of the heap and its end. */
export function heapLeft(): u64 {
  const top = <u64>load<u32>(HEADER_BASE, HEADER_HEAP_TOP);
  const end = heapMax();
  return end > top ? end - top : 0;
}

/** Reserves zeroed, 64-aligned bytes. Returns 0 when the memory is at its maximum. */
export function allocate(bytes: u32): u32 {
  const base = HEADER_BASE;
  const start: u64 = ((<u64>load<u32>(base, HEADER_HEAP_TOP) + 63) >> 6) << 6;
  const end: u64 = start + <u64>bytes;
  const have: u64 = <u64>memory.size() * PAGE_BYTES;
  if (end > heapMax()) return 0;
  if (end > have) {
    const need = <i32>((end - have + PAGE_BYTES - 1) / PAGE_BYTES);
    if (memory.grow(max(need, GROW_PAGES_MIN)) < 0 && memory.grow(need) < 0) return 0;
  }
  store<u32>(base, <u32>end, HEADER_HEAP_TOP);
  return <u32>start;
}

/**
 * Hands an outgrown range to the identifier arena. A reader may still be probing it: readers
 * re-check the table's address after a probe and bound every row number, so stale words are safe.
 */
export function release(address: u32, bytes: u32): void {
  const base = HEADER_BASE;
  const count = load<u32>(base, HEADER_FREE_COUNT);
  if (count >= <u32>FREE_RANGES_MAX) return;
  const entry = base + HEADER_FREE_RANGES + count * 8;
  store<u32>(entry, address);
  store<u32>(entry, bytes, 4);
  store<u32>(base, count + 1, HEADER_FREE_COUNT);
}

/** Bytes of the heap that so many bytes of identifiers take, beyond what the arena has. */
export function arenaNeed(bytes: u64): u64 {
  const base = HEADER_BASE;
  // The end of a block may be too short for the next identifiers: that much is lost of each.
  let have: u64 = unwasted(load<u32>(base, HEADER_ARENA_END) - load<u32>(base, HEADER_ARENA_TOP));
  const count = load<u32>(base, HEADER_FREE_COUNT);
  for (let range: u32 = 0; range < count; range++) {
    have += unwasted(load<u32>(base + HEADER_FREE_RANGES + range * 8, 4));
  }
  if (bytes <= have) return 0;
  const block = <u64>ARENA_BLOCK_BYTES;
  return ((bytes - have) / (block - ARENA_WASTE_BYTES) + 1) * (block + ALIGN_BYTES);
}

function unwasted(bytes: u32): u64 {
  return <u64>bytes > ARENA_WASTE_BYTES ? <u64>bytes - ARENA_WASTE_BYTES : 0;
}

/** Makes sure that identifiers of so many bytes (two at most) fit into the present block. */
export function reserveIdentifiers(bytes: u32): bool {
  const left = load<u32>(HEADER_BASE, HEADER_ARENA_END) - load<u32>(HEADER_BASE, HEADER_ARENA_TOP);
  return left >= bytes || nextArenaBlock(bytes);
}

/** Copies identifier bytes into the arena. Returns their address, 0 when memory is full. */
export function storeIdentifier(source: u32, length: u32): u32 {
  const base = HEADER_BASE;
  let top = load<u32>(base, HEADER_ARENA_TOP);
  if (load<u32>(base, HEADER_ARENA_END) - top < length) {
    if (!nextArenaBlock(length)) return 0;
    top = load<u32>(base, HEADER_ARENA_TOP);
  }
  memory.copy(top, source, length);
  store<u32>(base, top + length, HEADER_ARENA_TOP);
  store<u32>(base, load<u32>(base, HEADER_BYTES_ARENA) + length, HEADER_BYTES_ARENA);
  return top;
}

function nextArenaBlock(length: u32): bool {
  const base = HEADER_BASE;
  let start: u32 = 0;
  let bytes: u32 = ARENA_BLOCK_BYTES;
  const count = load<u32>(base, HEADER_FREE_COUNT);
  if (count > 0) {
    const entry = base + HEADER_FREE_RANGES + (count - 1) * 8;
    start = load<u32>(entry);
    bytes = load<u32>(entry, 4);
    store<u32>(base, count - 1, HEADER_FREE_COUNT);
    if (bytes < length) start = 0;
  }
  if (start == 0) {
    bytes = ARENA_BLOCK_BYTES;
    start = allocate(bytes);
    if (start == 0) return false;
  }
  store<u32>(base, start, HEADER_ARENA_TOP);
  store<u32>(base, start + bytes, HEADER_ARENA_END);
  return true;
}
