// Slopes: least squares of a cost against a size, and how the cost grows with it (the exponent: 1 is in
// proportion, 0 not at all). Three points are a hint, not a law: R2 stands beside each.

/** `cost = base + slope * size`. */
export interface Slope {
  readonly base: number;
  readonly slope: number;
  /** Share of the spread that the line explains; 1 when there is none. */
  readonly r2: number;
  /** Of a power law through the same points; null with a cost or size of 0 or less. */
  readonly exponent: number | null;
  readonly points: number;
}

export type Point = readonly [size: number, cost: number];

interface Line {
  readonly base: number;
  readonly slope: number;
  readonly r2: number;
}

/** At least two points of different sizes. @throws Error otherwise. */
export function slopeOf(points: readonly Point[]): Slope {
  const isPositive = points.every(([size, cost]) => size > 0 && cost > 0);
  const logs = points.map(([size, cost]): Point => [Math.log(size), Math.log(cost)]);
  return {
    ...lineOf(points),
    exponent: isPositive ? lineOf(logs).slope : null,
    points: points.length,
  };
}

/** Cost against the tenfolds of the size: for what grows with the logarithm. */
export function slopePerTenfold(points: readonly Point[]): Slope {
  return slopeOf(points.map(([size, cost]): Point => [Math.log10(size), cost]));
}

function lineOf(points: readonly Point[]): Line {
  const mean = (pick: (point: Point) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const [x, y] = [mean(([size]) => size), mean(([, cost]) => cost)];
  const xx = mean(([size]) => (size - x) ** 2);
  if (!(xx > 0)) throw new Error("a slope needs two sizes");
  const xy = mean(([size, cost]) => (size - x) * (cost - y));
  const yy = mean(([, cost]) => (cost - y) ** 2);
  const slope = xy / xx;
  const rest = mean(([size, cost]) => (cost - y - slope * (size - x)) ** 2);
  return { base: y - slope * x, slope, r2: yy > 0 ? 1 - rest / yy : 1 };
}
