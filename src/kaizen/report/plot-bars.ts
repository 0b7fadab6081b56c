// SVG bars and intervals of a report: intervals of the gates, and the effect of each ingredient.
// Text only, no script; old and new differ by shape and dash as well as by colour.
import type { GateResult } from "../gates/gate.ts";

/** One estimate with its interval and its limit. */
export interface IntervalMark {
  label: string;
  low: number;
  value: number;
  high: number;
  /** The limit: beyond it is bad. */
  border: number;
}

const WIDTH = 220;
const HEIGHT = 30;
const EDGE = 10;

const formatPixels = (x: number): string => x.toFixed(1);
const formatThreeDigits = (value: number): string => String(Number(value.toPrecision(3)));

/** A line with a dot, and the border as a dashed upright. */
export function renderIntervalPlot({ label, low, value, high, border }: IntervalMark): string {
  const from = Math.min(low, border, value);
  const to = Math.max(high, border, value);
  const span = to - from || 1;
  const at = (x: number) => formatPixels(EDGE + ((x - from) / span) * (WIDTH - 2 * EDGE));
  const text = `${label}: ${formatThreeDigits(value)}, 90 % between ${formatThreeDigits(low)} and ${formatThreeDigits(high)}`;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" class="interval" role="img" aria-label="${text}">`,
    `<title>${text}; the border is ${formatThreeDigits(border)}</title>`,
    `<line x1="${at(border)}" y1="2" x2="${at(border)}" y2="18" class="perfect"/>`,
    `<line x1="${at(low)}" y1="10" x2="${at(high)}" y2="10" class="line challenger"/>`,
    `<circle cx="${at(value)}" cy="10" r="4" class="challenger"/>`,
    `<text x="${EDGE}" y="28" class="tick">${label}: ${formatThreeDigits(low)} to ${formatThreeDigits(high)}</text>`,
    `</svg>`,
  ].join("");
}

/** 90 % two-sided. */
const Z_90_PERCENT = 1.645;
/** Gates that keep 95 % half-widths. */
const createIntervalMark = (
  label: string,
  value: number,
  error: number,
  border: number,
): IntervalMark => ({
  label,
  low: value - Z_90_PERCENT * error,
  value,
  high: value + Z_90_PERCENT * error,
  border,
});

/** The intervals behind a gate's verdict; none for gates that count. */
export function listGateIntervals({ id, numbers }: GateResult): IntervalMark[] {
  const of = (name: string): number => numbers[name] ?? Number.NaN;
  const all: Readonly<Record<string, () => IntervalMark[]>> = {
    G2: () => {
      const share = 100 / of("champion_loss");
      const error = of("z") === 0 ? Number.NaN : (of("gain") / of("z")) * share;
      return [createIntervalMark("log-loss saved, %", of("gain") * share, error, 0)];
    },
    G3: () => [createIntervalMark("AUC gained", of("auc_difference"), of("standard_error"), 0)],
    G4: () => [
      createIntervalMark("slope", of("slope"), of("slope_error"), 1),
      createIntervalMark("offset", of("intercept"), of("intercept_error"), 0),
    ],
    G5: () => {
      const share = (100 * of("refused")) / of("successes");
      const high = 100 * of("upper_bound");
      return [{ label: "refused, %", low: 0, value: share, high, border: 0.1 }];
    },
  };
  const found = all[id]?.() ?? [];
  return found.filter((mark) => [mark.low, mark.value, mark.high].every(Number.isFinite));
}

/** Effect of one ingredient under the live and the tested weights. */
export interface BarPair {
  name: string;
  live: number;
  tested: number;
}

const BAR_WIDTH = 720;
const NAME_WIDTH = 250;
const VALUE_WIDTH = 46;
const ROW_HEIGHT = 34;
const BAR_HEIGHT = 11;

/** Paired horizontal bars, one row an ingredient. */
export function renderPairedBars(rows: readonly BarPair[], title: string): string {
  const most = Math.max(1, ...rows.flatMap(({ live, tested }) => [live, tested]));
  const scale = (BAR_WIDTH - NAME_WIDTH - VALUE_WIDTH) / most;
  const bar = (value: number, y: number, name: string) =>
    `<rect x="${NAME_WIDTH}" y="${y}" width="${formatPixels(Math.max(1, value * scale))}" height="${BAR_HEIGHT}" ` +
    `class="bar ${name}"/>` +
    `<text x="${formatPixels(NAME_WIDTH + value * scale + 5)}" y="${y + 10}" class="tick">` +
    `${Math.round(value)}</text>`;
  const body = rows.map(({ name, live, tested }, i) => {
    const y = i * ROW_HEIGHT + 4;
    return (
      `<text x="${NAME_WIDTH - 8}" y="${y + 16}" class="end name">${name}</text>` +
      bar(live, y, "champion") +
      bar(tested, y + BAR_HEIGHT + 2, "challenger")
    );
  });
  const height = rows.length * ROW_HEIGHT + 4;
  return (
    `<svg viewBox="0 0 ${BAR_WIDTH} ${height}" role="img" aria-label="${title}">` +
    `${body.join("")}</svg>`
  );
}
