// Messages between the service and the threads of kaizen and of credibility: plain data only.
import type { ScoringConfig } from "../../engine/config.ts";
import type { SeedRules } from "../credibility/seeds.ts";
import type { ReporterGraph } from "../credibility/reporter-graph.ts";
import type { StandingMetrics } from "../credibility/standings.ts";
import type { SideWatch, WatchedChanges } from "../monitor.ts";
import type { RunFindings, KaizenRunOptions } from "../run.ts";

/** Stages of the worker, by number. */
export const KAIZEN_STAGES = ["waiting", "replay", "attacks", "check", "handshake"] as const;

/** Shared with the service: [0] the stage, [1] its progress in thousandths. */
export interface KaizenWorkerData {
  progress: Int32Array;
}

export interface KaizenTask {
  journal: string;
  uptoLsn: number;
  champion: ScoringConfig;
  /** What came in later is ignored; absent: nothing is. */
  asOfMs?: number;
  options: Omit<KaizenRunOptions, "gapMs" | "isPilot">;
  /** Rows of evidence at most: of more outcomes a sample is taken. */
  rowsMax: number;
  /** Seeds of credibility, where it is wanted. */
  seeds?: SeedRules;
  /** What to monitor: the newest change of each scorecard that rests on one. */
  watch?: WatchedChanges;
  /** True: no challenge, only the comparison. */
  isWatchOnly?: boolean;
  /** True: intercept and slope alone; `options.testedToMs` is that of calibrations. */
  isCalibration?: boolean;
}

export interface KaizenResult {
  findings: RunFindings;
  rows: number;
  /** Signed outcomes of which the rows are a sample; absent where they are all. */
  rowsOf?: number;
  /** One entry for each scorecard that is monitored. */
  watch?: SideWatch[];
}

export interface CredibilityTask {
  journal: string;
  /** End of the journal to read; must be durable. */
  uptoLsn: number;
  rules: SeedRules;
  config: ScoringConfig;
}

export interface CredibilityResult {
  /** Journal payloads in order; none when nothing changed. */
  payloads: Uint8Array[];
  /** Absent when the rules match no agent in the history. */
  figures?: StandingMetrics;
  graph?: ReporterGraph;
}
