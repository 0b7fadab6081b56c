// Outcomes of established good agents, the population whose requests a policy should let through: many
// reporters, few failures, and heard of lately, by what was known strictly before each outcome.
import type { RatedOutcome } from "./ratings.ts";
import { ALL_AT_ONCE, orderByArrival } from "./replay.ts";
import type { Delay } from "./replay.ts";

const DAY_MS = 86_400_000;
/** Reporters before, at least. */
const REPORTERS_MIN = 10;
/** Share of failures before, at most. */
const FAILURE_SHARE_MAX = 0.02;
/** Days since the last outcome, at most: the shipped `stale_after_days`. */
const SILENT_DAYS_MAX = 180;

interface SubjectRecord {
  readonly reporters: Set<string>;
  outcomes: number;
  failures: number;
  heardMs: number;
}

/** 1 for the good outcomes of established agents, by row; what is late, is not known yet. */
export function flagEstablished(
  outcomes: readonly RatedOutcome[],
  delay: Delay = ALL_AT_ONCE,
): Uint8Array {
  const records = new Map<string, SubjectRecord>();
  const established = new Uint8Array(outcomes.length);
  const arrivals = orderByArrival(outcomes, delay);
  let known = 0;
  outcomes.forEach(({ subject, timeMs, failure }, row) => {
    for (; arrivals[known]!.knownMs < timeMs; known++) addOutcome(records, arrivals[known]!.past);
    const record = records.get(subject);
    if (failure === 1 || record === undefined || record.reporters.size < REPORTERS_MIN) return;
    const isGood = record.failures <= FAILURE_SHARE_MAX * record.outcomes;
    const isHeard = timeMs - record.heardMs <= SILENT_DAYS_MAX * DAY_MS;
    if (isGood && isHeard) established[row] = 1;
  });
  return established;
}

function addOutcome(records: Map<string, SubjectRecord>, past: RatedOutcome): void {
  let record = records.get(past.subject);
  if (record === undefined) {
    record = { reporters: new Set(), outcomes: 0, failures: 0, heardMs: 0 };
    records.set(past.subject, record);
  }
  record.reporters.add(past.reporter);
  record.outcomes += 1;
  record.failures += past.failure;
  record.heardMs = Math.max(record.heardMs, past.timeMs);
}
