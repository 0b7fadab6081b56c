// RFC 3339 date-times of the wire -> epoch milliseconds. `Date.parse` takes far more than RFC 3339
// and rolls impossible dates over, so the form and every field are checked here.

const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`;
const TIME = String.raw`(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?`;
const OFFSET = String.raw`(?:[Zz]|([+-])(\d{2}):(\d{2}))`;
const DATE_TIME = new RegExp(`^${DATE}[Tt]${TIME}${OFFSET}$`);

const LENGTH_MAX = 35;
const TIMESTAMP_MS_MAX = 8_640_000_000_000_000;

/** Epoch milliseconds (fractions below a millisecond are cut), or undefined when not RFC 3339. */
export function parseDateTimeMs(text: string): number | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const found = DATE_TIME.exec(text);
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] =
    found;
  const midnight = `${year}-${month}-${day}T00:00:00.000Z`;
  const dayMs = Date.parse(midnight);
  // A day that does not exist parses to another day (or to none): print it again and compare.
  if (Number.isNaN(dayMs) || new Date(dayMs).toISOString() !== midnight) return undefined;
  const hours = Number(hour);
  const minutes = Number(minute);
  const seconds = Number(second);
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const offsetMs = computeOffsetMs(sign, Number(offsetHour ?? 0), Number(offsetMinute ?? 0));
  if (offsetMs === undefined) return undefined;
  const milliseconds = Number((fraction ?? "").padEnd(3, "0").slice(0, 3));
  const timeMs = dayMs + ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds - offsetMs;
  // RFC 3339 §5.7: a leap second stands only at the very end of a UTC day; it counts as the next.
  if (seconds === 60 && Math.floor(timeMs / 1000) % 86_400 !== 0) return undefined;
  return timeMs;
}

/** True for a whole number of milliseconds since 1970 that a Date can hold. */
export function isEpochMs(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= TIMESTAMP_MS_MAX;
}

function computeOffsetMs(
  sign: string | undefined,
  hours: number,
  minutes: number,
): number | undefined {
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
