// Port of the outcome store: SQL for analysts over the journal's records. Derived data: it may lag,
// it may be deleted, it is rebuilt from the journal. No score waits for it.
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

/** Events that other parts send to the store, by view. Times are epoch ms. */
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
  /** Changes of API keys: audit events that the journal does not hold. */
  audit_events: {
    recorded_at: number;
    /** `api_key.created`, `api_key.revoked`. */
    event: string;
    /** Tenant of the key. */
    tenant: string;
    /** Id of the API key that did it. */
    actor: string;
    /** As JSON; never a secret. */
    detail: unknown;
  };
  /**
   * One state of a run, sent when it starts, ends, or is rolled back. The view shows the newest of
   * each `run_id`, so that sending a run again (at a start, from its file) does no harm.
   */
  kaizen_runs: {
    recorded_at: number;
    run_id: string;
    started_at: number;
    /** Null while it runs. */
    finished_at: number | null;
    started_by: string;
    /** `running`, `kept`, `promoted`, `dry_run`, `failed` or `rolled_back`. */
    status: string;
    /** Whether the challenger became the config, even if it was rolled back later. */
    promoted: boolean;
    reason: string;
    /** Config challenged, and the one fitted or restored; null when there is none. */
    config_from: string;
    config_to: string | null;
    outcome_count: number;
    /** Every gate with its numbers, as JSON. */
    gates: unknown;
    /** The whole run, as in its file. */
    record: unknown;
  };
}

/** Views that can be exported; a row's day is that of its recording. */
export const EXPORT_VIEWS = ["outcomes", "decisions"] as const;
export type ExportView = (typeof EXPORT_VIEWS)[number];

/** A review: the decision, and a person's resolution of it. */
export type Review = Record<string, unknown>;

export interface Store {
  /**
   * Runs one read-only SELECT over the rows that `tenant` may see; over all without one. Does not
   * wait for the journal to be applied.
   * @throws ServiceFault `query_rejected` when the text is anything else, or takes too much time,
   *   memory or text in its answer; `overloaded` when too many reads wait; `store_unavailable` when
   *   the store cannot answer.
   */
  query(sql: string, limits: QueryLimits, tenant?: string): Promise<QueryResult>;
  /**
   * Records under a signed id, as far as the store has applied the journal.
   * @throws ServiceFault `overloaded` when too many look-ups wait, `store_unavailable` when the
   *   store cannot answer.
   */
  findSigned(id: SignedId): Promise<SignedRecords>;
  /** Logged decisions, newest first; those made before the call are among them. */
  decisions(filter: DecisionFilter): Promise<ReplayableLeg[]>;
  /** Flagged decisions, newest first; `isOpen` leaves out those a person has resolved. */
  reviews(filter: DecisionFilter, isOpen: boolean): Promise<Review[]>;
  /**
   * Records one event. Resolves once it is committed.
   * @throws ServiceFault `overloaded` when too many wait, `store_unavailable` when the store cannot
   *   write.
   */
  note<Table extends keyof StoreEvents>(table: Table, event: StoreEvents[Table]): Promise<void>;
  /**
   * Days (`2026-01-31`, UTC) that a view has rows of, from that of `sinceMs` on, among those that
   * `tenant` may see.
   */
  exportDays(view: ExportView, sinceMs: number, tenant?: string): Promise<string[]>;
  /**
   * One day of a view, not before `sinceMs` (epoch ms), of the rows that `tenant` may see, as a
   * Parquet file.
   */
  exportDay(view: ExportView, day: string, sinceMs: number, tenant?: string): Promise<Uint8Array>;
  /** Sends the store the durable position; it applies the journal up to there in its own time. */
  notify(position: number): void;
  /** Resolves once everything up to `position` is applied and committed. */
  appliedUpTo(position: number): Promise<void>;
  close(): Promise<void>;
}
