// Bounds beside which a gate's numbers are shown, from the thresholds that the run has on record. The
// gates judge (gates/*.ts), some by several of these at once: a number beyond its bound alone does not
// always fail its gate.
import type { GatePolicy, GateResult } from "../gates/gate.ts";

export interface GateBound {
  comparison: "at_least" | "above" | "at_most" | "within";
  bound: number;
  /** Upper end of `within`. */
  bound_high?: number;
}

type NamedGateBound = GateBound & { name: string };

const atLeast = (name: string, bound: number): NamedGateBound => ({
  name,
  comparison: "at_least",
  bound,
});
const above = (name: string, bound: number): NamedGateBound => ({
  name,
  comparison: "above",
  bound,
});
const atMost = (name: string, bound: number): NamedGateBound => ({
  name,
  comparison: "at_most",
  bound,
});
const within = (name: string, bound: number, high: number): NamedGateBound => ({
  name,
  comparison: "within",
  bound,
  bound_high: high,
});

type GateValues = Readonly<Record<string, number>>;
type GateBoundLister = (numbers: GateValues, policy: GatePolicy) => NamedGateBound[];

/** A bound that the gate has put beside its numbers: pilots and calibrations have their own. */
const readNumberOrNaN = (numbers: GateValues, name: string): number => numbers[name] ?? Number.NaN;

const BOUNDS_BY_GATE: Readonly<Record<string, GateBoundLister>> = {
  G1: (numbers, policy) => [
    atLeast("rows", numbers["rows_min"] ?? policy.rows_min),
    atLeast("failures", numbers["each_min"] ?? policy.failures_min),
    atLeast("successes", numbers["each_min"] ?? policy.failures_min),
    atLeast("effective_reporters", numbers["reporters_min"] ?? policy.effective_reporters_min),
    atLeast("effective_subjects", numbers["subjects_min"] ?? policy.effective_subjects_min),
  ],
  G2: (numbers, policy) => [
    above("z", readNumberOrNaN(numbers, "z_min")),
    atLeast("relative_gain", numbers["relative_gain_min"] ?? policy.relative_gain_min),
  ],
  G3: (_, policy) => [above("lower", -policy.auc_loss_max)],
  G4: (_, policy) => [
    atMost("ece", policy.ece_max),
    within("slope", policy.slope_min, policy.slope_max),
    within("intercept", -policy.intercept_max, policy.intercept_max),
    atMost("brier_z", 1.645),
  ],
  G5: (_, policy) => [
    atMost("upper_bound", policy.false_positive_max),
    above("mcnemar_p", policy.mcnemar_p_min),
  ],
  G6: (numbers, policy) => [
    atMost("wrong_signs", 0),
    atMost("failure_helps", 0),
    atMost("stakes_relax", 0),
    atMost("not_finite", 0),
    atMost(
      "largest_step",
      Math.max(policy.report_step_max, readNumberOrNaN(numbers, "champion_largest_step")),
    ),
  ],
  G7: (numbers, policy) => [
    atMost("population", Math.max(policy.drift_max, readNumberOrNaN(numbers, "noise"))),
  ],
  G8: (_, policy) => [
    within("median_shift", -policy.median_shift_max, policy.median_shift_max),
    atMost("tier_migration", policy.tier_migration_max),
    atLeast("rank_correlation", policy.rank_correlation_min),
  ],
  G9: () => [atMost("harms", 0)],
  G11: (numbers) => [
    above("others_z", readNumberOrNaN(numbers, "others_z_min")),
    atLeast("worst_community_relative_gain", readNumberOrNaN(numbers, "community_gain_min")),
  ],
};

/** The bounds of a gate; none for one that names its own in words alone (G10: by slice). */
export function listGateBounds({ id, numbers }: GateResult, policy: GatePolicy): NamedGateBound[] {
  return BOUNDS_BY_GATE[id]?.(numbers, policy) ?? [];
}
