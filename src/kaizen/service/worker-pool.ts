// Pool thread of one task: opened for it and closed after it, so that a gigabyte of evidence does
// not stay with the service.
import type { EvidenceKind } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { SeedRules } from "../credibility/seeds.ts";
import type { ReporterGraph } from "../credibility/reporter-graph.ts";
import type { StandingMetrics } from "../credibility/standings.ts";
import type { SideWatch, WatchedChanges } from "../monitor.ts";
import type { RunFindings, KaizenRunOptions } from "../run.ts";
import { openPool } from "../../platform/pool.ts";
import type { BacktestFindings } from "../../contract/schemas/backtest.ts";
import type { BacktestTask } from "../replay/backtest.ts";

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
  /** Kinds of evidence that teach and test. */
  evidenceKinds: readonly EvidenceKind[];
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
  /** Outcomes of which the rows are a sample; absent where they are all. */
  rowsOf?: number;
  /** The rows by who signed. */
  rowsByKind: Record<EvidenceKind, number>;
  /** One entry for each scorecard that is monitored. */
  watch?: SideWatch[];
}

export interface CredibilityTask {
  journal: string;
  /** End of the journal to read; must be durable. */
  uptoLsn: number;
  /** Undefined: rings are marked, all other standings stay. */
  rules: SeedRules | undefined;
  config: ScoringConfig;
  /** Whether credibility is switched off: marks of rings are taken back. */
  isOff: boolean;
}

export interface CredibilityResult {
  /** Journal payloads in order; none when nothing changed. */
  payloads: Uint8Array[];
  /** Absent without rules, or when they match no agent in the history. */
  figures?: StandingMetrics;
  graph?: ReporterGraph;
  rings: number;
  ring_members: number;
}

const WORKER = new URL("../../threads/kaizen/worker.ts", import.meta.url).href;
const BACKTEST_WORKER = new URL("../../threads/kaizen/backtest-worker.ts", import.meta.url).href;

/** Rejects with the worker's error, or at once on `signal`. */
async function runOnOwnThread<Task, Result>(
  filename: string,
  task: Task,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<Result> {
  const workerData: KaizenWorkerData = { progress };
  const pool = openPool({ name: "kaizen", filename, workerData, threads: 1 });
  try {
    return await pool.run<Task, Result>(task, [], signal);
  } finally {
    await pool.close();
  }
}

/**
 * Runs one task on a thread of its own. Rejects with the worker's error, or at once on `signal`.
 */
export function runKaizenOnPool(
  task: KaizenTask,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<KaizenResult> {
  return runOnOwnThread(WORKER, task, progress, signal);
}

/** The same for a back-test. `progress[1]` is in thousandths. */
export function runBacktestOnPool(
  task: BacktestTask,
  progress: Int32Array,
  signal: AbortSignal,
): Promise<BacktestFindings> {
  return runOnOwnThread(BACKTEST_WORKER, task, progress, signal);
}
