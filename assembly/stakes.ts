// Stakes that a leg's decision holds for: the largest that connect as they are, and the largest with
// the decision given (scoring 4). Closed forms of the cost curves; iterated where the probability
// itself rises with the stakes.
import { word } from "./config.ts";
import { stakesBound } from "./decision.ts";
import {
  DECISION_CONNECT,
  DECISION_REFUSE,
  DECISION_VERIFY,
  FEATURE_STAKES_NOVELTY,
  LEG_ETA,
  LEG_FEATURES,
  LEG_PESSIMISTIC,
  LEG_PROVEN,
  LEG_SD,
  LEG_STAKES_CLEAR,
  LEG_STAKES_MAX,
  WORD_CAUTION,
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

/**
 * LEG_STAKES_CLEAR, and LEG_STAKES_MAX: the largest stakes with a decision no stricter, for one
 * that waits for a person the largest that would not, for a refusal none.
 */
export function writeStakes(config: u32, decision: i32, stakes: f64, novelty: f64, out: u32): void {
  if (decision == DECISION_REFUSE) {
    put(out, LEG_STAKES_MAX, 0.0);
    put(out, LEG_STAKES_CLEAR, 0.0);
    return;
  }
  const clear = boundOf(config, DECISION_CONNECT, novelty, out);
  if (decision == DECISION_CONNECT) {
    put(out, LEG_STAKES_CLEAR, max(stakes, clear));
    put(out, LEG_STAKES_MAX, max(stakes, clear));
    return;
  }
  put(out, LEG_STAKES_CLEAR, clear);
  const open = boundOf(config, DECISION_VERIFY, novelty, out);
  put(out, LEG_STAKES_MAX, decision == DECISION_VERIFY ? max(stakes, open) : open);
}

function boundOf(config: u32, decision: i32, novelty: f64, out: u32): f64 {
  if (novelty > 0.0) return noveltyBound(config, decision, novelty, out);
  return stakesBound(config, decision, get(out, LEG_PESSIMISTIC));
}

/**
 * Stakes bound when the probability itself rises with the stakes above the proven ones. The bound
 * as a function of assumed stakes falls, so that iterating it closes in from both sides and every
 * second value is a bound that holds: the third is returned.
 */
function noveltyBound(config: u32, decision: i32, weight: f64, out: u32): f64 {
  const proven = get(out, LEG_PROVEN);
  const cautious = get(out, LEG_ETA) + word(config, WORD_CAUTION) * get(out, LEG_SD);
  const flat = cautious - weight * get(out, LEG_FEATURES + FEATURE_STAKES_NOVELTY);
  let bound = stakesBound(config, decision, sigmoid(flat));
  if (bound <= proven) return bound;
  for (let step = 0; step < NOVELTY_STEPS; step++) {
    const assumed = max(proven, min(bound, STAKES_CEILING));
    const added = weight * Math.log((1.0 + assumed) / (1.0 + proven));
    bound = stakesBound(config, decision, sigmoid(flat + added));
  }
  return bound;
}
