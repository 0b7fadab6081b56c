// Pigeonhole bootstrap (Owen 2007): every subject and every reporter draws a Poisson(1) weight, a
// row counts by their product. Conservative for crossed clusters. Reported with a run; the gates
// themselves rest on the closed forms.
import type { Holdout } from "./holdout.ts";
import { refusalsOf } from "./holdout.ts";
import { seededRandom } from "./random.ts";
import type { Random } from "./random.ts";

/** Resamples, and rows times resamples that one run may spend. */
const RESAMPLES = 999;
const WORK_MAX = 3e7;

export interface BootstrapInterval {
  /** 5 % and 95 % quantiles of challenger minus champion. */
  low: number;
  high: number;
  /** (1 + #{not better}) / (B + 1). */
  p: number;
}

export interface Bootstrap {
  resamples: number;
  auc: BootstrapInterval;
  log_loss: BootstrapInterval;
  false_positive_rate: BootstrapInterval;
}

/** Weighted AUC by one pass over rows in order of score; rare ties stay in order of the rows. */
function weightedAuc(order: Uint32Array, weights: Float64Array, failures: Uint8Array): number {
  let goodsBelow = 0;
  let pairs = 0;
  let bads = 0;
  for (const row of order) {
    const w = weights[row]!;
    if (failures[row] === 1) {
      pairs += w * goodsBelow;
      bads += w;
    } else goodsBelow += w;
  }
  return bads > 0 && goodsBelow > 0 ? pairs / (bads * goodsBelow) : 0.5;
}

function orderOf(logits: Float64Array): Uint32Array {
  return Uint32Array.from(logits, (_, i) => i).toSorted((a, b) => logits[a]! - logits[b]!);
}

function interval(differences: number[], isBetter: (x: number) => boolean): BootstrapInterval {
  const sorted = differences.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
  const not = differences.filter((x) => !isBetter(x)).length;
  return { low: at(0.05), high: at(0.95), p: (1 + not) / (differences.length + 1) };
}

/** Room for every agent number that occurs. */
function sizeOf(ids: Uint32Array): number {
  return ids.reduce((most, id) => Math.max(most, id), 0) + 1;
}

function draw(weights: Uint8Array, random: Random): void {
  for (let i = 0; i < weights.length; i++) weights[i] = random.poisson();
}

/** Resamples the holdout; the seed makes it the same on every machine. */
export function pigeonholeBootstrap(holdout: Holdout, seed: number): Bootstrap {
  const { champion, challenger, failures, subjects, reporters, config } = holdout;
  const n = failures.length;
  const resamples = Math.max(99, Math.min(RESAMPLES, Math.floor(WORK_MAX / n)));
  const random = seededRandom(seed);
  const [ownOrder, otherOrder] = [orderOf(challenger.logits), orderOf(champion.logits)];
  const [ownRefused, otherRefused] = [refusalsOf(challenger, config), refusalsOf(champion, config)];
  const auc: number[] = [];
  const loss: number[] = [];
  const refused: number[] = [];
  const weights = new Float64Array(n);
  const bySubject = new Uint8Array(sizeOf(subjects));
  const byReporter = new Uint8Array(sizeOf(reporters));
  for (let b = 0; b < resamples; b++) {
    draw(bySubject, random);
    draw(byReporter, random);
    let [total, gain, goods, more] = [0, 0, 0, 0];
    for (let i = 0; i < n; i++) {
      const w = bySubject[subjects[i]!]! * byReporter[reporters[i]!]!;
      weights[i] = w;
      total += w;
      gain += w * (challenger.losses[i]! - champion.losses[i]!);
      if (failures[i] === 1) continue;
      goods += w;
      more += w * (Number(ownRefused[i]) - Number(otherRefused[i]));
    }
    const own = weightedAuc(ownOrder, weights, failures);
    auc.push(own - weightedAuc(otherOrder, weights, failures));
    loss.push(total > 0 ? gain / total : 0);
    refused.push(goods > 0 ? more / goods : 0);
  }
  return {
    resamples,
    auc: interval(auc, (x) => x > 0),
    log_loss: interval(loss, (x) => x < 0),
    false_positive_rate: interval(refused, (x) => x <= 0),
  };
}
