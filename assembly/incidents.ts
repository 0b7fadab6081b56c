// Incidents: what fails within one UTC hour, or under one incident's name, counts as one failing hour
// however many report it. Failures count up to the weight of that hour's successes, and up to
// FAILURES_ALWAYS where there are few; the rest is marked and changes nothing else. Successes weigh
// here as if their reporters had said nothing before: a long record thins each of its successes, and
// an agent whose every other call fails would seem to have an incident each hour.
import {
  HOUR_REPEATS_SHIFT,
  PAIR_FAILURE,
  ROW_CAPPED,
  ROW_HOUR,
  ROW_HOUR_FAILURE,
  ROW_HOUR_SUCCESS,
  ROW_OUTCOMES,
  SOURCE_INCIDENT_BITS,
} from "./layout.ts";
import { hourWeight, wasRepeat } from "./weight.ts";
import { addPairMass, findOrAddPair, rawPairMass } from "./pairs.ts";

const REPEAT: u32 = 1 << HOUR_REPEATS_SHIFT;
const HOUR_MASK: u32 = REPEAT - 1;
const HOUR_MS: f64 = 3600000.0;
/** Weight of failures of an hour that counts whatever else happened in it. */
const FAILURES_ALWAYS: f64 = 3.0;
/** Less than this is rounding: of a cap that is used up, or of a weight that just fits. */
const REST_MIN: f64 = 0.000001;
/** Most that ROW_CAPPED counts. */
const CAPPED_MAX: u32 = 0xffff;
/** A number of an incident: 29 bits of the hash of its tenant and name, 0 for none. */
export const INCIDENT_MAX: u32 = 0x1fffffff;

let share: f64 = 1.0;

/** Share, 0 to 1, of the weight of the outcome folded last that the caps of incidents left. */
export function countedShare(): f64 {
  return share;
}

/** At the beginning of each fold. */
export function resetCountedShare(): void {
  share = 1.0;
}

/** The pair map's source for a failure under an incident's name. */
export function incidentSource(incident: u32): u32 {
  return SOURCE_INCIDENT_BITS | incident;
}

/** Number of repeats (assembly/weight.ts) among the failures of the hour of `atMs`. */
export function hourRepeats(row: u32, atMs: f64): u32 {
  const newest = load<u32>(row, ROW_HOUR);
  return hourOf(atMs) > (newest & HOUR_MASK) ? 0 : newest >> HOUR_REPEATS_SHIFT;
}

function hourOf(atMs: f64): u32 {
  return <u32>(max(0.0, atMs) / HOUR_MS);
}

/**
 * Weight, of `weight`, with which an outcome about the row is folded, and notes it in the row's
 * hour. `atMs` is the time whose hour it falls into; an hour before the row's newest counts there,
 * or two that alternate would begin anew each time. The row is open. The room of the pair map's entry
 * for an incident is there; `incident` is 0 where the failure names none.
 */
export function takeHour(
  row: u32,
  subject: u32,
  failure: i32,
  weight: f64,
  atMs: f64,
  incident: u32,
): f64 {
  const hour = hourOf(atMs);
  if (hour > (load<u32>(row, ROW_HOUR) & HOUR_MASK)) {
    store<u32>(row, hour, ROW_HOUR);
    store<f32>(row, 0, ROW_HOUR_SUCCESS);
    store<f32>(row, 0, ROW_HOUR_FAILURE);
  }
  const successes = <f64>load<f32>(row, ROW_HOUR_SUCCESS);
  if (failure == 0) {
    store<f32>(row, <f32>(successes + hourWeight()), ROW_HOUR_SUCCESS);
    return weight;
  }
  if (weight <= 0.0) return weight;
  if (wasRepeat()) store<u32>(row, load<u32>(row, ROW_HOUR) + REPEAT, ROW_HOUR);
  const failures = <f64>load<f32>(row, ROW_HOUR_FAILURE);
  const cap = max(FAILURES_ALWAYS, successes);
  const entry = incident != 0 ? findOrAddPair(subject, incidentSource(incident)) : 0;
  const used = entry != 0 ? max(failures, rawPairMass(entry, PAIR_FAILURE)) : failures;
  const left = cap - used;
  let counted = left < REST_MIN ? 0.0 : min(weight, left);
  if (weight - counted < REST_MIN) counted = weight;
  share = counted / weight;
  if (counted <= 0.0) {
    countCapped(row);
    return 0.0;
  }
  store<f32>(row, <f32>(failures + counted), ROW_HOUR_FAILURE);
  if (entry != 0) addPairMass(entry, PAIR_FAILURE, counted, <u32>(atMs / 1000.0));
  return counted;
}

/** Once ROW_CAPPED is full, a capped failure is counted as an outcome, so that the sum of both stays exact. */
function countCapped(row: u32): void {
  const capped = <u32>load<u16>(row, ROW_CAPPED);
  if (capped < CAPPED_MAX) store<u16>(row, <u16>(capped + 1), ROW_CAPPED);
  else store<u32>(row, load<u32>(row, ROW_OUTCOMES) + 1, ROW_OUTCOMES);
}
