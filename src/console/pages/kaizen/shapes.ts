// Answers of kaizen's routes, as far as its page reads them, and the words for their states.
export interface ListedRun {
  readonly run_id: string;
  readonly kind?: "full" | "calibration";
  readonly state: "running" | "kept" | "promoted" | "dry_run" | "failed";
  readonly started_at: string;
  readonly started_by: string;
  readonly finished_at?: string;
  readonly champion_version: string;
  readonly challenger_version?: string;
  readonly rolled_back?: { readonly at: string; readonly reason: string };
  readonly promotion?: { readonly at: string; readonly by: string; readonly reason: string };
  readonly reason: string;
  readonly rows: number;
  readonly rows_of?: number;
  readonly evidence_kinds?: readonly string[];
  readonly rows_by_kind?: Readonly<Record<"reporter" | "bureau" | "import", number>>;
  readonly as_of?: string;
  readonly duration_ms?: number;
  readonly gates?: readonly ListedGateVerdict[];
}

export interface ListedGateVerdict {
  readonly side: RunSide;
  readonly id: string;
  readonly passed: boolean;
  readonly is_warning: boolean;
}

export type RunSide = "check" | "handshake";

export interface PromotionWatch {
  readonly at: string;
  readonly sides: readonly { side: RunSide; rollback_due: boolean; sentence: string }[];
}

export interface KaizenStatusReply {
  readonly config_version: string;
  readonly promoted_by?: string;
  readonly promoted_at?: string;
  readonly watch?: PromotionWatch;
  readonly running?: { readonly run_id: string; readonly stage: string; readonly share: number };
  readonly cool_down_runs: number;
  readonly next_run_at?: string;
  readonly runs: readonly ListedRun[];
}

export interface RunGateMeasure {
  readonly name: string;
  readonly value: number;
  readonly comparison: "at_least" | "above" | "at_most" | "within";
  readonly bound: number;
  readonly bound_high?: number;
  readonly is_within: boolean;
}

export interface RunGateInterval {
  readonly label: string;
  readonly low: number;
  readonly value: number;
  readonly high: number;
  readonly border: number;
}

export interface RunGate {
  readonly id: string;
  readonly name: string;
  readonly question: string;
  readonly passed: boolean;
  readonly is_warning: boolean;
  readonly sentence: string;
  readonly measures: readonly RunGateMeasure[];
  readonly intervals: readonly RunGateInterval[];
}

export interface RunSlice {
  readonly name: string;
  readonly rows: number;
  readonly z?: number;
  readonly loss_change?: number;
  readonly foretold?: number;
  readonly seen?: number;
  readonly champion_foretold?: number;
}

export interface RunReliabilityBin {
  readonly expected: number;
  readonly observed: number;
  readonly low: number;
  readonly high: number;
  readonly rows: number;
}

export interface RunWeight {
  readonly name: string;
  readonly champion: number;
  readonly challenger: number;
  readonly champion_points: number;
  readonly challenger_points: number;
}

export interface RunSideNumbers {
  readonly side: RunSide;
  readonly passed: boolean;
  readonly gates: readonly RunGate[];
  readonly slices: readonly RunSlice[];
  readonly reliability?: {
    readonly champion: readonly RunReliabilityBin[];
    readonly challenger: readonly RunReliabilityBin[];
  };
  readonly weights?: readonly RunWeight[];
}

/** Shares of the outcomes by bin of score. */
export interface ScoreBinShares {
  readonly successes: readonly number[];
  readonly failures: readonly number[];
}

export interface RunSideChartData {
  readonly score_from: number;
  readonly score_step: number;
  readonly champion: ScoreBinShares & Record<"log_loss" | "auc" | "calibration_error", number>;
  readonly challenger: ScoreBinShares & Record<"log_loss" | "auc" | "calibration_error", number>;
}

export interface RunSideFindings {
  readonly side: RunSide;
  readonly passed: boolean;
  readonly reason: string;
  readonly rows: { readonly training: number; readonly holdout: number };
  readonly holdout_from_ms: number;
  readonly holdout_to_ms: number;
  readonly denial_border?: string;
  readonly figures?: RunSideChartData;
}

export interface RunDetails extends ListedRun {
  readonly findings?: { readonly sides: readonly RunSideFindings[] };
  readonly numbers?: { readonly sides: readonly RunSideNumbers[] };
  readonly watch?: PromotionWatch;
  readonly report?: { readonly url: string };
}

export const RUN_SIDE_LABELS: Readonly<Record<RunSide, string>> = {
  check: "One agent (check, verify)",
  handshake: "Two agents (handshake)",
};

/** The state as a word and its colour. */
export function describeRunState({
  state,
  rolled_back: back,
}: ListedRun): readonly [string, string] {
  if (back !== undefined) return ["rolled back", "warn"];
  if (state === "dry_run") return ["dry run", ""];
  const tones = { running: "warn", kept: "", promoted: "allow", failed: "deny" };
  return [state, tones[state]];
}

/** Whether a person may ask for its promotion: the service decides. */
export function isCandidate(run: ListedRun): boolean {
  return run.state === "dry_run" && run.challenger_version !== undefined && run.as_of === undefined;
}
