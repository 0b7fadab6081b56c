// Small sets of stems in a thread's scratch. Stamped sets are emptied by taking a new stamp, so the
// cost of a sentence follows its length and nothing is cleared.
import { SCRATCH_QUESTION, SCRATCH_RESULT, RESULT_STAMP } from "./layout.ts";
import { slotOf } from "./lexicon.ts";

const STAMPED_MASK: u32 = 1023;
const QUESTION_MASK: u32 = 2047;

/** A stamp that no slot of this scratch carries yet. */
export function takeStamp(scratch: u32): u32 {
  const address = scratch + SCRATCH_RESULT + RESULT_STAMP * 4;
  const stamp = load<u32>(address) + 1;
  store<u32>(address, stamp);
  return stamp;
}

/** Adds a stem to the stamped set at `base`; false when it was there. At most 512 are added. */
export function addStem(base: u32, stem: u32, stamp: u32): bool {
  let slot = slotOf(stem, STAMPED_MASK);
  while (true) {
    const address = base + slot * 8;
    if (load<u32>(address, 4) != stamp) {
      store<u32>(address, stem);
      store<u32>(address, stamp, 4);
      return true;
    }
    if (load<u32>(address) == stem) return false;
    slot = (slot + 1) & STAMPED_MASK;
  }
}

/** Whether the stamped set at `base` holds a stem. */
export function hasStem(base: u32, stem: u32, stamp: u32): bool {
  let slot = slotOf(stem, STAMPED_MASK);
  while (true) {
    const address = base + slot * 8;
    if (load<u32>(address, 4) != stamp) return false;
    if (load<u32>(address) == stem) return true;
    slot = (slot + 1) & STAMPED_MASK;
  }
}

/** Empties the set of stems that the question made known. */
export function clearQuestion(scratch: u32): void {
  memory.fill(scratch + SCRATCH_QUESTION, 0, (QUESTION_MASK + 1) * 4);
}

/** Adds a stem (never 0) of the question; QUESTION_TOKENS_MAX keep the table half empty. */
export function addQuestion(scratch: u32, stem: u32): void {
  let slot = slotOf(stem, QUESTION_MASK);
  while (true) {
    const address = scratch + SCRATCH_QUESTION + slot * 4;
    const found = load<u32>(address);
    if (found == stem) return;
    if (found == 0) {
      store<u32>(address, stem);
      return;
    }
    slot = (slot + 1) & QUESTION_MASK;
  }
}

/** Whether the question holds a stem. */
export function isAsked(scratch: u32, stem: u32): bool {
  let slot = slotOf(stem, QUESTION_MASK);
  while (true) {
    const found = load<u32>(scratch + SCRATCH_QUESTION + slot * 4);
    if (found == stem) return true;
    if (found == 0) return false;
    slot = (slot + 1) & QUESTION_MASK;
  }
}
