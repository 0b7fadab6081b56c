// Entry of the thread that verifies old segments of the journal once: one at a time, at low
// priority, with long rests. Started by the ledger thread and ends with it.
import { setTimeout as rest } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { JournalDamage } from "../journal/faults.ts";
import { diskFileLayer } from "../platform/files.ts";
import { scrubSegments } from "../journal/scrub.ts";
import { lowerThreadPriority } from "../platform/thread-priority.ts";

interface ScrubWorkerData {
  journal: string;
  uptoLsn: number;
}

/** Sent for each damage when it is found, and at last once without. */
export interface ScrubNote {
  /** Verified so far. */
  readonly segments: number;
  readonly damage: JournalDamage | undefined;
}

/** Rest after each segment, in multiples of the time it took: a twentieth of a core at most. */
const REST_FACTOR = 20;
const REST_MS_MIN = 20;

async function runScrub(send: (note: ScrubNote) => void): Promise<void> {
  const { journal, uptoLsn } = workerData as ScrubWorkerData;
  lowerThreadPriority();
  let segments = 0;
  let startedAt = performance.now();
  for (const { damage } of scrubSegments(diskFileLayer, journal, uptoLsn)) {
    segments++;
    if (damage !== undefined) send({ segments, damage });
    await rest(Math.max(REST_MS_MIN, (performance.now() - startedAt) * REST_FACTOR));
    startedAt = performance.now();
  }
  send({ segments, damage: undefined });
}

if (parentPort !== null) {
  const port = parentPort;
  await runScrub((note) => port.postMessage(note));
}
