// Axes of charts: round ticks, and where values are placed between the ends.

export interface Axis {
  readonly low: number;
  readonly high: number;
  /** Values with a line and a label, ascending. */
  readonly ticks: readonly number[];
  /** Place of a value between the ends, 0 to 1; values beyond an end are placed on it. */
  readonly place: (value: number) => number;
  /** The value at a place of 0 to 1. */
  readonly valueAt: (place: number) => number;
}

const SCALES = {
  linear: [(value: number) => value, (placed: number) => placed],
  log: [Math.log, Math.exp],
  // Small shares need more room than large ones.
  sqrt: [Math.sqrt, (placed: number) => placed ** 2],
} as const;

/** An axis from `low` to `high` with these ticks; a logarithmic one begins above 0. */
export function createAxis(
  scale: keyof typeof SCALES,
  [low, high]: readonly [number, number],
  ticks: readonly number[],
): Axis {
  const [project, invert] = SCALES[scale];
  const from = project(low);
  const span = project(high) - from || 1;
  return {
    low,
    high,
    ticks,
    place: (value) => clampToUnit((project(Math.max(low, value)) - from) / span),
    valueAt: (place) => invert(from + clampToUnit(place) * span),
  };
}

const clampToUnit = (value: number): number => Math.max(0, Math.min(1, value));

const ROUND_DIGITS = [1, 2, 5];

/** The smallest of 1, 2, 5, 10, 20 and so on, and their tenths, that is at least `least`. */
function findRoundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (ROUND_DIGITS.find((digit) => digit * power >= least * 0.999_999) ?? 10);
}

interface ValueAxisOptions {
  /** Lowest and highest value that must be on the axis. */
  readonly range: readonly [number, number];
  /** Most steps between ticks. */
  readonly steps: number;
  /** Ticks at whole numbers only. */
  readonly isWhole?: boolean;
  /** The ends are those of the range; otherwise they are moved out to ticks. */
  readonly isFixed?: boolean;
}

export function createLinearAxis(options: ValueAxisOptions): Axis {
  const { range, steps, isWhole = false, isFixed = false } = options;
  const [low, high] = range[1] > range[0] ? range : [range[0], range[0] + 1];
  const step = Math.max(isWhole ? 1 : 0, findRoundStep((high - low) / steps));
  const [first, last] = isFixed
    ? [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)]
    : [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  // Without the error of binary fractions, such as 0.30000000000000004.
  const ticks = listIntegers(first, last).map((n) => Number((n * step).toPrecision(12)));
  return createAxis("linear", isFixed ? [low, high] : [ticks[0]!, ticks.at(-1)!], ticks);
}

const LOG_TICKS_MIN = 3;

/** Ticks at 1, 2 and 5 of each power of ten, or at powers alone where there would be too many. */
export function createLogAxis({ range: [low, high], steps }: ValueAxisOptions): Axis {
  const powers = listIntegers(Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1);
  const all = powers.flatMap((power) =>
    ROUND_DIGITS.map((digit) => Number((digit * 10 ** power).toPrecision(12))),
  );
  let first = all.findLastIndex((value) => value <= low * 1.000_001);
  let last = all.findIndex((value) => value >= high * 0.999_999);
  while (last - first + 1 < LOG_TICKS_MIN) {
    last += 1;
    if (last - first + 1 < LOG_TICKS_MIN && first > 0) first -= 1;
  }
  const range = [all[first]!, all[last]!] as const;
  const shown = all.slice(first, last + 1);
  if (shown.length <= steps + 1) return createAxis("log", range, shown);
  const decades = shown.filter((value) => Number.isInteger(roundedLog10(value)));
  const every = Math.ceil(decades.length / (steps + 1));
  return createAxis(
    "log",
    range,
    decades.filter((_, index) => index % every === 0),
  );
}

const roundedLog10 = (value: number): number => Number(Math.log10(value).toFixed(9));

const listIntegers = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

const MINUTE_SEC = 60;
const HOUR_SEC = 3600;
const DAY_SEC = 86_400;
const MONTH_SEC = 2_629_800;
/** Seconds between two ticks of time; days and months are those of the calendar. */
const TIME_STEPS_SEC = [
  ...[1, 2, 5, 10, 15, 30].flatMap((n) => [n, n * MINUTE_SEC]),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR_SEC),
  ...[1, 2, 4, 7, 14].map((n) => n * DAY_SEC),
  ...[1, 2, 3, 6, 12, 24, 60, 120].map((n) => n * MONTH_SEC),
].toSorted((one, other) => one - other);

export interface TimeAxis extends Axis {
  /** About how many seconds lie between two ticks. */
  readonly stepSec: number;
}

/** An axis of epoch seconds with ticks at round times of the reader's clock. */
export function createTimeAxis(range: readonly [number, number], steps: number): TimeAxis {
  const [low, high] = range;
  const stepSec = TIME_STEPS_SEC.find((step) => (high - low) / step <= steps) ?? 120 * MONTH_SEC;
  const ticks: number[] = [];
  for (let at = findFirstTimeTick(low, stepSec); at <= high; at = addTimeStep(at, stepSec)) {
    if (at >= low) ticks.push(at);
  }
  return { ...createAxis("linear", range, ticks), stepSec };
}

/** A round time at or before the first tick. */
function findFirstTimeTick(low: number, stepSec: number): number {
  const date = new Date(low * 1000);
  if (stepSec < DAY_SEC) {
    const offset = date.getTimezoneOffset() * MINUTE_SEC;
    return Math.ceil((low - offset) / stepSec) * stepSec + offset;
  }
  const months = Math.round(stepSec / MONTH_SEC);
  const monthOfAll = date.getFullYear() * 12 + date.getMonth();
  const first =
    months === 0
      ? new Date(date.getFullYear(), date.getMonth(), date.getDate())
      : new Date(0, Math.floor(monthOfAll / months) * months - 1900 * 12);
  return first.getTime() / 1000;
}

function addTimeStep(at: number, stepSec: number): number {
  if (stepSec < DAY_SEC) return at + stepSec;
  const date = new Date(at * 1000);
  if (stepSec < MONTH_SEC) date.setDate(date.getDate() + Math.round(stepSec / DAY_SEC));
  else date.setMonth(date.getMonth() + Math.round(stepSec / MONTH_SEC));
  return date.getTime() / 1000;
}

const formatPart = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat("en-GB", options);
  return (sec: number) => format.format(sec * 1000);
};
const formatSeconds = formatPart({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const formatMinutes = formatPart({ hour: "2-digit", minute: "2-digit" });
const formatDay = formatPart({ day: "numeric", month: "short" });
const formatMonth = formatPart({ month: "short" });
const formatYear = formatPart({ year: "numeric" });

/** Labels of the ticks: the time, and below it the day or the year where it is another than before. */
export function formatTimeTicks({ ticks, stepSec }: TimeAxis): [label: string, below: string][] {
  const formatLabel =
    stepSec < MINUTE_SEC
      ? formatSeconds
      : stepSec < DAY_SEC
        ? formatMinutes
        : stepSec < MONTH_SEC
          ? formatDay
          : stepSec < 12 * MONTH_SEC
            ? formatMonth
            : formatYear;
  const formatBelow =
    stepSec < DAY_SEC ? formatDay : stepSec < 12 * MONTH_SEC ? formatYear : () => "";
  return ticks.map((tick, index) => {
    const below = formatBelow(tick);
    const isRepeated = index > 0 && formatBelow(ticks[index - 1]!) === below;
    return [formatLabel(tick), isRepeated ? "" : below];
  });
}
