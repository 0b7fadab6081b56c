// Entry of the thread that verifies old segments of the journal once: one at a time, at low
// priority, with long rests. Started by the ledger thread and ends with it.
import { setTimeout as rest } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { JournalDamage } from "../journal/faults.ts";
import { nodeFiles } from "../journal/files.ts";
import { scrubSegments } from "../journal/scrub.ts";
import { lowerThreadPriority } from "../platform/thread-priority.ts";

interface ThreadData {
  journal: string;
  uptoLsn: number;
}

/** One for each damage when it is found, and a last one without. */
export interface ScrubNote {
  /** Looked at so far. */
  readonly segments: number;
  readonly damage: JournalDamage | undefined;
}

/** Times as long as it has worked: a twentieth of a core at most. */
const REST_FACTOR = 20;
const REST_MS_MIN = 20;

async function main(tell: (note: ScrubNote) => void): Promise<void> {
  const { journal, uptoLsn } = workerData as ThreadData;
  lowerThreadPriority();
  let segments = 0;
  let startedAt = performance.now();
  for (const { damage } of scrubSegments(nodeFiles, journal, uptoLsn)) {
    segments++;
    if (damage !== undefined) tell({ segments, damage });
    await rest(Math.max(REST_MS_MIN, (performance.now() - startedAt) * REST_FACTOR));
    startedAt = performance.now();
  }
  tell({ segments, damage: undefined });
}

if (parentPort !== null) {
  const port = parentPort;
  await main((note) => port.postMessage(note));
}
