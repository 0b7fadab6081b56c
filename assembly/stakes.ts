// Probability of failure as a function of the stakes: the parts of the log-odds that they add, and
// between which stakes the probability is the same. What is decided from it is policy
// (src/policy/stakes-decision.ts).
import { word } from "./config.ts";
import {
  FEATURE_STAKES_NOVELTY,
  FEATURE_STAKES_UNTESTED,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_PROVEN,
  LEG_SD,
  LEG_STAKES_FROM,
  LEG_STAKES_LOGIT,
  LEG_STAKES_NOVELTY,
  LEG_STAKES_REACH,
  LEG_STAKES_TO,
  LEG_STAKES_UNTESTED,
  MODEL_WEIGHTS,
  WORD_STAKES_CAUTION,
  WORD_STAKES_FREE,
  WORD_STAKES_REACH,
} from "./layout.ts";

function put(out: u32, index: u32, value: f64): void {
  store<f64>(out + (index << 3), value);
}

function get(out: u32, index: u32): f64 {
  return load<f64>(out + (index << 3));
}

/** Largest stakes that a record vouches for, from the largest it has proven. */
export function stakesReach(config: u32, proven: f64): f64 {
  return max(word(config, WORD_STAKES_FREE), word(config, WORD_STAKES_REACH) * proven);
}

/** Log-odds that the stakes themselves add: no part of what the agent is denied for. */
export function stakesPart(config: u32, model: u32, out: u32): f64 {
  const weights = model + MODEL_WEIGHTS;
  const novel = word(config, weights + FEATURE_STAKES_NOVELTY);
  const untested = word(config, weights + FEATURE_STAKES_UNTESTED);
  let part = novel * get(out, LEG_FEATURES + FEATURE_STAKES_NOVELTY);
  part += untested * get(out, LEG_FEATURES + FEATURE_STAKES_UNTESTED);
  return part;
}

/**
 * The cautious log-odds of failure as a function of the stakes: LEG_STAKES_LOGIT without them,
 * LEG_STAKES_NOVELTY times ln((1 + stakes) / (1 + proven)) above the proven ones, and
 * LEG_STAKES_UNTESTED beyond LEG_STAKES_REACH. `unstaked` are the expected log-odds without the stakes.
 */
export function writeStakes(config: u32, model: u32, stakes: f64, unstaked: f64, out: u32): void {
  const weights = model + MODEL_WEIGHTS;
  const novelty = word(config, weights + FEATURE_STAKES_NOVELTY);
  const untested = word(config, weights + FEATURE_STAKES_UNTESTED);
  const proven = get(out, LEG_PROVEN);
  const reach = max(proven, stakesReach(config, proven));
  const good = max(0.0, -get(out, LEG_MEAN));
  const doubt = word(config, WORD_STAKES_CAUTION) * get(out, LEG_SD);
  put(out, LEG_STAKES_LOGIT, unstaked + doubt);
  put(out, LEG_STAKES_NOVELTY, novelty);
  put(out, LEG_STAKES_UNTESTED, untested * good);
  put(out, LEG_STAKES_REACH, reach);
  let from: f64 = 0.0;
  let to: f64 = Infinity;
  if (novelty > 0.0 && stakes > proven) {
    from = to = stakes;
  } else if (novelty > 0.0) {
    to = proven;
  } else if (untested != 0.0 && good > 0.0) {
    // The next number above the border: a number's bits count up with it.
    if (stakes > reach) from = reinterpret<f64>(reinterpret<u64>(reach) + 1);
    else to = reach;
  }
  put(out, LEG_STAKES_FROM, from);
  put(out, LEG_STAKES_TO, to);
}
