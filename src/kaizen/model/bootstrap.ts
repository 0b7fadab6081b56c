// Pigeonhole bootstrap (Owen 2007): every subject and every reporter draws a Poisson(1) weight, a
// row counts by their product. Conservative for crossed clusters. Reported with a run; the gates
// themselves rest on the closed forms.
import type { Holdout } from "./holdout.ts";
import { predictDenials } from "./holdout.ts";

export interface RandomGenerator {
  /** In [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** Poisson with mean 1. */
  poisson(): number;
}

/** A generator for `seed`, an unsigned 32-bit integer. */
export function createSeededRandom(seed: number): RandomGenerator {
  let [a, b, c, counter] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88 | 0, 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  const uniform = () => next() / 2 ** 32;
  const normal = () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  };
  const poisson = () => {
    let k = 0;
    for (let product = uniform(); product > 1 / Math.E; product *= uniform()) k++;
    return k;
  };
  return { uniform, normal, poisson };
}

/** Resamples, and rows times resamples that one run may spend. */
const RESAMPLES = 999;
const ROW_RESAMPLES_MAX = 1e8;

export interface BootstrapInterval {
  /** 5 % and 95 % quantiles of challenger minus champion. */
  low: number;
  high: number;
  /** (1 + #{not better}) / (B + 1). */
  p: number;
}

export interface BootstrapResult {
  resamples: number;
  auc: BootstrapInterval;
  log_loss: BootstrapInterval;
  false_positive_rate: BootstrapInterval;
}

/** Rows in order of one model's score, so that a pass reads memory in order. */
interface ScoreOrderedRows {
  subjects: Uint32Array;
  reporters: Uint32Array;
  failures: Uint8Array;
}

function sortRowsByScore(logits: Float64Array, holdout: Holdout): ScoreOrderedRows {
  const rows = Uint32Array.from(logits, (_, i) => i);
  const order = rows.toSorted((a, b) => logits[a]! - logits[b]!);
  const { subjects, reporters, failures } = holdout;
  return {
    subjects: order.map((row) => subjects[row]!),
    reporters: order.map((row) => reporters[row]!),
    failures: Uint8Array.from(order, (row) => failures[row]!),
  };
}

/** Draws of every agent, as subject and as reporter. */
interface ClusterDraws {
  bySubject: Uint8Array;
  byReporter: Uint8Array;
}

/** Weighted AUC by one pass over rows in order of score; rare ties stay in order of the rows. */
function computeWeightedAuc(
  { subjects, reporters, failures }: ScoreOrderedRows,
  drawn: ClusterDraws,
): number {
  let goodsBelow = 0;
  let pairs = 0;
  let bads = 0;
  for (let i = 0; i < failures.length; i++) {
    const w = drawn.bySubject[subjects[i]!]! * drawn.byReporter[reporters[i]!]!;
    if (failures[i] === 1) {
      pairs += w * goodsBelow;
      bads += w;
    } else goodsBelow += w;
  }
  return bads > 0 && goodsBelow > 0 ? pairs / (bads * goodsBelow) : 0.5;
}

function computeBootstrapInterval(
  differences: number[],
  isBetter: (x: number) => boolean,
): BootstrapInterval {
  const sorted = differences.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
  const not = differences.filter((x) => !isBetter(x)).length;
  return { low: at(0.05), high: at(0.95), p: (1 + not) / (differences.length + 1) };
}

/** Length of an array indexed by every agent number that occurs. */
function computeIdCount(ids: Uint32Array): number {
  return ids.reduce((most, id) => Math.max(most, id), 0) + 1;
}

function drawPoissonWeights(weights: Uint8Array, random: RandomGenerator): void {
  for (let i = 0; i < weights.length; i++) weights[i] = random.poisson();
}

/** Resamples the holdout; the seed makes it the same on every machine. */
export function runPigeonholeBootstrap(holdout: Holdout, seed: number): BootstrapResult {
  const { champion, challenger, failures, subjects, reporters, config } = holdout;
  const n = failures.length;
  const resamples = Math.max(99, Math.min(RESAMPLES, Math.floor(ROW_RESAMPLES_MAX / n)));
  const random = createSeededRandom(seed);
  const own = sortRowsByScore(challenger.logits, holdout);
  const other = sortRowsByScore(champion.logits, holdout);
  const [ownRefused, otherRefused] = [
    predictDenials(challenger, config),
    predictDenials(champion, config),
  ];
  const auc: number[] = [];
  const loss: number[] = [];
  const refused: number[] = [];
  const gains = challenger.losses.map((lost, i) => lost - champion.losses[i]!);
  const changes = Int8Array.from(failures, (y, i) =>
    y === 1 ? 0 : Number(ownRefused[i]) - Number(otherRefused[i]),
  );
  const bySubject = new Uint8Array(computeIdCount(subjects));
  const byReporter = new Uint8Array(computeIdCount(reporters));
  for (let b = 0; b < resamples; b++) {
    drawPoissonWeights(bySubject, random);
    drawPoissonWeights(byReporter, random);
    let [total, gain, goods, more] = [0, 0, 0, 0];
    for (let i = 0; i < n; i++) {
      const w = bySubject[subjects[i]!]! * byReporter[reporters[i]!]!;
      total += w;
      gain += w * gains[i]!;
      if (failures[i] === 0) goods += w;
      more += w * changes[i]!;
    }
    const drawn = { bySubject, byReporter };
    auc.push(computeWeightedAuc(own, drawn) - computeWeightedAuc(other, drawn));
    loss.push(total > 0 ? gain / total : 0);
    refused.push(goods > 0 ? more / goods : 0);
  }
  return {
    resamples,
    auc: computeBootstrapInterval(auc, (x) => x > 0),
    log_loss: computeBootstrapInterval(loss, (x) => x < 0),
    false_positive_rate: computeBootstrapInterval(refused, (x) => x <= 0),
  };
}
