// Priority of a thread of batch work, lowered where the kernel schedules threads one by one
// (Linux): a run may take longer, an answer may not.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/**
 * Nice value. Not the lowest priority: that showed no better p99, and a busy machine would starve
 * the work.
 */
const NICE_VALUE = 10;
/** Puts the calling thread below every other one of the process; elsewhere nothing changes. */
export function lowerThreadPriority(niceValue = NICE_VALUE): void {
  try {
    setPriority(Number(readlinkSync("/proc/thread-self").split("/").at(-1)), niceValue);
  } catch {
    // Not Linux: the work competes on equal terms.
  }
}
