// Data directory with a journal of known outcomes, and the store opened on it.
import { join } from "node:path";
import { JournaledNotes } from "../../src/bureau/notes.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { LedgerCore } from "../../src/ledger/core.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { decodeStoreRows } from "../../src/threads/store-payloads.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import { JournalFollower } from "../../src/store/journal-follower.ts";
import { StoreDecisionLog } from "../../src/store/decision-log.ts";
import type { QueryResult } from "../../src/store/store.ts";
import { openLocalLedger } from "../ledger/_local-ledger.ts";
import { NOW_MS, recordOf, runOf } from "../ledger/_fixtures.ts";

export const LIMITS = { rowsMax: 1000, timeoutMs: 60_000 };

export function openJournal(dataDir: string): LedgerCore {
  return new LedgerCore({
    files: diskFileLayer,
    directory: join(dataDir, "journal"),
    key: loadBureauKey(join(dataDir, "bureau.key")),
    epoch: 1,
    fold: () => undefined,
    nowMs: NOW_MS,
    segmentBytesMax: 200_000,
  });
}

/** Appends `count` outcomes, a hundred to a commit, and returns them. */
export function fillJournal(dataDir: string, from: number, count: number): OutcomeRecord[] {
  const core = openJournal(dataDir);
  const records = Array.from({ length: count }, (_, index) => recordOf(from + index));
  for (let at = 0; at < count; at += 100) core.commit([runOf(records.slice(at, at + 100))], NOW_MS);
  core.close();
  return records;
}

export interface Logged {
  event: string;
  detail: string;
}

/** The store on its own, caught up. */
export async function openStore(dataDir: string): Promise<{ store: OpenStore; log: Logged[] }> {
  const log: Logged[] = [];
  const store = await startStore({
    dataDir,
    isStandalone: true,
    log: (event, detail) => log.push({ event, detail }),
  });
  return { store, log };
}

/** The core in this thread, for tests that look inside. */
export function openStoreCore(
  dataDir: string,
  memoryMegabytes = 512,
  maySpill = true,
): { core: JournalFollower; log: Logged[] } {
  const log: Logged[] = [];
  const core = new JournalFollower({
    directory: join(dataDir, "store"),
    reader: new JournalReader(diskFileLayer, join(dataDir, "journal")),
    describeRecord: decodeStoreRows,
    outcomesKeptDays: 36_500,
    clock: () => NOW_MS,
    memoryMegabytes,
    maySpill,
    log: (event, detail) => log.push({ event, detail }),
  });
  return { core, log };
}

/** Asks the core as the operator would. */
export function askCore(core: JournalFollower, sql: string): Promise<QueryResult> {
  return core.readQueue.query({ sql }, LIMITS, { tenant: undefined, withheld: [] });
}

/** Follows until nothing is left to apply. */
export async function catchUp(core: JournalFollower, durableLsn: number): Promise<void> {
  while (await core.applyNextBatch(durableLsn));
}

/** Takes notes into the journal of a directory that no ledger holds. */
export function notesInto(dataDir: string): JournaledNotes & { close: () => void } {
  const core = openJournal(dataDir);
  const notes = new JournaledNotes(openLocalLedger(core, () => NOW_MS));
  return Object.assign(notes, { close: () => core.close() });
}

/** A store with the records beside it, over one ring; nothing expires. */
export function openRecords(dataDir: string, ring: SharedArrayBuffer, startMs: number) {
  const { core, log } = openStoreCore(dataDir);
  const records = new StoreDecisionLog({
    core,
    rings: [ring],
    startMs,
    decisionsKeptDays: 36_500,
  });
  return { core, records, log };
}
