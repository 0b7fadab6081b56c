// Calls and unsettled stakes of agents for all deciding threads of the process (bureau/activity), and the file
// `unsettled-stakes.bin`, from which a start restores the stakes, less the last seconds where the process was killed.
// Counts of calls end with the process.
import { randomFillSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentActivity } from "../bureau/activity/activity.ts";
import { decodeHeld } from "../bureau/activity/held-file.ts";
import { createActivityMemory } from "../bureau/activity/layout.ts";
import { readErrno, replaceFileAsync } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";

export const HELD_FILE = "unsettled-stakes.bin";
const WRITE_INTERVAL_MS = 5000;

export interface OpenActivity {
  /** Of this thread. */
  readonly activity: AgentActivity;
  /** For the views of other threads. */
  readonly memory: SharedArrayBuffer;
  /** Writes the file once more. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the memory with what the file holds; a damaged file is named in the log and counts as none: then nothing is
 * held, as after its loss.
 */
export function openActivity(dataDir: string, clock: () => number, log: Log): OpenActivity {
  const path = join(dataDir, HELD_FILE);
  const memory = createActivityMemory(randomFillSync, clock());
  const activity = new AgentActivity(memory);
  restoreHeld(activity, path, log);
  let written = activity.changeCount;
  let writing: Promise<void> = Promise.resolve();
  const write = async () => {
    const count = activity.changeCount;
    if (count === written) return;
    try {
      await replaceFileAsync(path, activity.encode(clock()));
      written = count;
    } catch (error) {
      log.warn("unsettled_stakes_not_written", { detail: (error as Error).message });
    }
  };
  const timer = setInterval(() => {
    writing = writing.then(write);
  }, WRITE_INTERVAL_MS).unref();
  const close = async () => {
    clearInterval(timer);
    await writing;
    await write();
  };
  return { activity, memory, close };
}

function restoreHeld(activity: AgentActivity, path: string, log: Log): void {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (readErrno(error) === "ENOENT") return;
    throw error;
  }
  const held = decodeHeld(bytes);
  if (held === undefined) log.warn("unsettled_stakes_damaged", { path });
  else activity.restore(held);
}
