// Entry of the thread that verifies old segments after a start from a snapshot: one at a time, at
// low priority, with long rests. Started by the ledger thread and ends with it.
import { setTimeout as rest } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { nodeFiles } from "./ledger/journal-files.ts";
import { scrubSegments } from "./ledger/journal-scrub.ts";
import { yieldToOthers } from "./niceness.ts";

interface ThreadData {
  journal: string;
  uptoLsn: number;
}

/** Times as long as it has worked: a twentieth of a core at most. */
const REST_FACTOR = 20;
const REST_MS_MIN = 20;

async function main(tell: (event: string, detail: string) => void): Promise<void> {
  const { journal, uptoLsn } = workerData as ThreadData;
  yieldToOthers();
  let count = 0;
  let damages = 0;
  let startedAt = performance.now();
  for (const { damage } of scrubSegments(nodeFiles, journal, uptoLsn)) {
    count++;
    if (damage !== undefined) {
      damages++;
      const { reason, segment, offset, afterLsn } = damage;
      const place = `${segment} at byte ${offset}, after position ${afterLsn}`;
      tell("journal_damaged", `${reason} in ${place}: put it back from a backup`);
    }
    await rest(Math.max(REST_MS_MIN, (performance.now() - startedAt) * REST_FACTOR));
    startedAt = performance.now();
  }
  if (count > 0 && damages === 0) tell("journal_verified", `${count} segments before the snapshot`);
}

if (parentPort !== null) {
  const port = parentPort;
  await main((event, detail) => port.postMessage({ event, detail }));
}
