// The heap: a bump allocator that any thread may use, so that a reader can take its scratch without
// asking the writer. Nothing is given back: indexes of revoked documents stay, unreachable, since
// another thread may be reading them.
import { GROUNDING_HEADER, NUMBERS_HEAP_TOP } from "./layout.ts";

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

function ensure(end: u64): bool {
  const have: u64 = <u64>memory.size() * PAGE_BYTES;
  if (end <= have) return true;
  const need = <i32>((end - have + PAGE_BYTES - 1) / PAGE_BYTES);
  return memory.grow(max(need, GROW_PAGES_MIN)) >= 0 || memory.grow(need) >= 0;
}
