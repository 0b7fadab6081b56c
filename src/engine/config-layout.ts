// Packs a ScoringConfig into the fixed struct that the module reads (assembly/layout.ts, config
// slot) and checks the relations that the decision's monotonicity rests on.
import {
  CONFIG_DIGEST,
  CONFIG_WORD_COUNT,
  CONFIG_WORDS,
  MODEL_BASE,
  MODEL_DENY_AT,
  MODEL_INTERCEPT,
  MODEL_MEAN,
  MODEL_MEAN_REFERENCE,
  MODEL_REFERENCES,
  MODEL_SD_REFERENCE,
  MODEL_VIEWER,
  MODEL_WEIGHTS,
  WORD_GRADE_WEIGHTS,
  WORD_MODEL_CHECK,
  WORD_MODEL_HANDSHAKE,
  WORD_SIGNATURE_WEIGHTS,
} from "../../assembly/layout.ts";
import * as layout from "../../assembly/layout.ts";
import { THIN_BELOW_DEFAULT, THIN_OUTCOMES_DEFAULT } from "../contract/policy.ts";
import { DENY_FLOOR_DEFAULT, STAKES_CAUTION_DEFAULT } from "../contract/stakes-policy.ts";
import { FEATURES, FEATURE_SIGNS } from "../contract/vocabulary.ts";
import { computeConfigDigest } from "./config.ts";
import type { ScoringConfig, ScoringModel } from "./config.ts";

type ScalarMember = {
  [K in keyof ScoringConfig]-?: ScoringConfig[K] extends number ? K : never;
}[keyof ScoringConfig];

/** Scalar members and the word each is stored in. */
const WORD_BY_SCALAR: readonly (readonly [ScalarMember, number])[] = [
  ["base_rate", layout.WORD_BASE_RATE],
  ["base_variance", layout.WORD_BASE_VARIANCE],
  ["base_tau_days", layout.WORD_BASE_TAU],
  ["base_period_days", layout.WORD_BASE_PERIOD],
  ["base_step", layout.WORD_BASE_STEP],
  ["subject_variance", layout.WORD_SUBJECT_VARIANCE],
  ["subject_tau_days", layout.WORD_SUBJECT_TAU],
  ["reporter_variance", layout.WORD_REPORTER_VARIANCE],
  ["reporter_tau_days", layout.WORD_REPORTER_TAU],
  ["half_life_long_days", layout.WORD_LONG_HALF_LIFE],
  ["half_life_short_days", layout.WORD_SHORT_HALF_LIFE],
  ["half_life_stakes_days", layout.WORD_STAKES_HALF_LIFE],
  ["stakes_unit", layout.WORD_STAKES_UNIT],
  ["stakes_high", layout.WORD_STAKES_HIGH],
  ["stakes_floor", layout.WORD_STAKES_FLOOR],
  ["credibility_min", layout.WORD_CREDIBILITY_MIN],
  ["untrusted_below", layout.WORD_UNTRUSTED_BELOW],
  ["pair_cap", layout.WORD_PAIR_CAP],
  ["pool_cap", layout.WORD_POOL_CAP],
  ["cluster_cap", layout.WORD_CLUSTER_CAP],
  ["pair_tau_days", layout.WORD_PAIR_TAU],
  ["failure_weight_min", layout.WORD_FAILURE_WEIGHT_MIN],
  ["score_factor", layout.WORD_FACTOR],
  ["score_offset", layout.WORD_OFFSET],
  ["caution", layout.WORD_CAUTION],
  ["refuse_caution", layout.WORD_REFUSE_CAUTION],
  ["verify_catch", layout.WORD_VERIFY_CATCH],
  ["human_catch", layout.WORD_HUMAN_CATCH],
  ["tier_a", layout.WORD_TIER_A],
  ["tier_b", layout.WORD_TIER_B],
  ["tier_c", layout.WORD_TIER_C],
  ["regime_momentum", layout.WORD_REGIME_MOMENTUM],
  ["shock_residual", layout.WORD_SHOCK_RESIDUAL],
  ["shock_days", layout.WORD_SHOCK_DAYS],
  ["recent_tau_days", layout.WORD_RECENT_TAU],
  ["prior_weight", layout.WORD_PRIOR_WEIGHT],
  ["reason_points", layout.WORD_REASON_POINTS],
];

/**
 * 10 points of score (0.173 of log-odds) at the largest variance that an agent can have, 4: no
 * stranger moves any agent by more. Of configs that name none.
 */
const STRANGER_CAP_DEFAULT = 0.04;
const FIRST_PARTY_PAIR_CAP_DEFAULT = 25;
const ASKER_CAP_DEFAULT = 12;
/** Log-odds a period and days, of configs that name none: 12 hours of newcomers move 3.5 points. */
const BASE_NEWCOMER_STEP_DEFAULT = 0.005;
const BASE_NEWCOMER_DAYS_DEFAULT = 8;
/** Weight of one full outcome among the latest ones of a subject, and of a viewer's reports. */
const LATEST_GAIN_DEFAULT = 1;
const VIEWER_GAIN_DEFAULT = 0.3;
/** Times the proven stakes that a record vouches for, and the stakes that any one does. */
const STAKES_REACH_DEFAULT = 10;
const STAKES_FREE_DEFAULT = 1;
/** Weight from which one outcome is news of an agent in full. */
const HEARD_WEIGHT_DEFAULT = 0.25;
const ISOLATED_DAYS_DEFAULT = 2;
const ISOLATED_SHARE_DEFAULT = 0.1;
const FAILING_GAIN_DEFAULT = 0.05;

/** A border that no probability reaches: configs from before it deny by rule alone. */
const UNREACHABLE_PROBABILITY = 2;

/** Members that the fold goes by, beside the weights of grades and signatures. */
const FOLD_MEMBERS: ReadonlySet<ScalarMember> = new Set([
  "base_rate",
  "base_variance",
  "base_tau_days",
  "base_period_days",
  "base_step",
  "subject_variance",
  "subject_tau_days",
  "reporter_variance",
  "reporter_tau_days",
  "half_life_long_days",
  "half_life_short_days",
  "half_life_stakes_days",
  "stakes_unit",
  "stakes_high",
  "stakes_floor",
  "credibility_min",
  "untrusted_below",
  "pair_cap",
  "pool_cap",
  "cluster_cap",
  "pair_tau_days",
  "failure_weight_min",
  "shock_residual",
]);

/** @throws RangeError naming the member when a config would break an invariant of the engine. */
export function assertConfig(config: ScoringConfig): void {
  for (const [name] of WORD_BY_SCALAR) {
    if (!Number.isFinite(config[name])) throw new RangeError(`config member ${name} is not finite`);
  }
  const positive = ["subject_variance", "reporter_variance", "stakes_unit", "stakes_high"];
  for (const name of [...positive, "verify_catch", "pair_cap", "score_factor"] as ScalarMember[]) {
    if (!(config[name] > 0)) throw new RangeError(`config member ${name} must be positive`);
  }
  // A person must catch more than verifying does, or nothing would be asked of one (scoring 4).
  if (!(config.human_catch > config.verify_catch)) throw new RangeError("human_catch is too low");
  if (!(config.human_catch <= 1)) throw new RangeError("human_catch is a share from 0 to 1");
  if (!((config.stakes_caution ?? STAKES_CAUTION_DEFAULT) >= 0)) {
    throw new RangeError("stakes_caution must not be negative");
  }
  // Strangers share one cap only while their word counts less than where strangers end.
  if (!(config.untrusted_below > config.credibility_min)) {
    throw new RangeError("untrusted_below must be above credibility_min");
  }
  if (config.grade_weights.length !== 5) throw new RangeError("grade_weights needs 5 entries");
  if (config.signature_weights.length !== 3) {
    throw new RangeError("signature_weights needs 3 entries");
  }
  const thin = config.thin_below ?? THIN_BELOW_DEFAULT;
  if (!(thin >= 0 && thin < 1)) throw new RangeError("thin_below is a share from 0 to 1");
  if (!((config.asker_cap ?? ASKER_CAP_DEFAULT) > 0))
    throw new RangeError("asker_cap must be positive");
  if (!((config.isolated_days ?? ISOLATED_DAYS_DEFAULT) > 0))
    throw new RangeError("isolated_days must be positive");
  if (!((config.isolated_share ?? ISOLATED_SHARE_DEFAULT) > 0))
    throw new RangeError("isolated_share must be positive");
  if (!((config.failing_gain ?? FAILING_GAIN_DEFAULT) >= 0))
    throw new RangeError("failing_gain must not be negative");
  if (!((config.heard_weight ?? HEARD_WEIGHT_DEFAULT) > 0))
    throw new RangeError("heard_weight must be positive");
  for (const model of [config.check, config.handshake]) assertModel(model);
}

function assertModel(model: ScoringModel): void {
  if (model.deny_at !== undefined && !(model.deny_at > 0)) {
    throw new RangeError("deny_at is a probability, or above 1 for a closed border");
  }
  if (model.mean < 0 || model.viewer < 0) throw new RangeError("mean and viewer weights are >= 0");
  if ((model.weights.stakes_untested ?? 0) > model.mean) {
    // A good record would otherwise be worse than none, and a success would cost points.
    throw new RangeError("stakes_untested must not exceed the weight of the mean");
  }
  for (let j = 0; j < FEATURES.length; j++) {
    const weight = model.weights[FEATURES[j]!] ?? 0;
    if (!Number.isFinite(weight) || weight * FEATURE_SIGNS[j]! < 0) {
      throw new RangeError(`weight of ${FEATURES[j]} has the wrong sign`);
    }
  }
}

function packModel(words: Float64Array, base: number, model: ScoringModel): void {
  words[base + MODEL_INTERCEPT] = model.intercept;
  words[base + MODEL_BASE] = model.base;
  words[base + MODEL_MEAN] = model.mean;
  words[base + MODEL_VIEWER] = model.viewer;
  words[base + MODEL_DENY_AT] = model.deny_at ?? UNREACHABLE_PROBABILITY;
  words[base + MODEL_MEAN_REFERENCE] = model.mean_reference;
  words[base + MODEL_SD_REFERENCE] = model.sd_reference;
  FEATURES.forEach((name, j) => {
    words[base + MODEL_WEIGHTS + j] = model.weights[name] ?? 0;
    words[base + MODEL_REFERENCES + j] = model.references[name] ?? 0;
  });
}

/**
 * Fills the config slot at byte address `slot` of the memory (all but its number). Constants of the
 * fold come from `fold`: a table is built with one set of constants, whichever weights score it.
 */
export function packConfig(
  buffer: ArrayBufferLike,
  slot: number,
  config: ScoringConfig,
  fold: ScoringConfig = config,
): void {
  assertConfig(config);
  new Uint8Array(buffer, slot + CONFIG_DIGEST, 32).set(computeConfigDigest(config));
  const words = new Float64Array(buffer, slot + CONFIG_WORDS, CONFIG_WORD_COUNT);
  for (const [name, word] of WORD_BY_SCALAR) {
    words[word] = (FOLD_MEMBERS.has(name) ? fold : config)[name];
  }
  words[layout.WORD_STAKES_CAUTION] = config.stakes_caution ?? STAKES_CAUTION_DEFAULT;
  words[layout.WORD_DENY_FLOOR] = config.deny_floor ?? DENY_FLOOR_DEFAULT;
  words[layout.WORD_THIN_BELOW] = config.thin_below ?? THIN_BELOW_DEFAULT;
  words[layout.WORD_STRANGER_CAP] = fold.stranger_cap ?? STRANGER_CAP_DEFAULT;
  words[layout.WORD_FIRST_PARTY_PAIR_CAP] =
    fold.first_party_pair_cap ?? FIRST_PARTY_PAIR_CAP_DEFAULT;
  words[layout.WORD_ASKER_CAP] = fold.asker_cap ?? ASKER_CAP_DEFAULT;
  words[layout.WORD_BASE_NEWCOMER_STEP] = fold.base_newcomer_step ?? BASE_NEWCOMER_STEP_DEFAULT;
  words[layout.WORD_BASE_NEWCOMER_DAYS] = fold.base_newcomer_days ?? BASE_NEWCOMER_DAYS_DEFAULT;
  words[layout.WORD_LATEST_GAIN] = fold.latest_gain ?? LATEST_GAIN_DEFAULT;
  words[layout.WORD_VIEWER_GAIN] = fold.viewer_gain ?? VIEWER_GAIN_DEFAULT;
  words[layout.WORD_STAKES_REACH] = config.stakes_reach ?? STAKES_REACH_DEFAULT;
  words[layout.WORD_STAKES_FREE] = config.stakes_free ?? STAKES_FREE_DEFAULT;
  words[layout.WORD_ISOLATED_DAYS] = fold.isolated_days ?? ISOLATED_DAYS_DEFAULT;
  words[layout.WORD_ISOLATED_SHARE] = fold.isolated_share ?? ISOLATED_SHARE_DEFAULT;
  words[layout.WORD_FAILING_GAIN] = fold.failing_gain ?? FAILING_GAIN_DEFAULT;
  words[layout.WORD_HEARD_WEIGHT] = fold.heard_weight ?? HEARD_WEIGHT_DEFAULT;
  words[layout.WORD_PROVEN_FROM] = fold.stakes_free ?? STAKES_FREE_DEFAULT;
  words[layout.WORD_THIN_OUTCOMES] = config.thin_outcomes ?? THIN_OUTCOMES_DEFAULT;
  fold.grade_weights.forEach((weight, i) => (words[WORD_GRADE_WEIGHTS + i] = weight));
  fold.signature_weights.forEach((weight, i) => (words[WORD_SIGNATURE_WEIGHTS + i] = weight));
  packModel(words, WORD_MODEL_CHECK, config.check);
  packModel(words, WORD_MODEL_HANDSHAKE, config.handshake);
}
