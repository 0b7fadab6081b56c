// The outcome store seen from outside: SQL for analysts over what the journal holds. Derived data:
// it may lag, it may be deleted, it is rebuilt from the journal. No score waits for it.
import type { DecisionFilter } from "../contract/decisions.ts";
import type { SignedId, SignedRecords } from "../contract/signed-records.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";

export interface QueryLimits {
  rowsMax: number;
  timeoutMs: number;
}

/** Column names and types as DuckDB prints them, rows as JSON-ready values. */
export interface QueryResult {
  columns: { name: string; type: string }[];
  rows: unknown[][];
  /** True when rowsMax cut the answer. */
  isTruncated: boolean;
  elapsedMs: number;
}

/** What other rooms tell the store, by view. Times are epoch ms. */
export interface StoreEvents {
  provenance: {
    recorded_at: number;
    tenant: string;
    agent_id: string;
    action: string;
    content_hash: string;
    cited_sources: readonly string[];
    request_id: string | null;
  };
  reviews: {
    recorded_at: number;
    tenant: string;
    request_id: string;
    resolution: string;
    note: string | null;
    key_id: string;
  };
  /** What auditors ask for and the journal does not hold: changes of API keys. */
  audit_events: {
    recorded_at: number;
    /** `api_key.created`, `api_key.revoked`. */
    event: string;
    /** Whose affair it is. */
    tenant: string;
    /** Id of the API key that did it. */
    actor: string;
    /** As JSON; never a secret. */
    detail: unknown;
  };
  /**
   * One state of a run: told when it starts, ends, or is rolled back; the view shows the newest of
   * each `run_id`, so that telling a run again (at a start, from its file) does no harm.
   */
  kaizen_runs: {
    recorded_at: number;
    run_id: string;
    started_at: number;
    /** Null while it is under way. */
    finished_at: number | null;
    started_by: string;
    /** `running`, `kept`, `promoted`, `dry_run`, `failed` or `rolled_back`. */
    status: string;
    /** Whether the challenger became the config, even if it was rolled back later. */
    promoted: boolean;
    reason: string;
    /** Config challenged, and the one fitted or gone back to; null when there is none. */
    config_from: string;
    config_to: string | null;
    outcome_count: number;
    /** Every gate with its numbers, as JSON. */
    gates: unknown;
    /** The whole run, as its file has it. */
    record: unknown;
  };
}

/** What can be exported: its days are those of the column in which it was recorded. */
export const EXPORT_VIEWS = ["outcomes", "decisions"] as const;
export type ExportView = (typeof EXPORT_VIEWS)[number];

/** A review: the decision, and what a person made of it. */
export type Review = Record<string, unknown>;

export interface Store {
  /**
   * Runs one read-only SELECT over the rows that `tenant` may see; over all without one. Rejects
   * with ServiceFault `query_rejected` or `store_unavailable`.
   */
  query(sql: string, limits: QueryLimits, tenant?: string): Promise<QueryResult>;
  /**
   * What is on record under a signed id, as far as the store has applied the journal. Rejects with
   * ServiceFault `overloaded` or `store_unavailable`.
   */
  findSigned(id: SignedId): Promise<SignedRecords>;
  /** Logged decisions, newest first; those made before the call are among them. */
  decisions(filter: DecisionFilter): Promise<ReplayableLeg[]>;
  /** Flagged decisions, newest first; `isOpen` leaves out those a person has resolved. */
  reviews(filter: DecisionFilter, isOpen: boolean): Promise<Review[]>;
  /**
   * Resolves once the event is committed. Rejects with ServiceFault `overloaded` when too many wait
   * and `store_unavailable` when the store cannot write.
   */
  note<Table extends keyof StoreEvents>(table: Table, event: StoreEvents[Table]): Promise<void>;
  /**
   * Days (`2026-01-31`, UTC) that a view has rows of, from that of `sinceMs` on, among those that
   * `tenant` may see.
   */
  exportDays(view: ExportView, sinceMs: number, tenant?: string): Promise<string[]>;
  /** One day of a view, not before `sinceMs`, of what `tenant` may see, as a Parquet file. */
  exportDay(view: ExportView, day: string, sinceMs: number, tenant?: string): Promise<Uint8Array>;
  /** Tells the store how far the journal is durable; it applies up to there in its own time. */
  notify(position: number): void;
  /** Resolves once everything up to `position` is applied and committed. */
  appliedUpTo(position: number): Promise<void>;
  close(): Promise<void>;
}
