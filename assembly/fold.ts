// Write path: folds one settled outcome into the rows of its subject and its reporter. A pure
// function of the log: only event time enters, never the clock (scoring 2.2).
import { advanceBase, baseRate, collectBase, stepBase } from "./base-rate.ts";
import { activeConfigNumber, configSlot, word } from "./config.ts";
import { STATUS_FULL, STATUS_INVALID, STATUS_OK } from "./codes.ts";
import {
  PAIR_FAILURE,
  PAIR_SUCCESS,
  ROW_FAILED_AT,
  ROW_FAILURE_LONG,
  ROW_FAILURE_SHORT,
  ROW_FIRST_AT,
  ROW_HEARD_AT,
  ROW_MEAN_A,
  ROW_MEAN_B,
  ROW_MEAN_R,
  ROW_PRAISE,
  ROW_OUTCOMES,
  ROW_REPORTED,
  ROW_REPORTED_FAILURE,
  ROW_REPORTED_SUCCESS,
  ROW_REPORTER_TIME,
  ROW_SHOCK_AT,
  ROW_STAKES_PROVEN,
  ROW_SUBJECT_TIME,
  ROW_SUCCESS_LONG,
  ROW_SUCCESS_SHORT,
  ROW_VARIANCE_A,
  ROW_VARIANCE_B,
  ROW_VARIANCE_R,
  SOURCE_STRANGER_BIT,
  WORD_FAILURE_WEIGHT_MIN,
  WORD_GRADE_WEIGHTS,
  WORD_HEARD_WEIGHT,
  WORD_LONG_HALF_LIFE,
  WORD_PROVEN_FROM,
  WORD_REPORTER_VARIANCE,
  WORD_SHOCK_RESIDUAL,
  WORD_SHORT_HALF_LIFE,
  WORD_SIGNATURE_WEIGHTS,
  WORD_STAKES_HALF_LIFE,
} from "./layout.ts";
import { daysBetween, halving, sigmoid } from "./numeric.ts";
import { makeRoomForOutcome, makeRoomForStranger } from "./room.ts";
import { closeRow, findOrAddRow, findRow, openRow, ROW_ABSENT, rowAddress } from "./table.ts";
import { VOICE_FIRST_PARTY, VOICE_MAX, VOICE_STRANGER } from "./voices.ts";
import {
  countedShare,
  hourRepeats,
  INCIDENT_MAX,
  resetCountedShare,
  takeHour,
} from "./incidents.ts";
import { revertReporter, revertSubject } from "./tracks.ts";
import { countStreaks, praiseOf } from "./streaks.ts";
import { bookVoice, noteStranger } from "./reporter-concentration.ts";
import {
  bookMasses,
  capWeight,
  concave,
  liftingShare,
  credibilityOf,
  freshWeight,
  strangerWeight,
  wasFirstWord,
} from "./weight.ts";

/** ln 3: what one voice adds to the logarithm of proven stakes. */
const LN_3: f64 = 1.0986122886681098;

/**
 * Folds one outcome. `failure` is 1 for a failure; `hourMs` is the time whose hour an incident is of,
 * `incident` the number of the incident that a failure names, 0 for none. Returns a STATUS code.
 */
export function foldOutcome(
  subjectId: u32,
  subjectLength: u32,
  reporterId: u32,
  reporterLength: u32,
  failure: i32,
  stakes: f64,
  grade: i32,
  signature: i32,
  voice: u32,
  timeMs: f64,
  hourMs: f64,
  incident: u32,
): i32 {
  resetCountedShare();
  const number = activeConfigNumber();
  if (number == 0 || grade < 0 || grade > 4 || signature < 0 || signature > 2) {
    return STATUS_INVALID;
  }
  if (voice > <u32>VOICE_MAX || incident > INCIDENT_MAX) return STATUS_INVALID;
  const named = failure != 0 ? incident : 0;
  const config = configSlot(number);
  const graded = word(config, WORD_GRADE_WEIGHTS + grade);
  const base = graded * word(config, WORD_SIGNATURE_WEIGHTS + signature) * concave(config, stakes);
  if (voice >= <u32>VOICE_STRANGER) {
    return foldStranger(
      config,
      subjectId,
      subjectLength,
      voice,
      failure,
      base,
      stakes,
      timeMs,
      hourMs,
      named,
    );
  }
  let subject = findRow(subjectId, subjectLength);
  let reporter = findRow(reporterId, reporterLength);
  const isRoom = makeRoomForOutcome(
    config,
    subject,
    subjectLength,
    reporter,
    reporterLength,
    signature,
    named,
  );
  if (!isRoom) return STATUS_FULL;
  if (subject == ROW_ABSENT) subject = findOrAddRow(subjectId, subjectLength);
  // Looked for again: an agent that reports on itself has its row by now.
  if (reporter == ROW_ABSENT) reporter = findOrAddRow(reporterId, reporterLength);
  if (subject == ROW_ABSENT || reporter == ROW_ABSENT) return STATUS_FULL;
  const cell: u32 = failure != 0 ? PAIR_FAILURE : PAIR_SUCCESS;
  const rho = credibilityOf(config, rowAddress(reporter), signature);
  const seconds = <u32>(timeMs / 1000.0);
  const isFirstParty = voice == VOICE_FIRST_PARTY;
  const repeats = hourRepeats(rowAddress(subject), hourMs);
  const full = capWeight(
    config,
    base,
    rho,
    subject,
    reporter,
    cell,
    seconds,
    isFirstParty,
    repeats,
  );
  if (full < 0.0) return STATUS_FULL;
  const subjectRow = rowAddress(subject);
  const reporterRow = rowAddress(reporter);
  openRow(subjectRow);
  const weight = takeHour(subjectRow, subject, failure, full, hourMs, named);
  if (weight <= 0.0 && full > 0.0) {
    closeRow(subjectRow);
    return STATUS_OK;
  }
  bookMasses(countedShare());
  if (reporter != subject) openRow(reporterRow);
  bookVoice(config, subjectRow, reporterRow, timeMs);
  foldRows(
    config,
    subjectRow,
    reporterRow,
    <f64>failure,
    weight,
    freshWeight(weight),
    stakes,
    timeMs,
    1,
  );
  if (reporter != subject) closeRow(reporterRow);
  closeRow(subjectRow);
  return STATUS_OK;
}

/**
 * An outcome that only an API key answers for. The reporter that it names may be anybody's invention
 * or somebody else: no row, severity, reciprocity or concentration is its, and the base rate stays.
 */
function foldStranger(
  config: u32,
  subjectId: u32,
  subjectLength: u32,
  voice: u32,
  failure: i32,
  base: f64,
  stakes: f64,
  timeMs: f64,
  hourMs: f64,
  incident: u32,
): i32 {
  if (base <= 0.0) return STATUS_OK;
  let subject = findRow(subjectId, subjectLength);
  const source: u32 = SOURCE_STRANGER_BIT | voice;
  if (!makeRoomForStranger(config, subject, subjectLength, source, incident)) return STATUS_FULL;
  if (subject == ROW_ABSENT) subject = findOrAddRow(subjectId, subjectLength);
  if (subject == ROW_ABSENT) return STATUS_FULL;
  const row = rowAddress(subject);
  if (failure == 0 && isFailing(row)) return STATUS_OK;
  const cell: u32 = failure != 0 ? PAIR_FAILURE : PAIR_SUCCESS;
  const full = strangerWeight(config, base, subject, voice, cell, <u32>(timeMs / 1000.0));
  if (full < 0.0) return STATUS_FULL;
  if (full == 0.0) {
    bookMasses(1.0);
    return STATUS_OK;
  }
  noteStranger(timeMs);
  openRow(row);
  const weight = takeHour(row, subject, failure, full, hourMs, incident);
  if (weight <= 0.0) {
    closeRow(row);
    return STATUS_OK;
  }
  bookMasses(countedShare());
  bookVoice(config, row, 0, timeMs);
  foldRows(config, row, 0, <f64>failure, weight, weight, stakes, timeMs, wasFirstWord() ? 1 : 0);
  closeRow(row);
  return STATUS_OK;
}

/** Whether the subject fails more often than not: no stranger's praise helps it out of that. */
function isFailing(subject: u32): bool {
  const g = baseRate();
  const worst = max(load<f64>(subject, ROW_MEAN_A), load<f64>(subject, ROW_MEAN_B));
  return g + worst >= 0.0;
}

/**
 * One diagonal EKF step on each track, then the counters (scoring 2.2). Rows are open; `reporter` is
 * 0 for a stranger, an average reporter about whom nothing is learnt. `fresh` is
 * `freshWeight`; `counted` of 0 leaves the number of outcomes as it is.
 */
function foldRows(
  config: u32,
  subject: u32,
  reporter: u32,
  y: f64,
  weight: f64,
  fresh: f64,
  stakes: f64,
  timeMs: f64,
  counted: u32,
): void {
  const gVariance = reporter != 0 ? advanceBase(config, timeMs) : 0.0;
  const g = baseRate();
  if (reporter != 0) revertReporter(config, reporter, timeMs);
  revertSubject(config, subject, timeMs);
  const mB = load<f64>(subject, ROW_MEAN_B);
  const vB = load<f64>(subject, ROW_VARIANCE_B);
  const s = reporter != 0 ? load<f64>(reporter, ROW_MEAN_R) : 0.0;
  const prior = word(config, WORD_REPORTER_VARIANCE);
  const vR = reporter != 0 ? load<f64>(reporter, ROW_VARIANCE_R) : prior;
  const pB = sigmoid(g + mB + s);
  const hB = weight * pB * (1.0 - pB);
  const dB = 1.0 + hB * (vB + vR + gVariance);
  const rB = weight * (y - pB);
  store<f64>(subject, mB + (vB * rB) / dB, ROW_MEAN_B);
  store<f64>(subject, vB - (vB * vB * hB) / dB, ROW_VARIANCE_B);
  if (reporter != 0) {
    store<f64>(reporter, s + (vR * rB) / dB, ROW_MEAN_R);
    store<f64>(reporter, vR - (vR * vR * hB) / dB, ROW_VARIANCE_R);
    if (gVariance > 0.0) stepBase(gVariance, rB, hB, dB);
    else collectBase(config, subject, reporter, rB, hB);
  }
  const mA = load<f64>(subject, ROW_MEAN_A);
  const vA = load<f64>(subject, ROW_VARIANCE_A);
  const pA = sigmoid(g + mA);
  const hA = weight * pA * (1.0 - pA);
  const dA = 1.0 + hA * vA;
  store<f64>(subject, mA + (vA * weight * (y - pA)) / dA, ROW_MEAN_A);
  store<f64>(subject, vA - (vA * vA * hA) / dA, ROW_VARIANCE_A);
  let praise = 0.0;
  if (reporter != 0) {
    countStreaks(config, subject, reporter, y, g + mA);
    praise = praiseOf(reporter, y, weight);
  }
  countSubject(config, subject, y, weight, fresh, stakes, timeMs, pA, counted, praise);
  if (reporter != 0) countReporter(config, reporter, y, weight, timeMs);
}

/** Adds to one of two decayed counters that lie side by side (successes, then failures). */
function addCounter(row: u32, successes: u32, y: f64, weight: f64, keep: f64, fresh: f64): void {
  const s = <f64>load<f32>(row + successes) * keep;
  const f = <f64>load<f32>(row + successes + 4) * keep;
  store<f32>(row + successes, <f32>(s + weight * (1.0 - y) * fresh));
  store<f32>(row + successes + 4, <f32>(f + weight * y * fresh));
}

function countSubject(
  config: u32,
  row: u32,
  y: f64,
  weight: f64,
  fresh: f64,
  stakes: f64,
  timeMs: f64,
  expected: f64,
  counted: u32,
  praise: f64,
): void {
  const last = load<f64>(row, ROW_SUBJECT_TIME);
  const elapsed = last == 0.0 ? 0.0 : daysBetween(last, timeMs);
  // A late outcome counts as much as if it had come in time: counters commute, filters do not.
  const late = last == 0.0 ? 0.0 : daysBetween(timeMs, last);
  const long = word(config, WORD_LONG_HALF_LIFE);
  const short = word(config, WORD_SHORT_HALF_LIFE);
  const keep = halving(elapsed, long);
  const fade = halving(late, long);
  addCounter(row, ROW_SUCCESS_LONG, y, weight, keep, fade);
  const praised = <f64>load<f32>(row, ROW_PRAISE) * keep;
  store<f32>(row, <f32>(praised + praise * fade), ROW_PRAISE);
  addCounter(row, ROW_SUCCESS_SHORT, y, weight, halving(elapsed, short), halving(late, short));
  const seconds = <u32>(timeMs / 1000.0);
  const first = load<u32>(row, ROW_FIRST_AT);
  if (first == 0 || seconds < first) store<u32>(row, seconds, ROW_FIRST_AT);
  hear(config, row, weight, seconds);
  const enough = word(config, WORD_FAILURE_WEIGHT_MIN);
  let proven = <f64>load<f32>(row, ROW_STAKES_PROVEN);
  proven *= halving(elapsed, word(config, WORD_STAKES_HALF_LIFE));
  if (y > 0.5) {
    if (fresh >= enough) {
      store<u32>(row, max(load<u32>(row, ROW_FAILED_AT), seconds), ROW_FAILED_AT);
      const residual = Math.sqrt((1.0 - expected) / expected);
      if (residual > word(config, WORD_SHOCK_RESIDUAL)) {
        store<u32>(row, max(load<u32>(row, ROW_SHOCK_AT), seconds), ROW_SHOCK_AT);
      }
    }
  } else if (fresh > enough) {
    proven = risen(config, proven, stakes, weight);
  }
  store<f32>(row, <f32>proven, ROW_STAKES_PROVEN);
  store<u32>(row, load<u32>(row, ROW_OUTCOMES) + counted, ROW_OUTCOMES);
  store<f64>(row, max(last, timeMs), ROW_SUBJECT_TIME);
}

/**
 * Moves the time at which the subject was last heard of: to that of a full outcome, and as far of the
 * way as it weighs to that of a lighter one, so that a stranger's word keeps no record warm. Never
 * back. Whole seconds: what rounding leaves is part of the next way.
 */
function hear(config: u32, row: u32, weight: f64, seconds: u32): void {
  if (weight <= 0.0) return;
  const heard = load<u32>(row, ROW_HEARD_AT);
  if (heard == 0) store<u32>(row, seconds, ROW_HEARD_AT);
  if (heard == 0 || seconds <= heard) return;
  const part = min(1.0, weight / word(config, WORD_HEARD_WEIGHT));
  store<u32>(row, heard + <u32>(<f64>(seconds - heard) * part), ROW_HEARD_AT);
}

/**
 * Proven stakes after a success at `stakes`: their logarithm goes by the success's weight toward that
 * of its stakes, and by no more than a factor of three for the first unit of one voice's weight, after
 * which it lifts no more. Stakes up to WORD_PROVEN_FROM are proven at once.
 */
function risen(config: u32, proven: f64, stakes: f64, weight: f64): f64 {
  const from = word(config, WORD_PROVEN_FROM);
  const base = max(proven, min(stakes, from));
  const start = max(proven, from);
  if (stakes <= start) return base;
  return start * Math.exp(weight * min(Math.log(stakes / start), LN_3 * liftingShare()));
}

function countReporter(config: u32, row: u32, y: f64, weight: f64, timeMs: f64): void {
  const last = load<f64>(row, ROW_REPORTER_TIME);
  const elapsed = last == 0.0 ? 0.0 : daysBetween(last, timeMs);
  const late = last == 0.0 ? 0.0 : daysBetween(timeMs, last);
  const short = word(config, WORD_SHORT_HALF_LIFE);
  addCounter(row, ROW_REPORTED_SUCCESS, y, weight, halving(elapsed, short), halving(late, short));
  store<u32>(row, load<u32>(row, ROW_REPORTED) + 1, ROW_REPORTED);
  store<f64>(row, max(last, timeMs), ROW_REPORTER_TIME);
}
