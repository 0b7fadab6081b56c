// Port of the outcome store: SQL over the journal's records.
// Derived data: it may lag, it may be deleted, it is rebuilt from the journal. No score waits for it.
import type { QueryParameter } from "../contract/schemas/service.ts";
import type { DecisionFilter, DecisionCounts } from "../contract/decisions.ts";
import type {
  AgentDay,
  AgentDaysFilter,
  AgentFilter,
  AgentPage,
  OutcomeFilter,
  RecordedOutcome,
} from "../contract/schemas/agents.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { SignedId, SignedRecords } from "../contract/signed-records.ts";
import type { UsageRow } from "../contract/usage.ts";
import type { ExportView, ExportDay } from "../contract/views.ts";

export interface QueryLimits {
  rowsMax: number;
  timeoutMs: number;
}

/** Form of an answer. */
export type QueryForm = "rows" | "parquet";

export interface QueryOptions {
  /** Views that the caller may not read; absent: none. */
  readonly withheld?: readonly string[] | undefined;
  /** Values of the statement's parameters, in their order; absent: it has none. */
  readonly params?: readonly QueryParameter[] | undefined;
  /** Rows by default. `parquet`: the file of them in `parquet` of the result. A stream has lines alone. */
  readonly form?: QueryForm | undefined;
  /** Longest work on a stream, in ms; absent: a minute, which is also the most. */
  readonly workMs?: number | undefined;
  /** Name by which `cancelQuery` ends the query; used by one query at a time. A stream has none. */
  readonly handle?: string | undefined;
}

/** State of the store that an answer shows. */
export interface SnapshotPosition {
  /** Position of the journal up to which its records are in the rows. */
  position: number;
  /** When the rows were read, epoch ms: decisions made before are among them. */
  timeMs: number;
}

/** Name and type as DuckDB prints them. */
export interface QueryColumn {
  name: string;
  type: string;
}

/** Rows are JSON-ready values. */
export interface QueryResult {
  columns: QueryColumn[];
  rows: unknown[][];
  /** The same rows as a Parquet file, with types of its own; then `rows` is empty. */
  parquet?: Uint8Array | undefined;
  /** True when rowsMax cut the answer. */
  isTruncated: boolean;
  elapsedMs: number;
  asOf: SnapshotPosition;
}

/** Rows of one query as lines of JSON objects, taken in parts. */
export interface StreamedRows {
  columns: QueryColumn[];
  asOf: SnapshotPosition;
  /**
   * The next whole lines, or undefined after the last.
   * @throws ServiceFault when the rest will not come.
   */
  next(): Promise<Uint8Array | undefined>;
  /** Ends the query; harmless after the last part. */
  cancel(): void;
}

export interface StoreDescription {
  views: { name: string; comment: string; columns: (QueryColumn & { comment: string })[] }[];
  /** IANA name of the zone of local times. */
  timeZone: string;
}

/** Events that other parts send to the store, by view. Times are epoch ms. */
export interface StoreEvents {
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

export interface ExportOptions {
  /** Rows of earlier times are left out where the view has days; epoch ms. */
  sinceMs: number;
  /** Whose rows; undefined for all. */
  tenant?: string | undefined;
  /** Recorded by default. */
  by?: ExportDay | undefined;
}

/** Answer of a read of the decision log. */
export interface DecisionPage {
  legs: ReplayableLeg[];
  /** False while decisions made before the read still wait to become rows. */
  isComplete: boolean;
  /** Whether decisions of the filter's time have no entry and are part of another's weight. */
  isSampled: boolean;
}

/** Days and tenant of which usage is asked. */
export interface UsageRange {
  /** First and last day, UTC, as `2026-01-31`. */
  from: string;
  to: string;
  /** Undefined for all. */
  tenant?: string | undefined;
  /** Only sums of each tenant, without days and keys. */
  isByTenant?: boolean;
  /** Rows of this meter are listed separately; all others are summed under an empty name. */
  meter: string;
  rowsMax: number;
}

/** A review: the decision, and a person's resolution of it. */
export type ReviewRow = Record<string, unknown>;

/** One question to the lists of agents and outcomes. */
export type AgentDirectoryRequest =
  | { list: "agents"; filter: AgentFilter }
  | { list: "outcomes"; filter: OutcomeFilter }
  | { list: "days"; filter: AgentDaysFilter };

/** The answer to each. */
export interface AgentDirectoryResults {
  /** Scores of a recent reading; they are refreshed in the background. */
  agents: AgentPage;
  outcomes: RecordedOutcome[];
  days: AgentDay[];
}

export type AgentDirectoryFilter<List extends AgentDirectoryRequest["list"]> = Extract<
  AgentDirectoryRequest,
  { list: List }
>["filter"];

/** Port of the lists. */
export interface AgentDirectory {
  /**
   * One page, or one agent's days.
   * @throws ServiceFault `overloaded` when too many reads wait, `store_unavailable` when the store
   *   cannot answer.
   */
  read<List extends AgentDirectoryRequest["list"]>(
    list: List,
    filter: AgentDirectoryFilter<List>,
  ): Promise<AgentDirectoryResults[List]>;
}

export interface Store {
  /**
   * Runs one read-only SELECT over the rows that `tenant` may see; over all without one. Does not
   * wait for the journal to be applied.
   * @throws ServiceFault `query_rejected` when the text is anything else, or takes too much time,
   *   memory or text in its answer; `overloaded` when too many reads wait; `rate_limited` when too
   *   many of the tenant's do, or one had to be stopped by force; `store_unavailable` when the store
   *   cannot answer; `insufficient_scope` when it reads a view of `withheld`.
   */
  query(
    sql: string,
    limits: QueryLimits,
    tenant?: string,
    options?: QueryOptions,
  ): Promise<QueryResult>;
  /**
   * Ends the query that has the handle: it rejects with `query_rejected`, whose error has code
   * `cancelled`. False when none has, and in a store without a process for callers' SQL.
   */
  cancelQuery(handle: string): Promise<boolean>;
  /**
   * Starts the same as a stream without a limit on rows, from one snapshot. The client's pace does
   * not hold up other queries.
   * @throws ServiceFault as `query`; `overloaded` when too many are open.
   */
  openStream(
    sql: string,
    tenant?: string,
    options?: Omit<QueryOptions, "handle" | "form">,
  ): Promise<StreamedRows>;
  /** Lists of agents and outcomes, and one agent's days. */
  readonly agentDirectory: AgentDirectory;
  /** All rows of a small query of our own, never of a caller's text: nothing limits it. */
  queryTrusted(sql: string): Promise<unknown[][]>;
  /** The documented views, with the meaning of every column. */
  describeViews(): Promise<StoreDescription>;
  /**
   * Records under a signed id, as far as the store has applied the journal.
   * @throws ServiceFault `overloaded` when too many look-ups wait, `store_unavailable` when the
   *   store cannot answer.
   */
  findSigned(id: SignedId): Promise<SignedRecords>;
  /** Logged decisions, newest first; those made before the call are among them (`decisionPage`). */
  listDecisions(filter: DecisionFilter): Promise<ReplayableLeg[]>;
  /**
   * The same, and whether they are all: after a flood of decisions older ones may still wait to
   * become rows, and the newest are read first.
   */
  readDecisionPage(filter: DecisionFilter): Promise<DecisionPage>;
  /** Counts of the newest of them by value and over time; `limit` does not matter. */
  countDecisions(filter: DecisionFilter): Promise<DecisionCounts>;
  /** Flagged decisions, newest first; `isOpen` leaves out those a person has resolved. */
  listReviews(filter: DecisionFilter, isOpen: boolean): Promise<ReviewRow[]>;
  /**
   * Records one state of a run. Resolves once it is committed.
   * @throws ServiceFault `overloaded` when too many wait, `store_unavailable` when the store cannot
   *   write.
   */
  recordRun(table: "kaizen_runs", event: StoreEvents["kaizen_runs"]): Promise<void>;
  /** Days (`2026-01-31`, UTC) that a view has rows of; none for a view that is exported whole. */
  listExportDays(view: ExportView, options: ExportOptions): Promise<string[]>;
  /** One day of a view as a Parquet file; without a day all of it. */
  exportParquet(
    view: ExportView,
    day: string | undefined,
    options: ExportOptions,
  ): Promise<Uint8Array>;
  /** Usage by key and day, as far as the store has applied the journal; at most `rowsMax` rows. */
  readUsage(range: UsageRange): Promise<UsageRow[]>;
  /** Sends the store the durable position; it applies the journal up to there in its own time. */
  announceDurablePosition(position: number): void;
  /**
   * Resolves once everything up to `position` is applied and committed.
   * @param waitMsMax longest wait; without it as long as it takes.
   * @throws ServiceFault `store_behind` when that is over, `overloaded` when too many wait,
   *   `store_unavailable` when the store ends.
   */
  waitUntilApplied(position: number, waitMsMax?: number): Promise<void>;
  close(): Promise<void>;
}
