// Answers of kaizen's routes, as far as its page reads them, and the words for their states.
export interface RunRow {
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
  readonly as_of?: string;
  readonly duration_ms?: number;
  readonly gates?: readonly Verdict[];
}

export interface Verdict {
  readonly side: Side;
  readonly id: string;
  readonly passed: boolean;
  readonly is_warning: boolean;
}

export type Side = "check" | "handshake";

export interface Watch {
  readonly at: string;
  readonly sides: readonly { side: Side; rollback_due: boolean; sentence: string }[];
}

export interface Status {
  readonly config_version: string;
  readonly promoted_by?: string;
  readonly promoted_at?: string;
  readonly watch?: Watch;
  readonly running?: { readonly run_id: string; readonly stage: string; readonly share: number };
  readonly cool_down_runs: number;
  readonly next_run_at?: string;
  readonly runs: readonly RunRow[];
}

export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly comparison: "at_least" | "above" | "at_most" | "within";
  readonly bound: number;
  readonly bound_high?: number;
  readonly is_within: boolean;
}

export interface Interval {
  readonly label: string;
  readonly low: number;
  readonly value: number;
  readonly high: number;
  readonly border: number;
}

export interface Gate {
  readonly id: string;
  readonly name: string;
  readonly question: string;
  readonly passed: boolean;
  readonly is_warning: boolean;
  readonly sentence: string;
  readonly measures: readonly Measure[];
  readonly intervals: readonly Interval[];
}

export interface Slice {
  readonly name: string;
  readonly rows: number;
  readonly z?: number;
  readonly loss_change?: number;
  readonly foretold?: number;
  readonly seen?: number;
  readonly champion_foretold?: number;
}

export interface Bin {
  readonly expected: number;
  readonly observed: number;
  readonly low: number;
  readonly high: number;
  readonly rows: number;
}

export interface Weight {
  readonly name: string;
  readonly champion: number;
  readonly challenger: number;
  readonly champion_points: number;
  readonly challenger_points: number;
}

export interface SideNumbers {
  readonly side: Side;
  readonly passed: boolean;
  readonly gates: readonly Gate[];
  readonly slices: readonly Slice[];
  readonly reliability?: { readonly champion: readonly Bin[]; readonly challenger: readonly Bin[] };
  readonly weights?: readonly Weight[];
}

/** Shares of the outcomes by bin of score. */
export interface Shares {
  readonly successes: readonly number[];
  readonly failures: readonly number[];
}

export interface Figures {
  readonly score_from: number;
  readonly score_step: number;
  readonly champion: Shares & Record<"log_loss" | "auc" | "calibration_error", number>;
  readonly challenger: Shares & Record<"log_loss" | "auc" | "calibration_error", number>;
}

export interface SideFindings {
  readonly side: Side;
  readonly passed: boolean;
  readonly reason: string;
  readonly rows: { readonly training: number; readonly holdout: number };
  readonly holdout_from_ms: number;
  readonly holdout_to_ms: number;
  readonly denial_border?: string;
  readonly figures?: Figures;
}

export interface Run extends RunRow {
  readonly findings?: { readonly sides: readonly SideFindings[] };
  readonly numbers?: { readonly sides: readonly SideNumbers[] };
  readonly watch?: Watch;
  readonly report?: { readonly url: string };
}

export const SIDES: Readonly<Record<Side, string>> = {
  check: "One agent (check, verify)",
  handshake: "Two agents (handshake)",
};

/** The state as a word and its colour. */
export function describeRunState({ state, rolled_back: back }: RunRow): readonly [string, string] {
  if (back !== undefined) return ["rolled back", "warn"];
  if (state === "dry_run") return ["dry run", ""];
  const tones = { running: "warn", kept: "", promoted: "allow", failed: "deny" };
  return [state, tones[state]];
}

/** Whether a person may ask for its promotion: the service decides. */
export function isCandidate(run: RunRow): boolean {
  return run.state === "dry_run" && run.challenger_version !== undefined && run.as_of === undefined;
}
