// Histograms over fixed typed arrays: counting is a comparison or two and two additions, without
// allocation, because it happens on every request. The cells may lie in shared memory, where one
// thread writes and another reads; a reader may see a count before its sum, which a scrape forgives.

/** Upper bounds in seconds, inclusive: 100 us to 10 s, three in a decade. */
export const DURATION_BOUNDS_SEC: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
/** Upper bounds of how many are in one batch, inclusive. */
export const BATCH_SIZE_BOUNDS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000,
];

/** Counts of one histogram, as data that may cross between threads. */
export interface HistogramCounts {
  /** By bucket, not cumulated; the last one is above all bounds. */
  readonly buckets: readonly number[];
  readonly sum: number;
}

const CELL_BYTES = 8;

/** A fixed number of histograms with the same bounds. */
export class Histograms {
  readonly #bounds: readonly number[];
  readonly #cells: Float64Array;
  /** Cells of one: its buckets, the one above all bounds, and the sum. */
  readonly #stride: number;

  /** `memory` has at least `bytesOf` bytes from `offset` on; left out, the cells are its own. */
  constructor(count: number, bounds: readonly number[], memory?: SharedArrayBuffer, offset = 0) {
    this.#bounds = bounds;
    this.#stride = bounds.length + 2;
    const cells = count * this.#stride;
    this.#cells =
      memory === undefined ? new Float64Array(cells) : new Float64Array(memory, offset, cells);
  }

  static bytesOf(count: number, bounds: readonly number[]): number {
    return count * (bounds.length + 2) * CELL_BYTES;
  }

  /** Counts `value` so many times in histogram `index`. */
  add(index: number, value: number, times = 1): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
    const first = index * this.#stride;
    const sum = first + bounds.length + 1;
    this.#cells[first + bucket] = this.#cells[first + bucket]! + times;
    this.#cells[sum] = this.#cells[sum]! + value * times;
  }

  counts(index: number): HistogramCounts {
    const first = index * this.#stride;
    const sum = first + this.#stride - 1;
    return { buckets: [...this.#cells.subarray(first, sum)], sum: this.#cells[sum]! };
  }

  /** Those in which something was counted, by their index. */
  used(): [number, HistogramCounts][] {
    const found: [number, HistogramCounts][] = [];
    for (let index = 0; index * this.#stride < this.#cells.length; index += 1) {
      const counts = this.counts(index);
      if (counts.buckets.some((count) => count > 0)) found.push([index, counts]);
    }
    return found;
  }
}

/** The counts of several as if they had been counted in one; `undefined` is none. */
export function addHistogramCounts(
  left: HistogramCounts | undefined,
  right: HistogramCounts,
): HistogramCounts {
  if (left === undefined) return right;
  const buckets = right.buckets.map((count, index) => count + (left.buckets[index] ?? 0));
  return { buckets, sum: left.sum + right.sum };
}
