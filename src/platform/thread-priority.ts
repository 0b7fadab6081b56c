// Where the kernel schedules threads one by one (Linux), a thread of batch work yields to the rest:
// a run may take longer, an answer may not.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** Not the least there is: that showed no better p99, and a busy machine would starve the work. */
const NICENESS = 10;
/** Puts the calling thread below every other one of the process; elsewhere nothing changes. */
export function lowerThreadPriority(niceness = NICENESS): void {
  try {
    setPriority(Number(readlinkSync("/proc/thread-self").split("/").at(-1)), niceness);
  } catch {
    // Not Linux: the work competes on equal terms.
  }
}
