// Slow, obvious caps of incidents: what of a failure's weight counts beside the other failures of its
// UTC hour, and of the incident that it names.
const HOUR_MS = 3_600_000;
const FAILURES_ALWAYS = 3;
const REST_MIN = 1e-6;

/** One subject's newest hour, its named incidents, and how many failures a cap has cut. */
export interface Incidents {
  hour: number;
  successes: number;
  failures: number;
  repeats: number;
  named: Map<number, number>;
  capped: number;
}

export const noIncidents = (): Incidents => ({
  hour: 0,
  successes: 0,
  failures: 0,
  repeats: 0,
  named: new Map(),
  capped: 0,
});

interface HourOutcome {
  readonly atMs: number;
  readonly incident: number;
  /** Weight of a success in its hour. */
  readonly unthinned: number;
  readonly isRepeat: boolean;
}

/** Number of repeats among the failures of the hour of `atMs`. */
export function hourRepeats(own: Incidents, atMs: number): number {
  return Math.floor(atMs / HOUR_MS) > own.hour ? 0 : own.repeats;
}

/** Weight that counts of `weight`, for `y` 1 a failure; `incident` is 0 where it names none. */
export function takeHour(
  own: Incidents,
  y: number,
  weight: number,
  { atMs, incident, unthinned, isRepeat }: HourOutcome,
): number {
  const hour = Math.floor(atMs / HOUR_MS);
  if (hour > own.hour) Object.assign(own, { hour, successes: 0, failures: 0, repeats: 0 });
  if (y === 0) {
    own.successes = Math.fround(own.successes + unthinned);
    return weight;
  }
  if (weight <= 0) return weight;
  if (isRepeat) own.repeats++;
  const named = incident === 0 ? 0 : (own.named.get(incident) ?? 0);
  const left = Math.max(FAILURES_ALWAYS, own.successes) - Math.max(own.failures, named);
  let counted = left < REST_MIN ? 0 : Math.min(weight, left);
  if (weight - counted < REST_MIN) counted = weight;
  if (counted <= 0) own.capped++;
  own.failures = Math.fround(own.failures + counted);
  if (incident !== 0) own.named.set(incident, Math.fround(named + counted));
  return counted;
}
