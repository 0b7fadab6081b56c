// Messages between the main thread and the store thread.
import type { FaultCode, FieldError } from "../contract/faults.ts";
import type { DecisionFilter } from "../contract/decisions.ts";
import type { ExportView } from "../contract/views.ts";
import type { SignedId } from "../contract/signed-records.ts";
import type { Asker } from "./query/guard.ts";
import type { ExportOptions, QueryLimits, StoreEvents } from "./store.ts";

export interface StoreThreadData {
  journal: string;
  store: string;
  memoryMegabytes: number;
  /** Without a ledger that announces positions: read the journal's end once, by itself. */
  isStandalone: boolean;
  /** Decisions of other threads come through these. */
  rings: readonly SharedArrayBuffer[];
  decisionsKeptDays: number;
  outcomesKeptDays: number;
  timeZone: string;
  /** Limit on the memory of the process for callers' SQL; not used on its own. */
  queryMemoryMegabytes: number;
}

/** Calls to the store; the answers are those of the port's methods (store.ts). */
export type StoreCall =
  | { name: "query"; sql: string; limits: QueryLimits; asker: Asker }
  | { name: "openStream"; sql: string; asker: Asker }
  | { name: "nextPart"; stream: number }
  | { name: "closeStream"; stream: number }
  | { name: "ask"; sql: string }
  | { name: "describe" }
  | { name: "findSigned"; id: SignedId }
  | { name: "decisions"; filter: DecisionFilter }
  | { name: "reviews"; filter: DecisionFilter; isOpen: boolean }
  | { name: "note"; table: keyof StoreEvents; event: StoreEvents[keyof StoreEvents] }
  | { name: "exportDays"; view: ExportView; options: ExportOptions }
  | { name: "exportFile"; view: ExportView; day: string | undefined; options: ExportOptions };

export type ToStore =
  | { kind: "call"; id: number; call: StoreCall }
  | { kind: "notify"; lsn: number }
  /** The agent table whose scores are shown from now on. */
  | { kind: "table"; engineMemory: WebAssembly.Memory }
  /** The service ends: callers' SQL does so shortly, whatever it does. */
  | { kind: "endQueries" }
  | { kind: "close" };

/** Figures of the process that runs callers' SQL. */
export interface QueryFigures {
  /** 1 while the process is there. */
  running: number;
  /** How many times it had to be killed, or ended by itself. */
  restarts: number;
  /** Its resident bytes. */
  memoryBytes: number;
  /** Queries that run or wait. */
  waiting: number;
}

/** The state of the store, sent after every change. */
export interface StoreState {
  appliedLsn: number;
  durableLsn: number;
  outcomeCount: number;
  rebuildCount: number;
  /** Reason why the store does not follow the journal now, or empty. */
  failure: string;
  /** The process for callers' SQL. */
  queries: QueryFigures;
  /** Bytes of decisions that are not rows yet. */
  spoolBytes: number;
  /** Repeated denials counted in another's row, since the start. */
  decisionsCounted: number;
}

export const STATE_START: StoreState = {
  appliedLsn: 0,
  durableLsn: 0,
  outcomeCount: 0,
  rebuildCount: 0,
  failure: "",
  spoolBytes: 0,
  decisionsCounted: 0,
  queries: { running: 0, restarts: 0, memoryBytes: 0, waiting: 0 },
};

export type FromStore =
  | { kind: "state"; state: StoreState }
  | { kind: "answer"; id: number; result: unknown }
  | {
      kind: "refusal";
      id: number;
      code: FaultCode;
      detail: string;
      errors: readonly FieldError[];
      retryAfterSec: number | undefined;
    }
  | { kind: "log"; event: string; detail: string };
