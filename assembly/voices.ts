// Who an agent's record comes from: how much of it rests on few reporters, how much on one of them
// said again and again, how much on agents that it praised itself. Kept as three shares in the
// upper bits of ROW_FLAGS: all masses fade alike, so that the shares hold until the next outcome,
// and a read has them with the flags. A reporter weighs what the pair cap left of its word; what
// pools and standings take has codes of its own.
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
import { reversion } from "./numeric.ts";
import { findPair, pairMap, pairMass } from "./pairs.ts";
import { rowAddress } from "./table.ts";

/** Reporters, each as heavy as the other, that make a record broad: two can err or agree alike. */
const VOICES_ENOUGH: f64 = 3.0;
/** What a reporter that the agent praised too lacks of a voice: one relation, told at both ends. */
const MUTUAL_DISCOUNT: f64 = 0.5;

// What the pair cap did with the outcome being folded (only one ever is), as of its own time.
let pairBefore: f64 = 0.0;
let pairRoom: f64 = 0.0;
let pairAt: u32 = 0;
/** Mass of the other sign, as of the subject's newest outcome. */
let pairOther: f64 = 0.0;

/** What is left after the seconds between two times. */
function fade(config: u32, from: u32, to: u32): f64 {
  return to > from ? reversion(<f64>(to - from) / 86400.0, word(config, WORD_PAIR_TAU)) : 1.0;
}

/** Time, in seconds, that the masses of a row hold at. */
function rowSeconds(row: u32): u32 {
  return <u32>(load<f64>(row, ROW_SUBJECT_TIME) / 1000.0);
}

/** Notes that a pair whose mass of one sign was `before` is given `room`, for `bookVoice`. */
export function noteRoom(
  config: u32,
  subject: u32,
  entry: u32,
  cell: u32,
  seconds: u32,
  before: f64,
  room: f64,
): void {
  const other = cell == PAIR_SUCCESS ? PAIR_FAILURE : PAIR_SUCCESS;
  const newest = max(seconds, rowSeconds(rowAddress(subject)));
  pairBefore = before;
  pairRoom = room;
  pairAt = max(seconds, <u32>(load<u64>(entry + cell) >> 32));
  pairOther = pairMass(entry, other, newest, word(config, WORD_PAIR_TAU));
}

/** One of the three shares, 0 to 1. */
function share(flags: u32, most: u32, shift: u32): f64 {
  return <f64>((flags >> shift) & most) / <f64>most;
}

function packed(value: f64, most: u32, shift: u32): u32 {
  return (<u32>(min(1.0, value) * <f64>most + 0.5)) << shift;
}

/** Books the outcome that `noteRoom` told of. Both rows are open, their times not yet moved. */
export function bookVoice(config: u32, subject: u32, reporter: u32, cell: u32, seconds: u32): void {
  const row = rowAddress(subject);
  const last = rowSeconds(row);
  const kept = <f64>load<f32>(row, ROW_VOICES) * fade(config, last, seconds);
  const late = fade(config, pairAt, max(last, seconds));
  const added = pairRoom * late;
  const total = kept + added;
  store<f32>(row, <f32>total, ROW_VOICES);
  if (added <= 0.0) return;
  const flags = load<u32>(row, ROW_FLAGS);
  const before = pairBefore * late + pairOther;
  let squares = share(flags, CONCENTRATION_MAX, CONCENTRATION_SHIFT) * kept * kept;
  const singles = share(flags, SINGLE_MAX, SINGLE_SHIFT) * squares + added * added;
  squares += added * (2.0 * before + added);
  let mutual = share(flags, MUTUAL_MAX, MUTUAL_SHIFT) * kept;
  if (cell == PAIR_SUCCESS && meetPraise(config, subject, reporter)) mutual += added;
  const pattern =
    packed(squares / (total * total), CONCENTRATION_MAX, CONCENTRATION_SHIFT) |
    packed(singles / squares, SINGLE_MAX, SINGLE_SHIFT) |
    packed(mutual / total, MUTUAL_MAX, MUTUAL_SHIFT);
  store<u32>(row, (flags & ((1 << CONCENTRATION_SHIFT) - 1)) | pattern, ROW_FLAGS);
}

/**
 * Whether the subject has praised its reporter. The reporter's first praise of the subject turns
 * what it had from there into praise of an agent that it praised itself.
 */
function meetPraise(config: u32, subject: u32, reporter: u32): bool {
  const row = rowAddress(reporter);
  if (subject == reporter || load<u32>(row, ROW_OUTCOMES) == 0) return false;
  if (load<u32>(rowAddress(subject), ROW_REPORTED) == 0) return false;
  const entry = findPair(pairMap(), reporter, subject);
  if (entry == 0) return false;
  const at = rowSeconds(row);
  const praise = pairMass(entry, PAIR_SUCCESS, at, word(config, WORD_PAIR_TAU));
  if (praise == 0.0) return false;
  if (pairBefore == 0.0) {
    const flags = load<u32>(row, ROW_FLAGS);
    const total = <f64>load<f32>(row, ROW_VOICES);
    const mutual = share(flags, MUTUAL_MAX, MUTUAL_SHIFT) + praise / total;
    const others = flags & ~((<u32>MUTUAL_MAX) << MUTUAL_SHIFT);
    store<u32>(row, others | packed(mutual, MUTUAL_MAX, MUTUAL_SHIFT), ROW_FLAGS);
  }
  return true;
}

/** Whether most of the record is praise from agents that the subject praised too. */
export function isCircle(flags: u32): bool {
  return ((flags >> MUTUAL_SHIFT) & MUTUAL_MAX) * 2 >= <u32>MUTUAL_MAX;
}

/**
 * How many times as much the record would weigh had the same outcomes come from reporters of their
 * own, up to those that are enough: 1 where no reporter repeats itself, or enough of them speak.
 */
export function breadthMissing(flags: u32): f64 {
  const single = (flags >> SINGLE_SHIFT) & SINGLE_MAX;
  const concentration = share(flags, CONCENTRATION_MAX, CONCENTRATION_SHIFT);
  if (single == SINGLE_MAX || concentration == 0.0) return 1.0;
  const heard = 1.0 - MUTUAL_DISCOUNT * share(flags, MUTUAL_MAX, MUTUAL_SHIFT);
  const missing = VOICES_ENOUGH * concentration;
  if (missing <= heard) return 1.0;
  const least = missing / heard;
  return single == 0 ? least : min(least, <f64>SINGLE_MAX / <f64>single);
}
