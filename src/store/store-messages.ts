// What crosses the port between the main thread and the store thread.
import type { FaultCode } from "../contract/faults.ts";
import type { QueryLimits, QueryResult } from "./store.ts";

export interface StoreThreadData {
  journal: string;
  store: string;
  memoryMegabytes: number;
  /** Without a ledger that announces positions: read the journal's end once, by itself. */
  isStandalone: boolean;
}

export type ToStore =
  | { kind: "query"; id: number; sql: string; limits: QueryLimits }
  | { kind: "notify"; lsn: number }
  | { kind: "close" };

/** The state of the store, sent after every change. */
export interface StoreState {
  appliedLsn: number;
  durableLsn: number;
  outcomeCount: number;
  rebuildCount: number;
  /** Why the store does not follow the journal now, or empty. */
  failure: string;
}

export type FromStore =
  | { kind: "state"; state: StoreState }
  | { kind: "answer"; id: number; result: QueryResult }
  | { kind: "refusal"; id: number; code: FaultCode; detail: string }
  | { kind: "log"; event: string; detail: string };
