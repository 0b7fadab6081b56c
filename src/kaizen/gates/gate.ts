// Promotion gate: its public thresholds, and its answer with every number behind it. The gates
// themselves are in loss.ts, safety.ts, slice-gate.ts, monotone.ts, breadth.ts and attacks/gate.ts;
// docs/decisions says where and why they differ from a plain cut.

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
  /** z that a structural change needs (one-sided 2 %) without a person's sign-off. */
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
  /** Failures foretold over failures seen, or the other way round. */
  slice_factor_max: 1.25,
  /** A smaller change of what is foretold adds no error of its own. */
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

export interface GateResult {
  /** `G1` to `G11` (kaizen 6.3). */
  id: string;
  name: string;
  passed: boolean;
  /** Passed, but a person should look. */
  isWarning?: boolean;
  /** Every number the verdict rests on. */
  numbers: Record<string, number>;
  sentence: string;
}

/** A number for a sentence: rounded, without trailing zeros. */
export function formatRounded(value: number, digits = 4): string {
  return String(Number(value.toFixed(digits)));
}
