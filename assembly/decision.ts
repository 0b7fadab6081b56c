// Connect decision from a probability of failure and the stakes, by least expected cost (scoring
// 4). The two rising borders fall with the stakes, so more stakes are never less strict.
import { word } from "./config.ts";
import { DECISION_CONNECT, DECISION_ESCALATE, DECISION_REFUSE, DECISION_VERIFY } from "./codes.ts";
import {
  MODEL_DENY_AT,
  WORD_HUMAN_CATCH,
  WORD_HUMAN_COST,
  WORD_LOSS,
  WORD_MARGIN,
  WORD_VERIFY_CATCH,
  WORD_VERIFY_COST,
  WORD_VERIFY_COST_MAX,
  WORD_VERIFY_COST_RATE,
} from "./layout.ts";

/** Cost of verifying at given stakes. */
function verifyCost(config: u32, stakes: f64): f64 {
  const linear = word(config, WORD_VERIFY_COST) + word(config, WORD_VERIFY_COST_RATE) * stakes;
  return min(linear, word(config, WORD_VERIFY_COST_MAX));
}

/** pi1: the largest pessimistic probability that may connect unverified. */
function connectBorder(config: u32, stakes: f64): f64 {
  if (stakes <= 0.0) return 1.0;
  const saved = word(config, WORD_VERIFY_CATCH) * word(config, WORD_LOSS) * stakes;
  return min(1.0, verifyCost(config, stakes) / saved);
}

/** pi2: the largest pessimistic probability that may connect with verification. */
function verifyBorder(config: u32, stakes: f64, connect: f64): f64 {
  if (stakes <= 0.0) return 1.0;
  const gain = word(config, WORD_HUMAN_CATCH) - word(config, WORD_VERIFY_CATCH);
  const saved = gain * word(config, WORD_LOSS) * stakes;
  const border = (word(config, WORD_HUMAN_COST) - verifyCost(config, stakes)) / saved;
  return min(1.0, max(connect, border));
}

/**
 * The border of denial: pi3, or the fitted probability that few successes ever reach, whichever is
 * higher. Above it a record is held back; where even the optimistic side is above it, refused.
 */
export function denyBorder(config: u32, model: u32): f64 {
  const margin = word(config, WORD_MARGIN);
  const missed = (1.0 - word(config, WORD_HUMAN_CATCH)) * word(config, WORD_LOSS);
  return max(margin / (missed + margin), word(config, model + MODEL_DENY_AT));
}

/** The decision. Refuse is tested first, then connect, verify, escalate. */
export function decide(config: u32, isRefused: bool, pessimistic: f64, stakes: f64): i32 {
  if (isRefused) return DECISION_REFUSE;
  const connect = connectBorder(config, stakes);
  if (pessimistic <= connect) return DECISION_CONNECT;
  if (pessimistic <= verifyBorder(config, stakes, connect)) return DECISION_VERIFY;
  return DECISION_ESCALATE;
}

/**
 * Largest stakes at which a fixed pessimistic probability still gets `decision` or better, in
 * closed form: each border is a minimum or maximum of two curves linear in 1 / stakes.
 */
export function stakesBound(config: u32, decision: i32, pessimistic: f64): f64 {
  if (decision >= DECISION_ESCALATE || pessimistic <= 0.0) return Infinity;
  const cost = word(config, WORD_VERIFY_COST);
  const rate = word(config, WORD_VERIFY_COST_RATE);
  const costMax = word(config, WORD_VERIFY_COST_MAX);
  const loss = word(config, WORD_LOSS);
  const catches = word(config, WORD_VERIFY_CATCH);
  // pi1: p * catches * loss * V <= min(cost + rate V, costMax).
  const saved = pessimistic * catches * loss;
  const linear = saved > rate ? cost / (saved - rate) : Infinity;
  const connect = min(linear, costMax / saved);
  if (decision == DECISION_CONNECT) return connect;
  // pi2: p * gain * loss * V <= human - min(cost + rate V, costMax).
  const human = word(config, WORD_HUMAN_COST);
  const gained = pessimistic * (word(config, WORD_HUMAN_CATCH) - catches) * loss;
  const early = (human - cost) / (gained + rate);
  const late = (human - costMax) / gained;
  return max(connect, max(early, late));
}
