// Ports of kaizen: training runs with promotion and rollback, policy back-tests, reporter credibility.
// Implemented in service/ over the worker pool, the data directory and the ledger's writer.
import type { EvidenceKind } from "../contract/vocabulary.ts";
import type { ScoringConfig } from "../engine/config.ts";
import type { RunNumbers } from "./report/numbers.ts";
import type { RunFindings } from "./run.ts";
import type { ScorecardSide } from "./model/scorecard.ts";
import type { Policy } from "../contract/policy.ts";
import type { Backtest, BacktestList } from "../contract/schemas/backtest.ts";
import type { ConfigPeriod } from "./replay/daily-replay.ts";
import type { ReporterGraph } from "./credibility/reporter-graph.ts";
import type { StandingMetrics } from "./credibility/standings.ts";

/** A full re-fit, or a start-up calibration of intercept and slope alone. */
export const RUN_KINDS = ["full", "calibration"] as const;
export type RunKind = (typeof RUN_KINDS)[number];

export interface RunRequest {
  /** Full by default. */
  kind?: RunKind;
  isDryRun: boolean;
  /** Days of newest evidence to test on, 1 to 365; at most 60 by default. */
  holdoutDays?: number;
  /** True: a person agrees to a structural change beforehand. */
  isSignedOff: boolean;
  /**
   * Runs as it would have at this time, epoch ms: on the evidence and against the weights of then.
   * Changes nothing, whatever it finds: what it would promote has been overtaken.
   */
  asOfMs?: number;
  /** `schedule`, or the caller's name. */
  startedBy: string;
}

export const RUN_STATES = ["running", "kept", "promoted", "dry_run", "failed"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** A stored run with everything it rests on. */
export interface RunRecord {
  run_id: string;
  /** Absent in runs of older releases: full. */
  kind?: RunKind;
  state: RunState;
  started_at: string;
  started_by: string;
  finished_at?: string;
  /** Version of the champion that was challenged. */
  champion_version: string;
  /** Version of the config that was promoted, or would have been. */
  challenger_version?: string;
  /** Set when the promotion was rolled back; `at` in RFC 3339. */
  rolled_back?: { at: string; reason: string };
  /** Set when a person promoted the dry run: when, by which key, and why. */
  promotion?: { at: string; by: string; reason: string };
  reason: string;
  /** Rows of evidence. */
  rows: number;
  /** Outcomes of which the rows are a random sample; absent where they are all. */
  rows_of?: number;
  /** Kinds that taught and tested; absent in runs of older releases: all. */
  evidence_kinds?: EvidenceKind[];
  /** The rows by who signed; absent in runs of older releases. */
  rows_by_kind?: Record<EvidenceKind, number>;
  /** Position of the journal up to which the evidence was read. */
  position: number;
  /** Set for a run on the evidence of an earlier time: nothing that came in later is in it. */
  as_of?: string;
  duration_ms?: number;
  findings?: RunFindings;
  /** Newest comparison of the promoted weights with those they replaced, on later outcomes. */
  watch?: WatchRecord;
}

/** A run in a list: of its gates the verdicts alone, without figures. */
export type RunSummary = Omit<RunRecord, "findings" | "watch"> & { gates?: GateVerdict[] };

/** Verdict of a gate on the new weights of one scorecard. */
export interface GateVerdict {
  side: ScorecardSide;
  id: string;
  passed: boolean;
  /** Passed, but a person should look. */
  is_warning: boolean;
}

/** Newest comparison of a promotion with the weights it replaced, on live outcomes. */
export interface WatchRecord {
  at: string;
  /** One entry for each scorecard that the promotion changed. */
  sides: {
    side: ScorecardSide;
    rollback_due: boolean;
    numbers: Record<string, number>;
    sentence: string;
  }[];
}

export interface KaizenStatus {
  config_version: string;
  /** Absent when the shipped config is live. */
  promoted_by?: string;
  promoted_at?: string;
  /** Newest comparison of each scorecard with what its newest change replaced; absent before the first. */
  watch?: WatchRecord;
  running?: { run_id: string; stage: string; share: number };
  cool_down_runs: number;
  next_run_at?: string;
}

/** A config that is or was live. */
export interface ConfigSummary {
  version: string;
  /** Null where its file is missing or was changed. */
  name: string | null;
  digest: string | null;
  in_force: boolean;
  /** The one of this release. */
  shipped: boolean;
  on_file: boolean;
  /** Its newest promotion; null for a config that no run made live. */
  from_run: string | null;
  kind: RunKind | null;
  parent: string | null;
  promoted_at: string | null;
  rolled_back: { at: string; reason: string } | null;
}

/** A member of a config that another has otherwise; null where one of them lacks it. */
export interface ConfigDifference {
  pointer: string;
  from: unknown;
  to: unknown;
}

export interface ConfigDetail extends ConfigSummary {
  config: ScoringConfig;
  /** Version that the differences start from. */
  against: string | null;
  differences: ConfigDifference[];
}

export interface ConfigHistory {
  /** Configs by the time from which each was live, oldest first; those not on file are left out. */
  periods(): ConfigPeriod[];
  /** Those that are or were live: the live one first, then the newest. */
  list(): ConfigSummary[];
  /**
   * One of them (`active`: the live one), with what differs from another; undefined when either is not
   * on file.
   */
  find(version: string, against?: string): ConfigDetail | undefined;
}

export interface Kaizen {
  readonly configs: ConfigHistory;
  /**
   * Starts a run on a thread of its own; undefined when one is running. `done` never rejects: a
   * failed run resolves with state `failed` and its reason, and the champion stays.
   * @throws ServiceFault `invalid_request` when `asOfMs` is in the future.
   */
  start(request: RunRequest): { id: string; done: Promise<RunRecord> } | undefined;
  /** The live config, the run under way with its stage, and the next scheduled run. */
  status(): KaizenStatus;
  /** Runs, newest first. */
  runs(): RunSummary[];
  /** The whole record of a run; undefined when the id is unknown. */
  find(id: string): RunRecord | undefined;
  /** The numbers that the run rests on, for programs that draw; undefined before its end. */
  numbers(run: RunRecord): RunNumbers | undefined;
  /** The run as a self-contained HTML page; undefined when the id is unknown. */
  report(id: string): string | undefined;
  /**
   * Makes the weights live that a finished dry run has tested; undefined when the id is unknown. `by`
   * and `reason` are kept with the promotion. Rejects with the error of the disk or the engine; the
   * config is then as it was.
   * @throws ServiceFault `run_not_promotable`, or `champion_changed` when others are live by now.
   */
  promote(id: string, order: { by: string; reason: string }): Promise<RunRecord | undefined>;
  /**
   * Restores the config before the newest promotion and installs it; undefined when there is none.
   * Promotions pause for some runs afterwards (`cool_down_runs`). Rejects with the error of the
   * disk or the engine; the config is then as it was.
   */
  rollback(reason: string): Promise<{ config_version: string; run_id: string } | undefined>;
}

export interface BacktestStartOptions {
  /** Whose live policy. */
  tenant: string;
  /** The policy to try; left out: the live one alone. */
  given?: Policy | undefined;
  /** Outcomes settled from here on, and before `toMs`, epoch ms. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  /** True: outcomes of unvouched keys count, too. */
  includesUnvouched: boolean;
  /** Id of the API key. */
  startedBy: string;
}

export interface Backtests {
  /**
   * Starts a back-test on its own thread; undefined while another one runs. `done` never rejects:
   * one that broke resolves with state `failed` and its reason. Nothing in force changes.
   */
  start(order: BacktestStartOptions): { id: string; done: Promise<Backtest> } | undefined;
  /** The one in progress and those that ended, newest first. */
  list(): BacktestList;
  /** The whole of one; undefined when the id is unknown or too many have followed. */
  find(id: string): Backtest | undefined;
  /** The same as a self-contained HTML page. */
  page(id: string): string | undefined;
}

/** One rebuild of daily scores that has ended. */
export interface DailyScoreRebuild {
  at: string;
  /** Position of the journal up to which it was replayed. */
  position: number;
  /** Days put on record, and rows on them. */
  days: number;
  rows: number;
  /** As `2026-01-31`, UTC; null without a day. */
  first_day: string | null;
  last_day: string | null;
  /** Milliseconds. */
  duration_ms: number;
}

export interface DailyScoresStatus {
  is_running: boolean;
  /** Progress of the one that runs, 0 to 1. */
  share?: number;
  /** The last of this process. */
  last?: DailyScoreRebuild;
}

export interface DailyScores {
  /**
   * Replaces the daily scores of all days before today by those of a replay of the journal. A call during
   * a rebuild joins it.
   * @throws ServiceFault `store_unavailable` while the store itself is rebuilt; else the replay's error.
   */
  rebuild(): Promise<DailyScoreRebuild>;
  status(): DailyScoresStatus;
}

/** One batch and its findings. */
export interface CredibilityBatch {
  at: string;
  /** Position of the journal up to which the batch read. */
  position: number;
  /** Journal records written: 0 when nothing changed. */
  records: number;
  /** `written`, `nothing changed`, or the reason why nothing could be computed. */
  reason: string;
  /** Milliseconds. */
  duration_ms: number;
  /** Absent when nothing could be computed. */
  figures?: StandingMetrics;
  /** Closed groups that praise one another and fail outsiders, with or without seeds, and their members. */
  rings: number;
  ring_members: number;
}

export interface CredibilityStatus {
  /** Setting of the operator. */
  is_wanted: boolean;
  /** Whether the operator named any seeds. */
  has_seeds: boolean;
  /** Whether the fold applies standings now. */
  in_force: boolean;
  /** Whether a batch is in progress. */
  is_running: boolean;
  /** Last batch of this process. */
  last?: CredibilityBatch;
  /** What to look at, in a sentence; left out for nothing. */
  warning?: string;
}

/** Part of the last batch's graph of reporters; empty before the first. */
export interface CredibilityGraph extends ReporterGraph {
  /** Time of the batch, and the position of the journal up to which it read. */
  at?: string;
  position?: number;
}

export interface Credibility {
  /**
   * Computes standings from the whole history and writes the changes. A call during a batch joins
   * that batch. Rejects with the error of the batch.
   */
  refresh(): Promise<CredibilityBatch>;
  status(): CredibilityStatus;
  /**
   * At most `limit` reporters: an overview, or around one. Undefined when the last batch has not kept
   * that one.
   */
  graph(limit: number, around?: string): CredibilityGraph | undefined;
}
