// Bootstrap over subjects: intervals of AUC and log-loss when whole agents, not single outcomes,
// are drawn with replacement, since outcomes of one agent are no independent draws.
import { computeLogLoss } from "../src/kaizen/model/forecast-metrics.ts";
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";

const DRAWS = 400;

/** 95 % interval, ends included. */
export type Interval = readonly [number, number];

/** Intervals of both measures over `DRAWS` draws of subjects. */
export function bootstrapIntervals(
  probabilities: ArrayLike<number>,
  failures: ArrayLike<number>,
  subjects: readonly string[],
): { auc: Interval; logLoss: Interval } {
  const numbers = new Map<string, number>();
  const numberOf = subjects.map((id) => {
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    return number;
  });
  const order = [...numberOf.keys()].toSorted((a, b) => probabilities[a]! - probabilities[b]!);
  const losses = order.map((row) => computeLogLoss(probabilities[row]!, failures[row]!));
  const random = createSeededRandom(1);
  const drawn = Array.from({ length: DRAWS }, () => {
    const times = new Uint16Array(numbers.size);
    for (let i = 0; i < times.length; i++) times[Math.floor(random.uniform() * times.length)]! += 1;
    return measures(order, losses, probabilities, failures, (row) => times[numberOf[row]!]!);
  });
  const interval = (values: number[]): Interval => {
    const sorted = values.toSorted((a, b) => a - b);
    return [sorted[Math.floor(0.025 * DRAWS)]!, sorted[Math.floor(0.975 * DRAWS)]!];
  };
  return {
    auc: interval(drawn.map(({ auc }) => auc)),
    logLoss: interval(drawn.map(({ logLoss }) => logLoss)),
  };
}

/** Weighted AUC (ties counted half) and log-loss, in one walk of the rows by probability. */
function measures(
  order: readonly number[],
  losses: readonly number[],
  probabilities: ArrayLike<number>,
  failures: ArrayLike<number>,
  weightOf: (row: number) => number,
) {
  let [goods, bads, won, loss] = [0, 0, 0, 0];
  for (let i = 0; i < order.length;) {
    let [good, bad] = [0, 0];
    const p = probabilities[order[i]!];
    for (; i < order.length && probabilities[order[i]!] === p; i++) {
      const weight = weightOf(order[i]!);
      if (failures[order[i]!] === 1) bad += weight;
      else good += weight;
      loss += weight * losses[i]!;
    }
    won += bad * (goods + good / 2);
    goods += good;
    bads += bad;
  }
  return { auc: won / (goods * bads), logLoss: loss / (goods + bads) };
}
