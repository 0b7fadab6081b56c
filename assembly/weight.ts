// Weight of one outcome before it is folded: its stakes, its reporter's standing, and the caps on
// the influence of one reporter, all strangers or one cluster on a subject (scoring 2.2).
import { word } from "./config.ts";
import {
  FLAG_CREDIBILITY,
  FLAG_SIGNS,
  HEADER_BASE,
  HEADER_STAKES_HIGH,
  HEADER_STANDINGS,
  POOL_CLUSTER_BIT,
  POOL_UNTRUSTED,
  ROW_CLUSTER,
  ROW_CREDIBILITY,
  ROW_FLAGS,
  WORD_CLUSTER_CAP,
  WORD_CREDIBILITY_MIN,
  WORD_PAIR_CAP,
  WORD_PAIR_TAU,
  WORD_POOL_CAP,
  WORD_STAKES_FLOOR,
  WORD_STAKES_HIGH,
  WORD_STAKES_UNIT,
  WORD_UNTRUSTED_BELOW,
} from "./layout.ts";
import { findOrAddPair, pairMass, setPairMass } from "./pairs.ts";
import { rowAddress } from "./table.ts";
import { noteRoom } from "./reporter-concentration.ts";

// The logarithm of the stakes that count fully; it changes rarely: with a config, a batch.
let highOf: f64 = 0.0;
let highLog: f64 = 0.0;

/** phi: concave in the stakes, so that one whale is bounded (scoring 2.2). */
export function concave(config: u32, stakes: f64): f64 {
  const unit = word(config, WORD_STAKES_UNIT);
  const learnt = load<f64>(HEADER_BASE, HEADER_STAKES_HIGH);
  const upper = learnt > 0.0 ? learnt : word(config, WORD_STAKES_HIGH);
  const high = 1.0 + upper / unit;
  if (high != highOf) {
    highLog = Math.log(high);
    highOf = high;
  }
  const value = Math.log(1.0 + max(0.0, stakes) / unit) / highLog;
  return min(1.0, max(word(config, WORD_STAKES_FLOOR), value));
}

/**
 * Weight of the reporter's word, 0 to 1; -1 until credibility has been computed once: every
 * reporter counts fully then and the pool is open. The standings in force were journaled, so they
 * are no matter of the config: the same log still gives the same table.
 */
export function credibilityOf(config: u32, reporter: u32, signature: i32): f64 {
  if (load<u32>(HEADER_BASE, HEADER_STANDINGS) == 0) return -1.0;
  const flags = load<u32>(reporter, ROW_FLAGS);
  // An unsigned outcome proves no author: an agent with a key is believed only when it signs.
  const isProved = signature != 0 || (flags & FLAG_SIGNS) == 0;
  const isKnown = isProved && (flags & FLAG_CREDIBILITY) != 0;
  const rho = isKnown ? <f64>load<f32>(reporter, ROW_CREDIBILITY) : 0.0;
  return min(1.0, max(word(config, WORD_CREDIBILITY_MIN), rho));
}

/** Applies credibility and the pair, pool and cluster caps; -1 when memory is full. */
export function capWeight(
  config: u32,
  base: f64,
  rho: f64,
  subject: u32,
  reporter: u32,
  cell: u32,
  seconds: u32,
): f64 {
  const isOn = rho >= 0.0;
  let weight = isOn ? base * rho : base;
  const cap = word(config, WORD_PAIR_CAP);
  weight = takeRoom(config, subject, reporter, cell, seconds, weight, cap, true);
  if (isOn && weight > 0.0) {
    if (rho < word(config, WORD_UNTRUSTED_BELOW)) {
      const cap = word(config, WORD_POOL_CAP);
      weight = takeRoom(config, subject, POOL_UNTRUSTED, cell, seconds, weight, cap, false);
    }
    const cluster = load<u32>(rowAddress(reporter), ROW_CLUSTER);
    if (cluster != 0 && weight > 0.0) {
      const source: u32 = POOL_CLUSTER_BIT | cluster;
      const cap = word(config, WORD_CLUSTER_CAP);
      weight = takeRoom(config, subject, source, cell, seconds, weight, cap, false);
    }
  }
  return weight;
}

/**
 * Shrinks a weight to the share left under `cap` and books it; -1 when memory is full. The amount
 * that a pair (`isPair`) gets, not a pool, enters the concentration of the record.
 */
function takeRoom(
  config: u32,
  subject: u32,
  source: u32,
  cell: u32,
  seconds: u32,
  weight: f64,
  cap: f64,
  isPair: bool,
): f64 {
  const entry = findOrAddPair(subject, source);
  if (entry == 0) return -1.0;
  const mass = pairMass(entry, cell, seconds, word(config, WORD_PAIR_TAU));
  // The remaining share bounds a weight that is itself larger than the cap.
  const room = min(weight * max(0.0, 1.0 - mass / cap), max(0.0, cap - mass));
  if (isPair) noteRoom(config, subject, source, entry, cell, seconds, mass, room);
  setPairMass(entry, cell, mass + room, seconds);
  return room;
}
