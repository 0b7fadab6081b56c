// The outcome store seen from outside: SQL for analysts over what the journal holds. Derived data:
// it may lag, it may be deleted, it is rebuilt from the journal. No score waits for it.

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

export interface Store {
  /**
   * Runs one read-only SELECT. Rejects with ServiceFault `query_rejected` or `store_unavailable`.
   */
  query(sql: string, limits: QueryLimits): Promise<QueryResult>;
  /** Tells the store how far the journal is durable; it applies up to there in its own time. */
  notify(position: number): void;
  /** Resolves once everything up to `position` is applied and committed. */
  appliedUpTo(position: number): Promise<void>;
  close(): Promise<void>;
}
