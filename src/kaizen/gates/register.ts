// Register of the promotion gates, in the order of a report: question, bounds and intervals of each, and the
// public thresholds of all. The gates themselves are in loss.ts, safety.ts, monotone.ts, attacks/gate.ts,
// slice-gate.ts and breadth.ts; docs/decisions has where and why they differ from a plain cut.

/** Thresholds of the gates; every one is public and part of the record of a run. */
export const GATE_POLICY = {
  rows_min: 1000,
  /** Of failures and of successes. */
  failures_min: 100,
  /** Lower bound for a pilot deployment. */
  failures_min_pilot: 40,
  effective_reporters_min: 30,
  effective_subjects_min: 50,
  z_min: 1.645,
  /** From this many failures on, chance alone gets a smaller margin. */
  strict_failures: 1000,
  z_min_strict: 2.576,
  relative_gain_min: 0.005,
  auc_loss_max: 0.005,
  ece_max: 0.03,
  ece_increase_max: 0.005,
  slope_min: 0.8,
  slope_max: 1.25,
  intercept_max: 0.2,
  /**
   * Points by which one report may move a score, half the scale; or the champion's own step if
   * larger.
   */
  report_step_max: 275,
  false_positive_max: 0.001,
  mcnemar_p_min: 0.05,
  drift_warn: 0.1,
  drift_max: 0.25,
  /** z that a re-fit needs when the population has moved by more than `drift_max`. */
  z_min_drift: 1.96,
  median_shift_max: 15,
  tier_migration_max: 0.1,
  rank_correlation_min: 0.95,
  coefficient_step: 0.25,
  coefficient_floor: 0.1,
  /** z that a structural change needs (one-sided 2 %) without an operator's sign-off. */
  z_min_structural: 2.054,
  /** An answer is bought for sure only where its odds of failure are so far beyond the border. */
  attack_odds_margin: 1.25,
  /** More wrong answers to an attack than under the champion: in so large a share, beyond chance. */
  attack_excess_max: 0.05,
  attack_p_max: 0.05,
  /** The same where no chance is asked about: however few the victims. */
  attack_excess_large: 0.15,
  slice_rows_min: 200,
  slice_z_min: -2.5,
  slice_loss_increase_max: 0.02,
  /** Predicted failures divided by observed failures, or the inverse. */
  slice_factor_max: 1.25,
  /** A smaller change of the predicted share adds no error of its own. */
  slice_factor_added: 1.1,
  /** Mass of those who gained most in the lesson, and in the test, left out by G11. */
  teachers_share: 0.3,
  examiners_share: 0.4,
  others_z_min: 1.645,
  /** Communities that are left out one by one; a larger one is most of the deployment itself. */
  communities_max: 12,
  community_share_max: 0.2,
  /** Part of the whole gain that must remain without any one of them. */
  community_gain_min: 0.25,
} as const;

export type GatePolicy = { readonly [K in keyof typeof GATE_POLICY]: number };

/** A limit that a gate's number is shown with. A number beyond it does not always fail its gate. */
export interface GateBound {
  comparison: "at_least" | "above" | "at_most" | "within";
  bound: number;
  /** Upper end of `within`. */
  bound_high?: number;
}

/** One estimate with its 90 % interval and its limit. */
export interface IntervalMark {
  label: string;
  low: number;
  value: number;
  high: number;
  /** The limit: beyond it is bad. */
  border: number;
}

/** Reads a number of the gate's result; `fallback`, NaN by default, where the result lacks it. */
type GateNumberReader = (name: string, fallback?: number) => number;

type BoundRow = readonly [
  name: string,
  comparison: GateBound["comparison"],
  bound: number,
  high?: number,
];

interface GateDefinition {
  id: string;
  name: string;
  /** For a report's reader who has not read the code. */
  question: string;
  /** Data that the gate judges. */
  evidence: "holdout" | "random states" | "attack scripts";
  /** True: a start-up calibration must pass it, too. */
  isInCalibration?: boolean;
  /** Absent for a gate whose bounds are per slice (G10). Pilots and calibrations record their own bounds. */
  listBounds?: (read: GateNumberReader, policy: GatePolicy) => readonly BoundRow[];
  listIntervals?: (read: GateNumberReader) => readonly IntervalMark[];
}

const Z_90_PERCENT = 1.645;

const createIntervalMark = (
  label: string,
  value: number,
  error: number,
  border: number,
): IntervalMark => ({
  label,
  low: value - Z_90_PERCENT * error,
  value,
  high: value + Z_90_PERCENT * error,
  border,
});

export const GATES = [
  {
    id: "G1",
    name: "sample",
    question: "Is there enough evidence from enough independent voices?",
    evidence: "holdout",
    isInCalibration: true,
    listBounds: (read, policy) => [
      ["rows", "at_least", read("rows_min", policy.rows_min)],
      ["failures", "at_least", read("each_min", policy.failures_min)],
      ["successes", "at_least", read("each_min", policy.failures_min)],
      ["effective_reporters", "at_least", read("reporters_min", policy.effective_reporters_min)],
      ["effective_subjects", "at_least", read("subjects_min", policy.effective_subjects_min)],
    ],
  },
  {
    id: "G2",
    name: "superiority",
    question: "Do the new weights predict better, beyond chance?",
    evidence: "holdout",
    isInCalibration: true,
    listBounds: (read, policy) => [
      ["z", "above", read("z_min")],
      ["relative_gain", "at_least", read("relative_gain_min", policy.relative_gain_min)],
    ],
    listIntervals: (read) => {
      const share = 100 / read("champion_loss");
      const error = read("z") === 0 ? Number.NaN : (read("gain") / read("z")) * share;
      return [createIntervalMark("log-loss saved, %", read("gain") * share, error, 0)];
    },
  },
  {
    id: "G3",
    name: "ranking",
    question: "Do they still rank bad agents below good ones?",
    evidence: "holdout",
    isInCalibration: true,
    listBounds: (_, policy) => [["lower", "above", -policy.auc_loss_max]],
    listIntervals: (read) => [
      createIntervalMark("AUC gained", read("auc_difference"), read("standard_error"), 0),
    ],
  },
  {
    id: "G4",
    name: "calibration",
    question: "Does a probability mean what it says?",
    evidence: "holdout",
    listBounds: (_, policy) => [
      ["ece", "at_most", policy.ece_max],
      ["slope", "within", policy.slope_min, policy.slope_max],
      ["intercept", "within", -policy.intercept_max, policy.intercept_max],
      ["brier_z", "at_most", 1.645],
    ],
    listIntervals: (read) => [
      createIntervalMark("slope", read("slope"), read("slope_error"), 1),
      createIntervalMark("offset", read("intercept"), read("intercept_error"), 0),
    ],
  },
  {
    id: "G5",
    name: "false positives",
    question: "Are good agents refused?",
    evidence: "holdout",
    listBounds: (_, policy) => [
      ["upper_bound", "at_most", policy.false_positive_max],
      ["mcnemar_p", "above", policy.mcnemar_p_min],
    ],
    listIntervals: (read) => {
      const share = (100 * read("refused")) / read("successes");
      const high = 100 * read("upper_bound");
      return [{ label: "refused, %", low: 0, value: share, high, border: 0.1 }];
    },
  },
  {
    id: "G6",
    name: "monotone",
    question: "Does worse behaviour always score worse?",
    evidence: "random states",
    listBounds: (read, policy) => [
      ["wrong_signs", "at_most", 0],
      ["failure_helps", "at_most", 0],
      ["stakes_relax", "at_most", 0],
      ["not_finite", "at_most", 0],
      ["largest_step", "at_most", Math.max(policy.report_step_max, read("champion_largest_step"))],
    ],
  },
  {
    id: "G7",
    name: "drift",
    question: "Is the population still the one that was learned from?",
    evidence: "holdout",
    listBounds: (read, policy) => [
      ["population", "at_most", Math.max(policy.drift_max, read("noise"))],
    ],
  },
  {
    id: "G8",
    name: "stability",
    question: "Do agents wake up with a different score?",
    evidence: "holdout",
    listBounds: (_, policy) => [
      ["median_shift", "within", -policy.median_shift_max, policy.median_shift_max],
      ["tier_migration", "at_most", policy.tier_migration_max],
      ["rank_correlation", "at_least", policy.rank_correlation_min],
    ],
  },
  {
    id: "G9",
    name: "attacks",
    question: "Do attackers get more wrong decisions than before?",
    evidence: "attack scripts",
    listBounds: () => [["harms", "at_most", 0]],
  },
  {
    id: "G10",
    name: "slices",
    question:
      "Does any group of agents get clearly worse predictions, or a probability that is wrong for it?",
    evidence: "holdout",
  },
  {
    id: "G11",
    name: "breadth",
    question: "Do those agree who did not teach the change?",
    evidence: "holdout",
    listBounds: (read) => [
      ["others_z", "above", read("others_z_min")],
      ["worst_community_relative_gain", "at_least", read("community_gain_min")],
    ],
  },
] as const satisfies readonly GateDefinition[];

export type GateId = (typeof GATES)[number]["id"];

export interface GateResult {
  /** `G1` to `G11` (kaizen 6.3). */
  id: GateId;
  name: string;
  passed: boolean;
  /** Passed, but a reviewer should look. */
  isWarning?: boolean;
  /** Every number that the verdict rests on. */
  numbers: Record<string, number>;
  sentence: string;
}

/** Undefined for a gate of another release. */
const findGate = (id: string): GateDefinition | undefined => GATES.find((gate) => gate.id === id);

/** A gate's result under its registered name. */
export function createGateResult(id: GateId, result: Omit<GateResult, "id" | "name">): GateResult {
  return { id, name: findGate(id)!.name, ...result };
}

/** The results in the order of the register. */
export function sortGateResults(results: readonly GateResult[]): GateResult[] {
  const order = GATES.map(({ id }): string => id);
  return results.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
}

export function findGateQuestion({ id }: Pick<GateResult, "id">): string | undefined {
  return findGate(id)?.question;
}

const createNumberReader =
  ({ numbers }: GateResult): GateNumberReader =>
  (name, fallback = Number.NaN) =>
    numbers[name] ?? fallback;

/** Bounds of a gate, from the thresholds that the run has recorded. */
export function listGateBounds(
  gate: GateResult,
  policy: GatePolicy,
): (GateBound & { name: string })[] {
  const rows = findGate(gate.id)?.listBounds?.(createNumberReader(gate), policy) ?? [];
  return rows.map(([name, comparison, bound, high]) => ({
    name,
    comparison,
    bound,
    ...(high === undefined ? {} : { bound_high: high }),
  }));
}

/** Intervals of a gate; none for gates that count. */
export function listGateIntervals(gate: GateResult): IntervalMark[] {
  const marks = findGate(gate.id)?.listIntervals?.(createNumberReader(gate)) ?? [];
  return marks.filter((mark) => [mark.low, mark.value, mark.high].every(Number.isFinite));
}

/** Change of a log-loss for a sentence. @param relative gain as a share: positive where the loss falls. */
export function formatLossChange(relative: number): string {
  const percent = formatRounded(Math.abs(relative) * 100, 2);
  return `log-loss ${relative < 0 ? "rises" : "falls"} by ${percent} %`;
}

/** A number for a sentence: rounded, without trailing zeros. */
export function formatRounded(value: number, digits = 4): string {
  return String(Number(value.toFixed(digits)));
}
