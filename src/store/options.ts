// Options of the store thread with their defaults, and its port as the main thread sees it.
import {
  DECISIONS_KEPT_DAYS,
  OUTCOMES_KEPT_DAYS,
  PROVENANCE_KEPT_DAYS,
  QUERY_MEMORY_MEGABYTES,
  STORE_MEMORY_MEGABYTES,
} from "../contract/setting-defaults.ts";
import type { MigratedNote } from "../contract/notes.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import type { StoreState } from "./messages.ts";
import type { LatencyCount } from "./rows/latencies.ts";
import type { Store } from "./store.ts";
import type { MessagePort } from "node:worker_threads";

export interface StoreOptions {
  dataDir: string;
  /** True when no ledger runs beside it: the store reads the journal's end by itself. */
  isStandalone?: boolean;
  /** Rings of the threads that decide (store/decisions/ring-layout.ts). */
  rings?: readonly SharedArrayBuffer[];
  /** Shared by those threads (store/decisions/budget.ts); left out: there is no budget. */
  decisionBudget?: SharedArrayBuffer | undefined;
  /** Name of this node of a cluster; left out: there is none. */
  node?: string | undefined;
  /** Days that rows of the decision log are kept. */
  decisionsKeptDays?: number;
  /** Days that rows of outcomes are kept; daily counts stay. */
  outcomesKeptDays?: number;
  /** Days that rows of provenance told afterwards are kept; the journal stays. */
  provenanceKeptDays?: number;
  /** 512 by default; much less makes a database end itself often, and be opened again. */
  memoryMegabytes?: number;
  /** Limit on the memory of the process that runs callers' SQL; at least 1024. */
  queryMemoryMegabytes?: number;
  /** IANA name of the zone of local times; UTC by default. */
  timeZone?: string | undefined;
  /** Called for rebuilds and failures, one line each. */
  log?: (event: string, detail: string) => void;
  /** Called when the store has rows of positions that the journal lacks: its end is lost. */
  onJournalEndLost?: (position: number, durableLsn: number) => void;
  /** The thread's file; the default is the composition root's. */
  entry?: URL;
}

export interface OpenStore extends Store {
  /** Give this to startLedger as `storePort`. */
  readonly ledgerPort: MessagePort;
  /** The last state received. */
  status(): StoreState;
  /** Gives callers' SQL two more seconds: an end of the service waits for none. */
  endQueriesSoon(): void;
  /** `listener` is called each time that the database was set aside and made anew. */
  onRebuilt(listener: () => void): void;
  /** True when `close` did not wait for the thread any longer: native code still runs there. */
  readonly hasCloseTimedOut: boolean;
  /** Notes that only the rows of an older version hold, some of them: none is left at last. */
  listUnjournaledNotes(): Promise<MigratedNote[]>;
  /** Shows the scores of this agent table from now on, in the views `agents` and `scores_daily`. */
  setAgentTable(engineMemory: WebAssembly.Memory): void;
  /**
   * When the newest imported outcome was recorded, epoch ms, that stands after `position`, settled before that
   * time (epoch ms) and is in no replay of daily scores on record; undefined without one.
   */
  findNewestImportMs(position: number, settledBeforeMs: number): Promise<number | undefined>;
  /** Puts times of answers on record, within a second or two. */
  recordLatencies(latencies: readonly LatencyCount[]): void;
  /** Takes daily scores of a replay from this port (MessageFromReplay). */
  receiveDailyScores(port: MessagePort): void;
}

/** Start data of the thread. */
export interface StoreThreadData extends Required<
  Omit<
    StoreOptions,
    "dataDir" | "log" | "onJournalEndLost" | "entry" | "node" | "timeZone" | "decisionBudget"
  >
> {
  journal: string;
  store: string;
  /** Name of this node of a cluster; empty where there is none. */
  node: string;
  timeZone: string;
  decisionBudget: SharedArrayBuffer | undefined;
}

export function buildStoreThreadData(options: StoreOptions, paths: DataPaths): StoreThreadData {
  return {
    journal: paths.journal,
    store: paths.store,
    memoryMegabytes: options.memoryMegabytes ?? STORE_MEMORY_MEGABYTES,
    isStandalone: options.isStandalone ?? false,
    rings: options.rings ?? [],
    decisionBudget: options.decisionBudget,
    node: options.node ?? "",
    decisionsKeptDays: options.decisionsKeptDays ?? DECISIONS_KEPT_DAYS,
    outcomesKeptDays: options.outcomesKeptDays ?? OUTCOMES_KEPT_DAYS,
    provenanceKeptDays: options.provenanceKeptDays ?? PROVENANCE_KEPT_DAYS,
    timeZone: options.timeZone ?? "UTC",
    queryMemoryMegabytes: options.queryMemoryMegabytes ?? QUERY_MEMORY_MEGABYTES,
  };
}

/** Until the first state has come. */
export const INITIAL_STORE_STATE: StoreState = {
  appliedLsn: 0,
  durableLsn: 0,
  outcomeCount: 0,
  rebuildCount: 0,
  reopenCount: 0,
  reopenedAtMs: 0,
  isBuilding: false,
  restoringCount: 0,
  behindSinceMs: 0,
  damagedRecords: 0,
  segmentCount: 0,
  segmentBytes: 0,
  spoolBytes: 0,
  decisionsCounted: 0,
  spoolMark: { name: "", bytes: 0 },
  failure: "",
  queries: { running: 0, restarts: 0, memoryBytes: 0, waiting: 0 },
};
