// Gradient-boosted trees for a 0/1 outcome, small and plain: a baseline of eval:trust. Histograms of
// 32 bins by quantile, trees of depth 4, Newton leaves, stopped where a later part of the training
// rows gets worse.
const BINS = 32;
const DEPTH = 4;
const RATE = 0.1;
const ROUNDS_MAX = 300;
const PATIENCE = 20;
const LEAF_RIDGE = 5;
const CHILD_MIN = 5;

/** Inner nodes of a complete tree, then its leaves. */
interface Tree {
  columns: Int32Array;
  /** Rows whose bin is at most this go left. */
  bins: Uint8Array;
  leaves: Float64Array;
}

/** Borders of the bins of each column, by quantile of the rows [from, to). */
function bordersOf(values: Float64Array, columns: number, from: number, to: number) {
  return Array.from({ length: columns }, (_, column) => {
    const sorted = Float64Array.from(
      { length: to - from },
      (__, i) => values[(from + i) * columns + column]!,
    ).toSorted();
    const borders = new Set<number>();
    for (let bin = 1; bin < BINS; bin++) {
      borders.add(sorted[Math.floor((bin * sorted.length) / BINS)]!);
    }
    return [...borders].toSorted((a, b) => a - b);
  });
}

function binned(values: Float64Array, columns: number, borders: number[][]): Uint8Array {
  return Uint8Array.from(values, (value, at) => {
    const own = borders[at % columns]!;
    let bin = 0;
    while (bin < own.length && value >= own[bin]!) bin++;
    return bin;
  });
}

/** Best split of one node by gain; undefined where none helps. */
function bestSplit(gradients: Float64Array, hessians: Float64Array, columns: number) {
  let [totalG, totalH] = [0, 0];
  for (let bin = 0; bin < BINS; bin++) {
    totalG += gradients[bin]!;
    totalH += hessians[bin]!;
  }
  const score = (g: number, h: number) => (g * g) / (h + LEAF_RIDGE);
  let best: { column: number; bin: number; gain: number } | undefined;
  for (let column = 0; column < columns; column++) {
    let [g, h] = [0, 0];
    for (let bin = 0; bin < BINS - 1; bin++) {
      g += gradients[column * BINS + bin]!;
      h += hessians[column * BINS + bin]!;
      if (h < CHILD_MIN || totalH - h < CHILD_MIN) continue;
      const gain = score(g, h) + score(totalG - g, totalH - h) - score(totalG, totalH);
      if (gain > (best?.gain ?? 1e-6)) best = { column, bin, gain };
    }
  }
  return best;
}

function grow(
  bins: Uint8Array,
  columns: number,
  gradient: Float64Array,
  hessian: Float64Array,
): Tree {
  const inner = 2 ** DEPTH - 1;
  const tree = {
    columns: new Int32Array(inner).fill(-1),
    bins: new Uint8Array(inner),
    leaves: new Float64Array(2 ** DEPTH),
  };
  const nodes = new Int32Array(gradient.length);
  for (let depth = 0; depth < DEPTH; depth++) {
    const first = 2 ** depth - 1;
    const size = columns * BINS;
    const g = new Float64Array(size * 2 ** depth);
    const h = new Float64Array(size * 2 ** depth);
    for (let row = 0; row < nodes.length; row++) {
      const at = (nodes[row]! - first) * size;
      for (let column = 0; column < columns; column++) {
        const cell = at + column * BINS + bins[row * columns + column]!;
        g[cell]! += gradient[row]!;
        h[cell]! += hessian[row]!;
      }
    }
    for (let i = 0; i < 2 ** depth; i++) {
      const cells = [i * size, (i + 1) * size] as const;
      const split = bestSplit(g.subarray(...cells), h.subarray(...cells), columns);
      if (split === undefined) continue;
      tree.columns[first + i] = split.column;
      tree.bins[first + i] = split.bin;
    }
    for (let row = 0; row < nodes.length; row++)
      nodes[row] = nextNode(tree, bins, columns, row, nodes[row]!);
  }
  const sums = tree.leaves.map(() => 0);
  const weights = tree.leaves.map(() => LEAF_RIDGE);
  for (let row = 0; row < nodes.length; row++) {
    sums[nodes[row]! - inner]! += gradient[row]!;
    weights[nodes[row]! - inner]! += hessian[row]!;
  }
  tree.leaves.forEach((_, leaf) => (tree.leaves[leaf] = (RATE * sums[leaf]!) / weights[leaf]!));
  return tree;
}

function nextNode(tree: Tree, bins: Uint8Array, columns: number, row: number, node: number) {
  const column = tree.columns[node]!;
  const isLeft = column < 0 || bins[row * columns + column]! <= tree.bins[node]!;
  return 2 * node + (isLeft ? 1 : 2);
}

function leafOf(tree: Tree, bins: Uint8Array, columns: number, row: number): number {
  let node = 0;
  for (let depth = 0; depth < DEPTH; depth++) node = nextNode(tree, bins, columns, row, node);
  return tree.leaves[node - tree.columns.length]!;
}

/**
 * Probabilities of the rows [to, end), learnt on [from, to), the last eighth of which says when to
 * stop.
 */
export function boostedForecasts(
  values: Float64Array,
  columns: number,
  failures: Uint8Array,
  [from, to, end]: readonly [number, number, number],
): Float64Array {
  const stopFrom = Math.floor(to - (to - from) / 8);
  const borders = bordersOf(values, columns, from, stopFrom);
  const bins = binned(values.subarray(from * columns, end * columns), columns, borders);
  const count = end - from;
  const train = stopFrom - from;
  const rate = failures.subarray(from, stopFrom).reduce((sum, y) => sum + y, 0) / train;
  const eta = new Float64Array(count).fill(Math.log(rate / (1 - rate)));
  const gradient = new Float64Array(train);
  const hessian = new Float64Array(train);
  const lossOf = () => {
    let loss = 0;
    for (let row = train; row < to - from; row++) {
      loss += Math.log1p(Math.exp(failures[from + row] === 1 ? -eta[row]! : eta[row]!));
    }
    return loss;
  };
  let best = { loss: lossOf(), eta: eta.slice(), round: 0 };
  for (let round = 1; round <= ROUNDS_MAX && round - best.round <= PATIENCE; round++) {
    for (let row = 0; row < train; row++) {
      const p = 1 / (1 + Math.exp(-eta[row]!));
      gradient[row] = failures[from + row]! - p;
      hessian[row] = p * (1 - p);
    }
    const tree = grow(bins.subarray(0, train * columns), columns, gradient, hessian);
    for (let row = 0; row < count; row++) eta[row]! += leafOf(tree, bins, columns, row);
    const loss = lossOf();
    if (loss < best.loss) best = { loss, eta: eta.slice(), round };
  }
  return best.eta.subarray(to - from).map((x) => 1 / (1 + Math.exp(-x)));
}
