// Heap allocator: a bump allocator for any thread, so that a reader can take its scratch without
// the writer. Blocks, which hold indexes, come back when no reader can hold them any more
// (src/vault/sources/epochs.ts) and are kept in free lists by size behind a lock of a few
// instructions; a thread that finds the lock taken goes on without rather than waits.
import {
  BLOCK_CLASSES,
  GROUNDING_HEADER,
  NUMBERS_BLOCK_BYTES,
  NUMBERS_BLOCK_LOCK,
  NUMBERS_BLOCKS,
  NUMBERS_HEAP_TOP,
} from "./layout.ts";

const LOCK: u32 = GROUNDING_HEADER + NUMBERS_BLOCK_LOCK;
const LISTS: u32 = GROUNDING_HEADER + NUMBERS_BLOCKS;
const LOCK_TRIES: u32 = 4096;

const PAGE_BYTES: u64 = 65536;
const GROW_PAGES_MIN: i32 = 64;

/** Reserves zeroed, 64-aligned bytes. Returns 0 when the memory is at its maximum. */
export function allocate(bytes: u32): u32 {
  const top = GROUNDING_HEADER + NUMBERS_HEAP_TOP;
  const padded: u32 = (bytes + 63) & ~63;
  while (true) {
    const start = atomic.load<u32>(top);
    const end: u64 = <u64>start + <u64>padded;
    if (end >= 0xffff0000) return 0;
    if (!ensure(end)) return 0;
    if (atomic.cmpxchg<u32>(top, start, <u32>end) == start) return start;
  }
}

/** Size class of the block last returned by `takeBlock`. */
export let blockClass: u32 = 0;

/** A zeroed block of at least `bytes`. Returns 0 when memory is full. */
export function takeBlock(bytes: u32): u32 {
  const wanted = classOf(bytes);
  let block = pop(wanted, wanted);
  if (block == 0) {
    blockClass = wanted;
    const size = sizeOf(wanted);
    block = allocate(size);
    if (block != 0) {
      atomic.add<u32>(GROUNDING_HEADER + NUMBERS_BLOCK_BYTES, size);
      return block;
    }
    // Full: any larger one is better than none.
    block = pop(wanted + 1, <u32>BLOCK_CLASSES - 1);
  }
  if (block != 0) memory.fill(block, 0, bytes);
  return block;
}

/** Frees a block; false when the lock was taken, to be tried again. */
export function giveBlock(block: u32, size: u32): bool {
  if (!lock()) return false;
  const list = LISTS + size * 4;
  store<u32>(block, load<u32>(list));
  store<u32>(list, block);
  unlock();
  return true;
}

/** First free block of the classes `from` to `to`, 0 when there is none or the lock is taken. */
function pop(from: u32, to: u32): u32 {
  if (!lock()) return 0;
  let block: u32 = 0;
  for (let size = from; size <= to && block == 0; size++) {
    const list = LISTS + size * 4;
    block = load<u32>(list);
    if (block == 0) continue;
    store<u32>(list, load<u32>(block));
    blockClass = size;
  }
  unlock();
  return block;
}

function lock(): bool {
  for (let tries: u32 = 0; tries < LOCK_TRIES; tries++) {
    if (atomic.cmpxchg<u32>(LOCK, 0, 1) == 0) return true;
  }
  return false;
}

function unlock(): void {
  atomic.store<u32>(LOCK, 0);
}

function sizeOf(size: u32): u32 {
  return (4 + (size & 3)) << (6 + (size >> 2));
}

/** The smallest class that holds `bytes`. */
function classOf(bytes: u32): u32 {
  let size: u32 = 0;
  while (size < <u32>BLOCK_CLASSES - 1 && sizeOf(size) < bytes) size += 1;
  return size;
}

function ensure(end: u64): bool {
  const have: u64 = <u64>memory.size() * PAGE_BYTES;
  if (end <= have) return true;
  const need = <i32>((end - have + PAGE_BYTES - 1) / PAGE_BYTES);
  return memory.grow(max(need, GROW_PAGES_MIN)) >= 0 || memory.grow(need) >= 0;
}
