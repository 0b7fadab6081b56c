// Weight of one outcome before it is folded: its stakes, its reporter's standing, and the caps on
// the influence of one reporter, one stranger, all of them or one cluster on a subject (scoring 2.2).
import { word } from "./config.ts";
import {
  FLAG_CREDIBILITY,
  FLAG_SIGNS,
  HEADER_BASE,
  HEADER_STAKES_HIGH,
  HEADER_STANDINGS,
  PAIR_FAILURE,
  PAIR_SUCCESS,
  POOL_CLUSTER_BIT,
  POOL_UNTRUSTED,
  ROW_CLUSTER,
  ROW_CREDIBILITY,
  ROW_FAILING,
  ROW_FLAGS,
  SOURCE_STRANGER_BIT,
  WORD_CLUSTER_CAP,
  WORD_CREDIBILITY_MIN,
  WORD_FIRST_PARTY_PAIR_CAP,
  WORD_ISOLATED_DAYS,
  WORD_ISOLATED_SHARE,
  WORD_PAIR_CAP,
  WORD_PAIR_TAU,
  WORD_POOL_CAP,
  WORD_STAKES_FLOOR,
  WORD_STAKES_HIGH,
  WORD_STAKES_UNIT,
  WORD_STRANGER_CAP,
  WORD_SUBJECT_TAU,
  WORD_UNTRUSTED_BELOW,
} from "./layout.ts";
import { findOrAddPair, hasMass, pairMass, setPairMass } from "./pairs.ts";
import { rowAddress } from "./table.ts";
import { noteRoom, shareRoom } from "./reporter-concentration.ts";

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

// Masses that the outcome weighed last is to add, of one sign and time: of its pair, the pool and
// the cluster. Kept apart until `bookMasses`, which may leave some of it out.
let bookedCell: u32 = 0;
let bookedAt: u32 = 0;
let bookedCount: i32 = 0;
let entry0: u32 = 0;
let entry1: u32 = 0;
let entry2: u32 = 0;
let mass0: f64 = 0.0;
let mass1: f64 = 0.0;
let mass2: f64 = 0.0;
let room0: f64 = 0.0;
let room1: f64 = 0.0;
let room2: f64 = 0.0;

function beginMasses(cell: u32, seconds: u32): void {
  bookedCell = cell;
  bookedAt = seconds;
  bookedCount = 0;
}

function noteMass(entry: u32, mass: f64, room: f64): void {
  if (bookedCount == 0) {
    entry0 = entry;
    mass0 = mass;
    room0 = room;
  } else if (bookedCount == 1) {
    entry1 = entry;
    mass1 = mass;
    room1 = room;
  } else {
    entry2 = entry;
    mass2 = mass;
    room2 = room;
  }
  bookedCount += 1;
}

/**
 * Writer: adds the masses of the outcome weighed last, or the share of them that an incident's cap
 * leaves, also to its weight as one of a row. No entry may have been added since that moves others:
 * room for all entries of an outcome is made before it is weighed.
 */
export function bookMasses(share: f64): void {
  if (bookedCount > 0) setPairMass(entry0, bookedCell, mass0 + room0 * share, bookedAt);
  if (bookedCount > 1) setPairMass(entry1, bookedCell, mass1 + room1 * share, bookedAt);
  if (bookedCount > 2) setPairMass(entry2, bookedCell, mass2 + room2 * share, bookedAt);
  spoken *= share;
  shareWeight *= share;
  shareRoom(share);
}

/**
 * Applies credibility and the pair, pool and cluster caps; -1 when memory is full. `bookMasses`
 * books the result.
 */
export function capWeight(
  config: u32,
  base: f64,
  rho: f64,
  subject: u32,
  reporter: u32,
  cell: u32,
  seconds: u32,
  isFirstParty: bool,
  repeats: u32,
): f64 {
  const isOn = rho >= 0.0;
  beginMasses(cell, seconds);
  thinned = 1.0;
  const said = isOn ? base * rho : base;
  let weight = takePair(config, subject, reporter, cell, seconds, said, isFirstParty, repeats);
  unthinned = said;
  // What repetition leaves of it, for a streak: the operator's word is not thinned there by its mass.
  spoken = isFirstParty ? said : weight;
  shareWeight = isSameFailure ? 0.0 : said;
  if (isRepeat || (isOn && rho < word(config, WORD_UNTRUSTED_BELOW))) spoken = shareWeight = 0.0;
  if (isOn && weight > 0.0) {
    if (rho < word(config, WORD_UNTRUSTED_BELOW)) {
      weight = takePool(config, subject, POOL_UNTRUSTED, cell, seconds, weight, WORD_POOL_CAP);
      unthinned = weight;
    }
    const cluster = load<u32>(rowAddress(reporter), ROW_CLUSTER);
    if (cluster != 0 && weight > 0.0) {
      const source: u32 = POOL_CLUSTER_BIT | cluster;
      weight = takePool(config, subject, source, cell, seconds, weight, WORD_CLUSTER_CAP);
    }
  }
  return weight;
}

// Share of the last weight that its own sign's mass has left under a first-party cap.
let thinned: f64 = 1.0;

/**
 * The weight of the outcome weighed last as if its own sign had been rare so far: by it, not by the
 * weight, a failure is recent and stakes are proven. `weight` is what `capWeight` returned.
 */
export function freshWeight(weight: f64): f64 {
  return weight / thinned;
}

/**
 * What one reporter says twice within an hour, with no success between, may be one failure: the first
 * few repeats of an hour weigh a part each, and are none of a row.
 */
const REPEAT_SECONDS: f64 = 3600.0;
const REPEAT_PART: f64 = 0.25;
const REPEATS_MAX: u32 = 3;
// Of the outcome weighed last: whether it is such a second one.
let isRepeat: bool = false;

/** Whether the outcome weighed last was a repeat. */
export function wasRepeat(): bool {
  return isRepeat;
}

// Whether it is a failure after a failure of the same reporter, with no success between.
let isSameFailure: bool = false;

/** Compares an outcome with the failure that its reporter reported before it of the same subject. */
function noteRepeat(entry: u32, cell: u32, seconds: u32, repeats: u32): void {
  isRepeat = isSameFailure = false;
  if (cell != PAIR_FAILURE) return;
  const failure = load<u64>(entry + PAIR_FAILURE);
  const at = <u32>(failure >> 32);
  if (<u32>failure == 0 || <u32>(load<u64>(entry + PAIR_SUCCESS) >> 32) >= at) return;
  isSameFailure = true;
  if (repeats >= REPEATS_MAX) return;
  isRepeat = Math.abs(<f64>seconds - <f64>at) < REPEAT_SECONDS;
}

// Weight of the outcome weighed last, whatever its reporter has said of the subject before.
let unthinned: f64 = 0.0;

/**
 * Weight of the outcome weighed last in its hour, against which that hour's failures are measured:
 * as believed, and under the caps of strangers, but not thinned by what its reporter said before.
 */
export function hourWeight(): f64 {
  return unthinned;
}

// Weight of the last outcome as one of a row.
let spoken: f64 = 0.0;

/**
 * Weight of the outcome weighed last among the latest ones and in a run of failures. A gateway's
 * words count fully however often it has spoken, those of the unbelieved not at all.
 */
export function streakWeight(): f64 {
  return spoken;
}

// The same before its reporter's earlier outcomes thin it; 0 for a failure after that reporter's failure.
let shareWeight: f64 = 0.0;

/**
 * Weight of the outcome weighed last in the failing share of the recent ones. It is not thinned by its
 * reporter's earlier outcomes, which would hide a change that regular reporters see; of a reporter's
 * failures in a row only the first counts.
 */
export function failingShareWeight(): f64 {
  return shareWeight;
}

// Whether the stranger weighed last had said nothing of its subject before.
let isFirstWord: bool = false;

/** Whether the last `strangerWeight` was the first that its voice said of the subject. */
export function wasFirstWord(): bool {
  return isFirstWord;
}

/**
 * Weight of an outcome that only an API key answers for; -1 when memory is full. `bookMasses` books
 * it. Its cap fades as slowly as the subject's track, so that patience adds nothing: the track never
 * holds more of one stranger than the cap times its variance.
 */
export function strangerWeight(
  config: u32,
  base: f64,
  subject: u32,
  voice: u32,
  cell: u32,
  seconds: u32,
): f64 {
  const isOn = load<u32>(HEADER_BASE, HEADER_STANDINGS) != 0;
  spoken = shareWeight = 0.0;
  isRepeat = false;
  thinned = 1.0;
  beginMasses(cell, seconds);
  const weight = isOn ? base * word(config, WORD_CREDIBILITY_MIN) : base;
  const entry = findOrAddPair(subject, SOURCE_STRANGER_BIT | voice);
  if (entry == 0) return -1.0;
  const tau = word(config, WORD_SUBJECT_TAU);
  isFirstWord = !hasMass(entry);
  const mass = pairMass(entry, cell, seconds, tau);
  const room = roomUnder(word(config, WORD_STRANGER_CAP), mass, weight);
  noteMass(entry, mass, room);
  unthinned = room;
  if (!isOn || room <= 0.0) return room;
  unthinned = takePool(config, subject, POOL_UNTRUSTED, cell, seconds, room, WORD_POOL_CAP);
  return unthinned;
}

/** Weight left under a cap: the remaining share bounds a weight that is larger than the cap. */
export function roomUnder(cap: f64, mass: f64, weight: f64): f64 {
  return min(weight * max(0.0, 1.0 - mass / cap), max(0.0, cap - mass));
}

/**
 * The same under a first-party key: an ordinary reporter's room, and beyond it up to a larger cap as
 * thinly as the other sign already comes, so that a long record keeps its ratio of failures.
 */
function firstPartyRoom(config: u32, mass: f64, other: f64, weight: f64): f64 {
  const cap = word(config, WORD_FIRST_PARTY_PAIR_CAP);
  const ordinary = 1.0 - mass / word(config, WORD_PAIR_CAP);
  const open = max(ordinary, 1.0 - other / cap);
  const room = min(weight * max(0.0, min(1.0 - mass / cap, open)), max(0.0, cap - mass));
  if (room > 0.0) thinned = room / (weight * open);
  return room;
}

/** Takes a reporter's room under the pair cap and notes it for the concentration of the record. */
function takePair(
  config: u32,
  subject: u32,
  reporter: u32,
  cell: u32,
  seconds: u32,
  weight: f64,
  isFirstParty: bool,
  repeats: u32,
): f64 {
  const entry = findOrAddPair(subject, reporter);
  if (entry == 0) return -1.0;
  const tau = word(config, WORD_PAIR_TAU);
  const mass = pairMass(entry, cell, seconds, tau);
  noteRepeat(entry, cell, seconds, repeats);
  let said = isRepeat ? weight * REPEAT_PART : weight;
  // A gateway's cap keeps the ratio of its failures by itself.
  if (cell == PAIR_FAILURE && !isFirstParty) {
    said *= isolatedShare(config, rowAddress(subject), entry, seconds);
  }
  let room: f64;
  if (isFirstParty) {
    const other = cell == PAIR_SUCCESS ? PAIR_FAILURE : PAIR_SUCCESS;
    room = firstPartyRoom(config, mass, pairMass(entry, other, seconds, tau), said);
  } else room = roomUnder(word(config, WORD_PAIR_CAP), mass, said);
  noteRoom(config, subject, reporter, entry, cell, seconds, mass, room);
  noteMass(entry, mass, room);
  const first = room > 0.0 ? (min(1.0, mass + room) - min(1.0, mass)) / room : 0.0;
  lifting = isFirstParty ? max(first, 1.0 / word(config, WORD_PAIR_CAP)) : first;
  return room;
}

/**
 * Share, 0 to 1, of a failure that follows a success of the same reporter: what a further success would
 * count for, or the time since that success, whichever is more. Successes are thinned by the pair's mass
 * and rare failures are not, so that else a record of many outcomes by few reporters would come to show
 * one failure for each success. A second failure in a row, or one after days, counts in full, and so
 * does each where more of the recent outcomes failed than an isolated failure explains.
 */
function isolatedShare(config: u32, row: u32, entry: u32, seconds: u32): f64 {
  const successAt = <u32>(load<u64>(entry + PAIR_SUCCESS) >> 32);
  if (successAt == 0 || isSameFailure) return 1.0;
  const cap = word(config, WORD_PAIR_CAP);
  const success = pairMass(entry, PAIR_SUCCESS, seconds, word(config, WORD_PAIR_TAU));
  const since =
    Math.abs(<f64>seconds - <f64>successAt) / (86400.0 * word(config, WORD_ISOLATED_DAYS));
  const usual = word(config, WORD_ISOLATED_SHARE);
  const unusual = (failingShare(row) / usual - 1.0) / UNUSUAL_TIMES;
  return min(1.0, max(1.0 - success / cap, max(since, unusual)));
}

/** Beyond the isolated share by so many times it, no failure is isolated. */
const UNUSUAL_TIMES: f64 = 2.0;
/** ROW_FAILING of 1. */
export const FAILING_UNIT: f64 = 65535.0;

/** Failing share, 0 to 1, of the recent outcomes about a row, before repetition thins them. */
export function failingShare(row: u32): f64 {
  return <f64>load<u16>(row, ROW_FAILING) / FAILING_UNIT;
}

// Share of the last weight by which proven stakes may rise.
let lifting: f64 = 0.0;

/**
 * Share of the weight of the outcome weighed last by which it may lift proven stakes, 0 to 1: what lies
 * within the first unit of its voice's mass. A gateway's repeated word lifts on at the rate of the pair
 * cap: a bureau of one tenant has no other voice.
 */
export function liftingShare(): f64 {
  return lifting;
}

/** Takes room under the cap (a config word) of a pool; -1 when memory is full. */
function takePool(
  config: u32,
  subject: u32,
  source: u32,
  cell: u32,
  seconds: u32,
  weight: f64,
  cap: u32,
): f64 {
  const entry = findOrAddPair(subject, source);
  if (entry == 0) return -1.0;
  const mass = pairMass(entry, cell, seconds, word(config, WORD_PAIR_TAU));
  const room = roomUnder(word(config, cap), mass, weight);
  noteMass(entry, mass, room);
  return room;
}
