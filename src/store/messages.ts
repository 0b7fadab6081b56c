// Messages between the main thread and the store thread.
import type { MessagePort } from "node:worker_threads";
import type { QueryParameter } from "../contract/schemas/service.ts";
import type { DecisionFilter } from "../contract/decisions.ts";
import type { EncodedFault } from "../contract/encoded-fault.ts";
import type { SignedId } from "../contract/signed-records.ts";
import type { ExportView } from "../contract/views.ts";
import type { SpoolPosition } from "./decisions/segments.ts";
import type { LatencyCount } from "./rows/latencies.ts";
import type { QueryRights } from "./query/guard.ts";
import type {
  AgentDirectoryRequest,
  ExportOptions,
  QueryForm,
  QueryLimits,
  StoreEvents,
  UsageRange,
} from "./store.ts";

/** Calls to the store; the answers are those of the port's methods (store.ts). */
export type StoreCall =
  | {
      name: "query";
      sql: string;
      params?: readonly QueryParameter[] | undefined;
      limits: QueryLimits;
      asker: QueryRights;
      handle?: string | undefined;
      form?: QueryForm | undefined;
    }
  | { name: "cancelQuery"; handle: string }
  | {
      name: "openStream";
      sql: string;
      /** Time that the database may work on it; absent: the longest. */
      workMs?: number | undefined;
      params?: readonly QueryParameter[] | undefined;
      asker: QueryRights;
    }
  | { name: "nextPart"; stream: number }
  | { name: "closeStream"; stream: number }
  | { name: "ask"; sql: string }
  | { name: "describe" }
  | { name: "directory"; ask: AgentDirectoryRequest }
  | { name: "findSigned"; id: SignedId }
  | { name: "decisions"; filter: DecisionFilter }
  | { name: "decisionCounts"; filter: DecisionFilter }
  | { name: "reviews"; filter: DecisionFilter; isOpen: boolean }
  | { name: "note"; event: StoreEvents["kaizen_runs"] }
  | { name: "usage"; range: UsageRange }
  | { name: "unjournaled" }
  | { name: "exportDays"; view: ExportView; options: ExportOptions }
  | { name: "exportFile"; view: ExportView; day: string | undefined; options: ExportOptions };

export type MessageToStore =
  | { kind: "call"; id: number; call: StoreCall }
  | { kind: "notify"; lsn: number }
  /** The agent table whose scores are shown from now on. */
  | { kind: "table"; engineMemory: WebAssembly.Memory }
  /** A replay sends daily scores here. */
  | { kind: "dailyScores"; port: MessagePort }
  /** Times of answers of a minute that is over. */
  | { kind: "latencies"; latencies: readonly LatencyCount[] }
  /** The service ends: callers' SQL does so shortly, whatever it does. */
  | { kind: "endQueries" }
  | { kind: "close" };

/** Figures of the process that runs callers' SQL. */
export interface QueryProcessMetrics {
  /** 1 while the process is there. */
  running: number;
  /** How many times it had to be killed, or ended by itself. */
  restarts: number;
  /** Its resident bytes. */
  memoryBytes: number;
  /** Queries that run or wait. */
  waiting: number;
}

/** Figures of the decision log (StoreRecords). */
export interface DecisionLogMetrics {
  /** Decision segments and kept files that a new database still lacks. */
  restoringCount: number;
  /** Decision records that could not be read. */
  damagedRecords: number;
  /** Compressed decision segments. */
  segmentCount: number;
  segmentBytes: number;
  /** Bytes of decisions that are not rows yet. */
  spoolBytes: number;
  /** Repeated denials counted in another's row, since the start. */
  decisionsCounted: number;
  /** Up to where own decisions are on disk. */
  spoolMark: SpoolPosition;
}

/** Agents by tier, at one time (epoch ms). */
export interface TierCounts {
  readonly counts: Readonly<Record<string, number>>;
  readonly readMs: number;
}

/** The state of the store, sent after every change. */
export interface StoreState extends DecisionLogMetrics {
  appliedLsn: number;
  durableLsn: number;
  outcomeCount: number;
  rebuildCount: number;
  /** Times that the same files were opened again after an error; the last of them, epoch ms, or 0. */
  reopenCount: number;
  reopenedAtMs: number;
  /** True while a new database has not caught up with the journal. */
  isBuilding: boolean;
  /** Since when it has not been up with the journal, epoch ms; 0 while it is. */
  behindSinceMs: number;
  /** Reason why the store does not follow the journal now, or empty. */
  failure: string;
  /** Agents by tier at the last reading of all scores; undefined before the first. */
  tiers?: TierCounts | undefined;
  /** The process for callers' SQL. */
  queries: QueryProcessMetrics;
}

export type MessageFromStore =
  | { kind: "state"; state: StoreState }
  | { kind: "answer"; id: number; result: unknown }
  /** The store has rows of positions that the journal lacks: nothing is applied any more. */
  | { kind: "ahead"; position: number; durableLsn: number }
  | { kind: "refusal"; id: number; fault: EncodedFault }
  | { kind: "log"; event: string; detail: string };
