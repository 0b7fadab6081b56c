// Entry of the store thread: opens the journal for reading and the one database, then serves.
// Composition only; the work is in store/thread.ts and store/journal-follower.ts.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { diskFileLayer } from "../platform/files.ts";
import { CountedShareReader, resolveCountedSharesPath } from "../journal/counted-shares.ts";
import { JournalReader } from "../journal/reader.ts";
import { recoverJournal } from "../journal/recovery.ts";
import { startLimitedProcess } from "../platform/limited-process.ts";
import { lowerThreadPriority } from "../platform/thread-priority.ts";
import { openThreadClock } from "./clock.ts";
import { openScoreSource } from "./score-source.ts";
import { decodeStoreRows } from "./store-payloads.ts";
import { JournalFollower } from "../store/journal-follower.ts";
import { serveStore } from "../store/thread.ts";
import type { StoreThreadData } from "../store/options.ts";
import type { MessageFromStore } from "../store/messages.ts";
import { STREAMS_MAX } from "../store/query/row-streams.ts";
import type { MessageFromSandbox } from "../store/sandbox/process.ts";
import { SANDBOX_RUNNING_MAX } from "../store/sandbox/tenant-queue.ts";
import { StoreDecisionLog } from "../store/decision-log.ts";

interface StoreWorkerData extends StoreThreadData {
  ledgerPort: MessagePort;
}

function runStoreThread(port: MessagePort, data: StoreWorkerData): void {
  // Rows are derived and may lag; a verdict and an acknowledgement may not wait for them.
  lowerThreadPriority();
  const send = (message: MessageFromStore) => port.postMessage(message);
  const clock = openThreadClock();
  const mayExpire = () => clock.isConfirmed;
  const core = new JournalFollower({
    directory: data.store,
    reader: new JournalReader(diskFileLayer, data.journal),
    shares: new CountedShareReader(resolveCountedSharesPath(data.journal)),
    describeRecord: decodeStoreRows,
    outcomesKeptDays: data.outcomesKeptDays,
    provenanceKeptDays: data.provenanceKeptDays,
    clock: clock.now,
    mayExpire,
    memoryMegabytes: data.memoryMegabytes,
    timeZone: data.timeZone,
    log: (event, detail) => send({ kind: "log", event, detail }),
  });
  const durableLsn = data.isStandalone ? readJournalEndLsn(data.journal) : undefined;
  if (data.isStandalone) data.ledgerPort.close();
  const records = new StoreDecisionLog({
    core,
    rings: data.rings,
    budget: data.decisionBudget,
    startMs: Date.now(),
    node: data.node,
    decisionsKeptDays: data.decisionsKeptDays,
    waitsForRebuild: data.isStandalone,
    log: (event, detail) => send({ kind: "log", event, detail }),
    mayExpire,
  });
  serveStore({
    port,
    ledgerPort: data.isStandalone ? undefined : data.ledgerPort,
    core,
    records,
    openScores: openScoreSource,
    scoresKeptDays: data.outcomesKeptDays,
    clock: clock.now,
    mayExpire,
    durableLsn,
    sandbox: data.isStandalone ? undefined : buildSandboxOptions(data),
  });
}

const MEBIBYTE = 1024 * 1024;
/** For JavaScript: an answer is bounded, and so is a part of a stream. */
const QUERY_HEAP_MEGABYTES = 256;
/** One for each query and stream that may run at a time, and one that adds rows. */
const QUERY_THREADS = SANDBOX_RUNNING_MAX + STREAMS_MAX + 1;

function buildSandboxOptions({ store, queryMemoryMegabytes, timeZone }: StoreThreadData) {
  const memoryBytes = queryMemoryMegabytes * MEBIBYTE;
  const start = (onMessage: (message: MessageFromSandbox) => void) =>
    startLimitedProcess({
      entry: new URL("./query-process.ts", import.meta.url),
      memoryBytes,
      heapMegabytes: QUERY_HEAP_MEGABYTES,
      threads: QUERY_THREADS,
      onMessage: (message) => onMessage(message as MessageFromSandbox),
    });
  return { source: store, directory: `${store}-queries`, memoryBytes, timeZone, start };
}

/**
 * Without a ledger no one announces the durable position: verify the journal, but change nothing in
 * it.
 */
function readJournalEndLsn(journal: string): number {
  diskFileLayer.makeDirectory(journal);
  const isReadOnly = true;
  return recoverJournal(diskFileLayer, journal, () => undefined, { isReadOnly }).tail.lsn;
}

if (parentPort !== null) runStoreThread(parentPort, workerData as StoreWorkerData);
