// Instants as local times that say their offset, in the zone that the operator has named.

/** Offsets change at whole quarters of an hour, as far as zones of this century go. */
const QUARTER_MS = 900_000;
/** Quarters whose offsets are kept: ten years of them would be 350,000. */
const CACHED_OFFSETS_MAX = 50_000;
const MINUTE_MS = 60_000;

/** Whether the name is that of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

export class LocalTimeFormatter {
  readonly #zoneFormat: Intl.DateTimeFormat;
  readonly #offsetMinutesByQuarter = new Map<number, number>();

  /** @throws RangeError when there is no such zone. */
  constructor(timeZone: string) {
    const timeZoneName = "longOffset";
    this.#zoneFormat = new Intl.DateTimeFormat("en", { timeZone, timeZoneName, hour: "numeric" });
  }

  /** RFC 3339 with milliseconds, or microseconds where there are any; years 0 to 9999. */
  format(micros: bigint): string {
    const epochMs = Number(micros / 1000n) - (micros < 0n && micros % 1000n !== 0n ? 1 : 0);
    const minutes = this.#findOffsetMinutes(epochMs);
    const [local = ""] = new Date(epochMs + minutes * MINUTE_MS).toISOString().split("Z");
    const rest = Number(micros - BigInt(epochMs) * 1000n);
    const fraction = rest === 0 ? "" : String(rest).padStart(3, "0");
    const sign = minutes < 0 ? "-" : "+";
    const parts = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
    return `${local}${fraction}${sign}${parts.map((part) => String(part).padStart(2, "0")).join(":")}`;
  }

  #findOffsetMinutes(epochMs: number): number {
    const quarter = Math.floor(epochMs / QUARTER_MS);
    const known = this.#offsetMinutesByQuarter.get(quarter);
    if (known !== undefined) return known;
    const parts = this.#zoneFormat.formatToParts(quarter * QUARTER_MS);
    const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", rest = "0"] = /([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    const minutes = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(rest));
    if (this.#offsetMinutesByQuarter.size >= CACHED_OFFSETS_MAX)
      this.#offsetMinutesByQuarter.clear();
    this.#offsetMinutesByQuarter.set(quarter, minutes);
    return minutes;
  }
}

/** A span of time as SQL counts it: parts do not turn into one another, and each may be negative. */
interface Interval {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
}

/** ISO 8601, such as `P1Y2M3DT4H5M6.5S`; a negative part has its sign. */
export function formatDuration({ months, days, micros }: Interval): string {
  const seconds = Number(micros) / 1e6;
  const part = (value: number, unit: string) => (value === 0 ? "" : `${value}${unit}`);
  const date = part(Math.trunc(months / 12), "Y") + part(months % 12, "M") + part(days, "D");
  const time =
    part(Math.trunc(seconds / 3600), "H") +
    part(Math.trunc(seconds / 60) % 60, "M") +
    part(Number(micros % 60_000_000n) / 1e6, "S");
  if (date === "" && time === "") return "PT0S";
  return `P${date}${time === "" ? "" : `T${time}`}`;
}

/** DuckDB's text of a timestamp in RFC 3339 with milliseconds, or microseconds where there are any; `infinity` as it is. */
export function formatUtcTimestamp(text: string): string {
  const [day = "", time = ""] = text.split(" ");
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return text;
  const [clock = "", fraction = ""] = time.split(".");
  return `${day}T${clock}.${fraction.padEnd(3, "0")}Z`;
}
