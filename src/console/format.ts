// Numbers, times and foreign text in words for people.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

const NUMBER_FORMATS = new Map<number, Intl.NumberFormat>();

/** With thousands separators and at most `digits` decimals; a dash for none. */
export function formatNumber(value: number | null | undefined, digits = 0): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  let format = NUMBER_FORMATS.get(digits);
  if (format === undefined) {
    format = new Intl.NumberFormat("en", { maximumFractionDigits: digits });
    NUMBER_FORMATS.set(digits, format);
  }
  return format.format(value);
}

/** A share of 1 as per cent. */
export function formatPercent(share: number | null | undefined, digits = 1): string {
  return share === null || share === undefined ? "–" : `${formatNumber(share * 100, digits)} %`;
}

/** A share that may be too small for two digits: then what it is below. */
export function formatSmallShare(share: number | null): string {
  return share !== null && share > 0 && share < 0.0001 ? "below 0.01 %" : formatPercent(share, 2);
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const power = value < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${formatNumber(value / 1024 ** power, power === 0 ? 0 : 1)} ${BYTE_UNITS[power]}`;
}

const TIME_UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A duration by its largest unit: `3 h`, `12 s`, `0.8 ms`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  for (const [size, unit] of TIME_UNITS)
    if (ms >= size) return `${formatNumber(ms / size, 1)} ${unit}`;
  return `${formatNumber(ms, 2)} ms`;
}

/** How long ago: `just now`, `5 min ago`, `in 2 h`. */
export function formatRelativeTime(atMs: number, nowMs: number): string {
  const span = nowMs - atMs;
  if (Math.abs(span) < 2000) return "just now";
  const [size, unit] = TIME_UNITS.find(([each]) => Math.abs(span) >= each) ?? [1000, "s"];
  const count = formatNumber(Math.floor(Math.abs(span) / size));
  return span > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
}

/** Characters that are not seen, or that turn the order of others around. */
const HIDDEN_CHARACTERS =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text from strangers with such characters as escapes, so that a name is what it looks like. */
export function escapeHiddenCharacters(text: string): string {
  return text.replaceAll(
    HIDDEN_CHARACTERS,
    (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`,
  );
}
