// Concentration of an agent's record: how much of it rests on few reporters, on one reporter's
// repetitions, and on agents that it praised itself. Kept as three shares in the upper bits of
// ROW_FLAGS: all masses fade alike, so that the shares hold until the next outcome, and a read has
// them with the flags. A reporter weighs as much as the pair cap left of its reports; the effects
// of pools and standings have codes of their own.
import {
  CONCENTRATION_MAX,
  CONCENTRATION_SHIFT,
  MUTUAL_MAX,
  MUTUAL_SHIFT,
  PAIR_FAILURE,
  PAIR_SUCCESS,
  ROW_FLAGS,
  ROW_OUTCOMES,
  ROW_REPORTED,
  ROW_SUBJECT_TIME,
  ROW_VOICES,
  SINGLE_MAX,
  SINGLE_SHIFT,
  WORD_PAIR_TAU,
} from "./layout.ts";
import { word } from "./config.ts";
import { DAY_MS, reversion } from "./numeric.ts";
import { findPair, isPraiseReturned, markPraiseReturned, pairMap, pairMass } from "./pairs.ts";
import { rowAddress } from "./table.ts";

/** Number of equally heavy reporters that make a record broad: two can err or agree alike. */
const VOICES_ENOUGH: u32 = 3;
/** A reporter that the agent praised too counts half: one relation, reported from both ends. */
const MUTUAL_PART: u32 = 2;
/** Entries of the pair map keep whole seconds: less than this is no time. */
const FADE_NONE_MS: f64 = 1000.0;

// Effect of the pair cap on the outcome being folded (only one ever is), as of its own time.
let pairBefore: f64 = 0.0;
let pairRoom: f64 = 0.0;
let pairAtMs: f64 = 0.0;
/** Mass of the other sign, as of the subject's newest outcome. */
let pairOther: f64 = 0.0;
let isReturned: bool = false;
/** Weight of the subject's praise in its reporter's record, once: when it is first returned. */
let praise: f64 = 0.0;

/** Remaining share of a mass between two times: exp(-days / tau), in less time than that takes. */
function fade(config: u32, fromMs: f64, toMs: f64): f64 {
  const elapsed = toMs - fromMs;
  if (elapsed < FADE_NONE_MS) return 1.0;
  const days = elapsed * (1.0 / DAY_MS);
  const tau = word(config, WORD_PAIR_TAU);
  if (days >= tau) return reversion(days, tau);
  // Of an eighth, and three times squared.
  const x = (days * 0.125) / tau;
  const high = 1.0 / 6.0 - x * (1.0 / 24.0) + x * x * (1.0 / 120.0);
  const eighth = 1.0 - x + x * x * (0.5 - x * high);
  const quarter = eighth * eighth;
  const half = quarter * quarter;
  return half * half;
}

/**
 * Notes that a pair whose mass of one sign was `before` is about to be given `room`, for
 * `bookVoice`: entries may move before that.
 */
export function noteRoom(
  config: u32,
  subject: u32,
  reporter: u32,
  entry: u32,
  cell: u32,
  seconds: u32,
  before: f64,
  room: f64,
): void {
  pairBefore = before;
  pairRoom = room;
  pairAtMs = <f64>max(seconds, <u32>(load<u64>(entry + cell) >> 32)) * 1000.0;
  pairOther = 0.0;
  isReturned = false;
  praise = 0.0;
  if (room <= 0.0) return;
  const other = cell == PAIR_SUCCESS ? PAIR_FAILURE : PAIR_SUCCESS;
  if (<u32>load<u64>(entry + other) != 0) {
    const newest = max(seconds, rowSeconds(rowAddress(subject)));
    pairOther = pairMass(entry, other, newest, word(config, WORD_PAIR_TAU));
  }
  if (cell != PAIR_SUCCESS) return;
  if (before == 0.0) meetPraise(config, subject, reporter, entry);
  isReturned = isPraiseReturned(entry);
}

/** Takes from the room noted last the share that an incident's cap leaves. */
export function shareRoom(share: f64): void {
  pairRoom *= share;
}

/** Notes that no reporter is behind the outcome: the masses of the record only fade. */
export function noteStranger(timeMs: f64): void {
  pairBefore = 0.0;
  pairRoom = 0.0;
  pairAtMs = timeMs;
}

/** At the first praise of a subject: whether it has praised its reporter before. */
function meetPraise(config: u32, subject: u32, reporter: u32, entry: u32): void {
  const row = rowAddress(reporter);
  if (load<u32>(row, ROW_OUTCOMES) == 0) return;
  if (load<u32>(rowAddress(subject), ROW_REPORTED) == 0) return;
  const told = findPair(pairMap(), reporter, subject);
  if (told == 0) return;
  praise = pairMass(told, PAIR_SUCCESS, rowSeconds(row), word(config, WORD_PAIR_TAU));
  if (praise == 0.0) return;
  markPraiseReturned(told);
  markPraiseReturned(entry);
}

/** Time, in seconds, that the masses of a row hold at. */
function rowSeconds(row: u32): u32 {
  return <u32>(load<f64>(row, ROW_SUBJECT_TIME) / 1000.0);
}

function concentrationOf(flags: u32): u32 {
  return (flags >> CONCENTRATION_SHIFT) & CONCENTRATION_MAX;
}

function singleOf(flags: u32): u32 {
  return (flags >> SINGLE_SHIFT) & SINGLE_MAX;
}

function mutualOf(flags: u32): u32 {
  return (flags >> MUTUAL_SHIFT) & MUTUAL_MAX;
}

/** A share in whole steps: added to 2^52, a number's last bits are its rounded whole part. */
function packed(value: f64, most: u32, shift: u32): u32 {
  const steps = <u32>reinterpret<u64>(value * <f64>most + 4503599627370496.0);
  return min(steps, most) << shift;
}

/** Books the outcome noted by `noteRoom`. Both rows are open, the subject's time not moved. */
export function bookVoice(config: u32, row: u32, reporterRow: u32, timeMs: f64): void {
  const lastMs = load<f64>(row, ROW_SUBJECT_TIME);
  const kept = <f64>load<f32>(row, ROW_VOICES) * fade(config, lastMs, timeMs);
  const late = fade(config, pairAtMs, max(lastMs, timeMs));
  const added = pairRoom * late;
  const total = kept + added;
  store<f32>(row, <f32>total, ROW_VOICES);
  if (added <= 0.0) return;
  const flags = load<u32>(row, ROW_FLAGS);
  const before = pairBefore * late + pairOther;
  let squares = <f64>concentrationOf(flags) * (1.0 / <f64>CONCENTRATION_MAX) * kept * kept;
  const single = <f64>singleOf(flags) * (1.0 / <f64>SINGLE_MAX) * squares + added * added;
  squares += added * (2.0 * before + added);
  let mutual = <f64>mutualOf(flags) * (1.0 / <f64>MUTUAL_MAX) * kept;
  if (isReturned) mutual += added;
  const part = 1.0 / total;
  const pattern =
    packed(squares * part * part, CONCENTRATION_MAX, CONCENTRATION_SHIFT) |
    packed(single / squares, SINGLE_MAX, SINGLE_SHIFT) |
    packed(mutual * part, MUTUAL_MAX, MUTUAL_SHIFT);
  store<u32>(row, (flags & ((1 << CONCENTRATION_SHIFT) - 1)) | pattern, ROW_FLAGS);
  if (praise > 0.0) returnPraise(reporterRow);
}

/** From now on, the praise that the reporter received from its subject counts as returned. */
function returnPraise(row: u32): void {
  const flags = load<u32>(row, ROW_FLAGS);
  const had = <f64>mutualOf(flags) / <f64>MUTUAL_MAX;
  const mutual = had + praise / <f64>load<f32>(row, ROW_VOICES);
  const others = flags & ~((<u32>MUTUAL_MAX) << MUTUAL_SHIFT);
  store<u32>(row, others | packed(mutual, MUTUAL_MAX, MUTUAL_SHIFT), ROW_FLAGS);
}

/** Whether most of the record is praise from agents that the subject praised too. */
export function isCircle(flags: u32): bool {
  return mutualOf(flags) * 2 >= <u32>MUTUAL_MAX;
}

/**
 * Whether too few reporters repeat themselves in the record. In whole numbers: every answer waits
 * for this.
 */
export function isNarrow(flags: u32): bool {
  const concentration = concentrationOf(flags);
  const heard = MUTUAL_PART * MUTUAL_MAX - mutualOf(flags);
  const enough = heard * CONCENTRATION_MAX;
  if (VOICES_ENOUGH * MUTUAL_PART * MUTUAL_MAX * concentration <= enough) return false;
  return singleOf(flags) != SINGLE_MAX;
}

/**
 * Factor, above 1, by which a narrow record would weigh more had the same outcomes come from
 * different reporters, up to the number that is enough.
 */
export function breadthMissing(flags: u32): f64 {
  const heard = <f64>(MUTUAL_PART * MUTUAL_MAX - mutualOf(flags)) / <f64>(MUTUAL_PART * MUTUAL_MAX);
  const concentration = <f64>concentrationOf(flags) / <f64>CONCENTRATION_MAX;
  const least = (<f64>VOICES_ENOUGH * concentration) / heard;
  const single = singleOf(flags);
  return single == 0 ? least : min(least, <f64>SINGLE_MAX / <f64>single);
}
