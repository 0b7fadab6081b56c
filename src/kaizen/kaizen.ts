// Kaizen as the rest of the service sees it: start a run, look at runs, take a promotion back. The
// composition root implements it over the pool, the data directory and the ledger's writer.
import type { Findings, Side } from "./run.ts";

export interface RunRequest {
  isDryRun: boolean;
  /** Days of newest evidence to test on, 1 to 365. */
  holdoutDays?: number;
  /** A person agrees to a structural change beforehand. */
  isSignedOff: boolean;
  /** `schedule`, or who asked. */
  startedBy: string;
}

export const RUN_STATES = ["running", "kept", "promoted", "dry_run", "failed"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** A run as it is kept: everything it rests on. */
export interface RunRecord {
  run_id: string;
  state: RunState;
  started_at: string;
  started_by: string;
  finished_at?: string;
  /** Version of the champion that was challenged. */
  champion_version: string;
  /** Version of the config that was promoted, or would have been. */
  challenger_version?: string;
  /** Set when the promotion was taken back. */
  rolled_back?: { at: string; reason: string };
  reason: string;
  /** Rows of evidence, and the position of the journal they come from. */
  rows: number;
  position: number;
  duration_ms?: number;
  findings?: Findings;
  /** How the promoted weights have done since, against those they replaced. */
  watch?: WatchRecord;
}

/** A run in a list: no gates, no figures. */
export type RunSummary = Omit<RunRecord, "findings" | "watch">;

/** The newest look at a promotion: its weights against those they replaced, on live outcomes. */
export interface WatchRecord {
  at: string;
  /** By scorecard that the promotion changed. */
  sides: { side: Side; rollback_due: boolean; numbers: Record<string, number>; sentence: string }[];
}

export interface KaizenStatus {
  config_version: string;
  /** Absent when the shipped config is live. */
  promoted_by?: string;
  promoted_at?: string;
  /** Absent before the first look at the newest promotion. */
  watch?: WatchRecord;
  running?: { run_id: string; stage: string; share: number };
  cool_down_runs: number;
  next_run_at?: string;
}

export interface Kaizen {
  /** Starts a run; undefined when one is under way. `done` never rejects. */
  start(request: RunRequest): { id: string; done: Promise<RunRecord> } | undefined;
  status(): KaizenStatus;
  /** Newest first. */
  runs(): RunSummary[];
  find(id: string): RunRecord | undefined;
  /** The run as a self-contained HTML page. */
  report(id: string): string | undefined;
  /** Restores the config before the newest promotion; undefined when there is none. */
  rollback(reason: string): Promise<{ config_version: string; run_id: string } | undefined>;
}
