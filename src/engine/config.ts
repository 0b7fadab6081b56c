// Scoring configuration: everything a fold or a score depends on besides the evidence. It is
// immutable and content-addressed (`c-` and 16 hex digits of the sha256 of its canonical JSON). The
// shipped one is data/config/default.json.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { formatCanonicalJson } from "../contract/canonical-json.ts";

/** One scorecard: log-odds of failure as a linear function of state and features. */
export interface ScoringModel {
  intercept: number;
  /** Weight of the base rate g. */
  base: number;
  /** Weight of the subject's filtered mean. */
  mean: number;
  /** Weight of the viewing party's severity; 0 for check and verify. */
  viewer: number;
  /**
   * Border of denial on the failure probability: few successes ever reach it. Above 1, or left out:
   * closed, and nothing is denied by probability.
   */
  deny_at?: number;
  /** Medians of the population that connects; points are counted against them. */
  mean_reference: number;
  sd_reference: number;
  /** By feature name, see FEATURES of the vocabulary. */
  weights: Record<string, number>;
  references: Record<string, number>;
}

export interface ScoringConfig {
  name: string;
  /**
   * Whether the service weighs reporters by credibility. It acts where standings are computed and
   * journaled, not in the fold: the fold reads only the journal.
   */
  credibility: boolean;
  base_rate: number;
  base_variance: number;
  base_tau_days: number;
  /** Days between updates of the base rate; 0: with every outcome (test vectors only). */
  base_period_days: number;
  /** Most log-odds that one period may move the base rate. */
  base_step: number;
  /** The same of all reporters together that first spoke fewer than `base_newcomer_days` ago. */
  base_newcomer_step?: number;
  base_newcomer_days?: number;
  subject_variance: number;
  subject_tau_days: number;
  reporter_variance: number;
  reporter_tau_days: number;
  half_life_long_days: number;
  half_life_short_days: number;
  half_life_stakes_days: number;
  /** By grade name, see GRADES. */
  grade_weights: number[];
  /** By signature kind, see SIGNATURES. */
  signature_weights: number[];
  stakes_unit: number;
  stakes_high: number;
  stakes_floor: number;
  /** Times the proven stakes that a record vouches for; beyond, it is untested. */
  stakes_reach?: number;
  /** Stakes that any record vouches for. */
  stakes_free?: number;
  /** Weight from which one outcome is news of an agent in full; a lighter one is in part. */
  heard_weight?: number;
  /** Days since a reporter's last success after which a failure that it reports counts in full. */
  isolated_days?: number;
  /** Failing share of recent outcomes up to which such a failure is isolated; at three times it none is. */
  isolated_share?: number;
  /** Weight, 0 to 1, of one full outcome in that share. */
  failing_gain?: number;
  /** Weight, 0 to 1, of one full outcome among the latest ones about an agent. */
  latest_gain?: number;
  /** The same among the latest ones that it reported. */
  viewer_gain?: number;
  credibility_min: number;
  untrusted_below: number;
  pair_cap: number;
  pool_cap: number;
  cluster_cap: number;
  /** The same for one API key that nobody vouches for, whichever reporters it names. */
  stranger_cap?: number;
  /** The same as pair_cap for what a first-party key reports. */
  first_party_pair_cap?: number;
  /** Failed texts of one agent that one tenant's word counts for, at most (assessments). */
  asker_cap?: number;
  pair_tau_days: number;
  failure_weight_min: number;
  score_factor: number;
  score_offset: number;
  caution: number;
  refuse_caution: number;
  /** Standard deviations added to the log-odds where stakes are decided. */
  stakes_caution?: number;
  /** Shares of failures that verifying and a person catch, 0 to 1. */
  verify_catch: number;
  human_catch: number;
  /** Least probability of failure that may deny, 0 to 1, whatever was fitted. */
  deny_floor?: number;
  tier_a: number;
  tier_b: number;
  tier_c: number;
  /** Share of the prior variance that outcomes must have resolved; below it a record is thin. */
  thin_below?: number;
  /** Outcomes that a record must count; with fewer it is thin. */
  thin_outcomes?: number;
  regime_momentum: number;
  shock_residual: number;
  shock_days: number;
  recent_tau_days: number;
  prior_weight: number;
  reason_points: number;
  check: ScoringModel;
  handshake: ScoringModel;
}

const DEFAULT_PATH = fileURLToPath(new URL("../../data/config/default.json", import.meta.url));

/** The configuration that the service ships with. */
export function loadDefaultConfig(): ScoringConfig {
  return JSON.parse(readFileSync(DEFAULT_PATH, "utf8")) as ScoringConfig;
}

/** sha256 of the canonical JSON: the identity of a config. */
export function computeConfigDigest(config: ScoringConfig): Buffer {
  return createHash("sha256").update(formatCanonicalJson(config)).digest();
}

/** Name of a config on the wire, from its digest. */
export function formatConfigVersion(digest: Uint8Array): string {
  return `c-${Buffer.from(digest).toString("hex", 0, 8)}`;
}
