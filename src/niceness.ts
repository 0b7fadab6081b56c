// Where the kernel schedules threads one by one (Linux), a thread of batch work yields to the rest:
// a run may take longer, an answer may not.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

const NICENESS = 10;
/** The least there is: for work of a minute that nobody waits for. */
export const LEAST = 19;

/** Puts the calling thread below those that answer (1 to 19); elsewhere nothing changes. */
export function yieldToOthers(niceness = NICENESS): void {
  try {
    setPriority(Number(readlinkSync("/proc/thread-self").split("/").at(-1)), niceness);
  } catch {
    // Not Linux: the work competes on equal terms.
  }
}
