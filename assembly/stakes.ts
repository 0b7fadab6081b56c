// Stakes that a leg's decision holds for: the largest that connect as they are, and the largest with
// the decision given (scoring 4), and between which stakes the probability is the same. Closed forms
// of the cost curves; iterated where the probability itself rises with the stakes.
import { word } from "./config.ts";
import { stakesBound } from "./decision.ts";
import { DECISION_CONNECT, DECISION_REFUSE, DECISION_VERIFY } from "./codes.ts";
import {
  FEATURE_STAKES_NOVELTY,
  FEATURE_STAKES_UNTESTED,
  LEG_ETA,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_PESSIMISTIC,
  LEG_PROVEN,
  LEG_SD,
  LEG_STAKES_CLEAR,
  LEG_STAKES_FROM,
  LEG_STAKES_MAX,
  LEG_STAKES_TO,
  MODEL_WEIGHTS,
  WORD_CAUTION,
  WORD_STAKES_FREE,
  WORD_STAKES_REACH,
} from "./layout.ts";
import { sigmoid } from "./numeric.ts";

const NOVELTY_STEPS: i32 = 3;
const STAKES_CEILING: f64 = 1e15;

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
 * LEG_STAKES_FROM and LEG_STAKES_TO: the stakes around the given ones at which nothing but the
 * decision can differ, because they add the same to the log-odds.
 */
function writeSpan(config: u32, model: u32, stakes: f64, out: u32): void {
  const weights = model + MODEL_WEIGHTS;
  const proven = get(out, LEG_PROVEN);
  const isNovel = word(config, weights + FEATURE_STAKES_NOVELTY) > 0.0;
  const isTested = word(config, weights + FEATURE_STAKES_UNTESTED) == 0.0;
  let from: f64 = 0.0;
  let to: f64 = Infinity;
  if (isNovel && stakes > proven) {
    from = to = stakes;
  } else if (isNovel) {
    to = proven;
  } else if (!isTested && get(out, LEG_MEAN) < 0.0) {
    const border = max(proven, stakesReach(config, proven));
    // The next number above the border: a number's bits count up with it.
    if (stakes > border) from = reinterpret<f64>(reinterpret<u64>(border) + 1);
    else to = border;
  }
  put(out, LEG_STAKES_FROM, from);
  put(out, LEG_STAKES_TO, to);
}

/**
 * LEG_STAKES_CLEAR, and LEG_STAKES_MAX: the largest stakes with a decision no stricter, for one
 * that waits for a person the largest that would not, for a refusal none.
 */
export function writeStakes(
  config: u32,
  model: u32,
  decision: i32,
  stakes: f64,
  added: f64,
  out: u32,
): void {
  writeSpan(config, model, stakes, out);
  if (decision == DECISION_REFUSE) {
    put(out, LEG_STAKES_MAX, 0.0);
    put(out, LEG_STAKES_CLEAR, 0.0);
    return;
  }
  const clear = boundOf(config, model, DECISION_CONNECT, added, out);
  if (decision == DECISION_CONNECT) {
    put(out, LEG_STAKES_CLEAR, max(stakes, clear));
    put(out, LEG_STAKES_MAX, max(stakes, clear));
    return;
  }
  put(out, LEG_STAKES_CLEAR, clear);
  const open = boundOf(config, model, DECISION_VERIFY, added, out);
  put(out, LEG_STAKES_MAX, decision == DECISION_VERIFY ? max(stakes, open) : open);
}

/**
 * The bound of one decision. Where the record vouches for it, the closed form of its probability;
 * beyond that reach the probability of an untested agent counts, and the reach itself still holds.
 */
function boundOf(config: u32, model: u32, decision: i32, added: f64, out: u32): f64 {
  const weights = model + MODEL_WEIGHTS;
  const novelty = word(config, weights + FEATURE_STAKES_NOVELTY);
  const untested = word(config, weights + FEATURE_STAKES_UNTESTED);
  const cautious = get(out, LEG_ETA) + word(config, WORD_CAUTION) * get(out, LEG_SD) - added;
  const within = added == 0.0 ? get(out, LEG_PESSIMISTIC) : sigmoid(cautious);
  const proven = get(out, LEG_PROVEN);
  if (novelty > 0.0) {
    const far = untested * max(0.0, -get(out, LEG_MEAN));
    return noveltyBound(config, decision, novelty, cautious, within, far, out);
  }
  const bound = stakesBound(config, decision, within);
  const good = max(0.0, -get(out, LEG_MEAN));
  if (untested == 0.0 || good == 0.0) return bound;
  const reach = stakesReach(config, proven);
  if (bound <= reach) return bound;
  return max(reach, stakesBound(config, decision, sigmoid(cautious + untested * good)));
}

/**
 * Stakes bound when the probability itself rises with the stakes above the proven ones. The bound
 * as a function of assumed stakes falls, so that iterating it closes in from both sides and every
 * second value is a bound that holds: the third is returned. `far` is added beyond the reach.
 */
function noveltyBound(
  config: u32,
  decision: i32,
  weight: f64,
  cautious: f64,
  within: f64,
  far: f64,
  out: u32,
): f64 {
  const proven = get(out, LEG_PROVEN);
  const reach = stakesReach(config, proven);
  let bound = stakesBound(config, decision, within);
  if (bound <= proven) return bound;
  for (let step = 0; step < NOVELTY_STEPS; step++) {
    const assumed = max(proven, min(bound, STAKES_CEILING));
    let added = weight * Math.log((1.0 + assumed) / (1.0 + proven));
    if (assumed > reach) added += far;
    bound = stakesBound(config, decision, sigmoid(cautious + added));
  }
  return bound;
}
