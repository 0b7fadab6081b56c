// Medians with their spread, seeded order, and the table that a person reads.

/** Middle and spread of figures; the spread is that between the tenth and the ninetieth of a hundred. */
export interface Spread {
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

/** Of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: rounded(at(0.5)), p10: rounded(at(0.1)), p90: rounded(at(0.9)) };
}

/** Three significant digits below 100, whole numbers above. */
export function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/** A source of numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** The same items in another order (Fisher and Yates). */
export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!];
  }
  return mixed;
}

/** `12.1 (11.9 to 12.6)`. */
export function told({ median, p10, p90 }: Spread): string {
  return `${median.toLocaleString("en")} (${p10.toLocaleString("en")} to ${p90.toLocaleString("en")})`;
}

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const laidOut = lines.map((line) =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
      )
      .join("  "),
  );
  return `${laidOut.join("\n")}\n`;
}
