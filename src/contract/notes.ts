// Notes: events that are journaled for people to read, and that no score comes from. Each is a row of
// the store's view of the same name.

/** By view. Times are epoch ms. */
export interface NoteEvents {
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
  /** Changes of API keys: audit events of their own kind. */
  audit_events: {
    recorded_at: number;
    /** `api_key.created`, `api_key.changed`, `api_key.rotated`, `api_key.revoked`. */
    event: string;
    /** Tenant of the key. */
    tenant: string;
    /** Id of the API key that did it. */
    actor: string;
    /** As JSON; never a secret. */
    detail: unknown;
  };
  /** A policy that was tried on the outcomes of the journal. */
  backtests: {
    recorded_at: number;
    backtest_id: string;
    tenant: string;
    /** Id of the API key that asked. */
    key_id: string;
    /** The policy tried, and the one in force then. */
    policy_version: string;
    compared_with: string;
    /** Outcomes judged again, and of those the ones that verify would rule otherwise at L2. */
    decisions: number;
    changed: number;
    /** The answer without its curves. */
    report: unknown;
  };
}

export type NoteTable = keyof NoteEvents;

/** Rows of older versions are moved into the journal; `id` tells the old row, which then goes. */
export interface MigratedNote<Table extends NoteTable = NoteTable> {
  readonly table: Table;
  readonly event: NoteEvents[Table];
  readonly id: string;
}

/** Takes notes. Resolves with the position in the journal, once the note is durable. */
export interface NoteRecorder {
  /**
   * @throws ServiceFault `overloaded` when too many wait, `journal_unavailable` when the journal
   *   cannot take it.
   */
  recordNote<Table extends NoteTable>(table: Table, event: NoteEvents[Table]): Promise<number>;
}
