// Removal of an entry from an open-addressing table of slots, in shared memory and beside readers. The
// entries behind the hole move up into it (Knuth 6.4 R), so that a vault whose sources come and go
// for years keeps its probes short.
//
// INVARIANT (moves): the count of moves is odd while slots move. A reader's hit is compared with the
// entry and always holds; its miss counts only if the count is even and what it was before.

/** Word of the header that counts the beginnings and ends of moves. */
export const MOVE_COUNT_AT = 2;
/** A reader that meets a writer mid-move looks again; seconds later it gives up. */
const LOOKUPS_MAX = 1 << 16;
/** Looks in a row, longer than any move that runs: beyond it the writer was put to sleep in one. */
const SPINNING_LOOKUPS = 1 << 10;
const PAUSE_MS = 0.05;

/** The count of moves, for `isSettled`. */
export function readMoveCount(header: Uint32Array): number {
  return Atomics.load(header, MOVE_COUNT_AT);
}

/** Whether a miss counts that began at `moves` and was the `looks`-th. May sleep for a moment. */
export function isLookupConclusive(header: Uint32Array, moves: number, looks: number): boolean {
  const isMoving = (moves & 1) === 1;
  if (!isMoving && Atomics.load(header, MOVE_COUNT_AT) === moves) return true;
  if (looks >= LOOKUPS_MAX) return true;
  if (isMoving && looks >= SPINNING_LOOKUPS) sleepWhileMoving(header, moves);
  return false;
}

/** Leaves the core to the writer, who may need it to go on. */
function sleepWhileMoving(header: Uint32Array, moves: number): void {
  const signed = new Int32Array(header.buffer, header.byteOffset, header.length);
  Atomics.wait(signed, MOVE_COUNT_AT, moves | 0, PAUSE_MS);
}

/**
 * Removes the slot that names entry `number`; `first` is the first word of what is looked for, which
 * is its home. Nothing happens when no slot names it.
 */
export function removeSlot(
  header: Uint32Array,
  slots: Uint32Array,
  first: number,
  number: number,
): void {
  const mask = slots.length / 2 - 1;
  let hole = first & mask;
  while (slots[hole * 2 + 1] !== number + 1) {
    if (slots[hole * 2 + 1] === 0) return;
    hole = (hole + 1) & mask;
  }
  Atomics.add(header, MOVE_COUNT_AT, 1);
  for (let place = (hole + 1) & mask; slots[place * 2 + 1] !== 0; place = (place + 1) & mask) {
    const home = slots[place * 2]! & mask;
    // Moving it into the hole is right unless its home lies behind the hole.
    if (((place - home) & mask) < ((place - hole) & mask)) continue;
    slots[hole * 2] = slots[place * 2]!;
    Atomics.store(slots, hole * 2 + 1, slots[place * 2 + 1]!);
    hole = place;
  }
  Atomics.store(slots, hole * 2 + 1, 0);
  Atomics.add(header, MOVE_COUNT_AT, 1);
}
