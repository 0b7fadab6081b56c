// Baselines of eval:trust beside the engine, on the same rows: the constant training rate, and
// decayed Beta reputation (Josang & Ismail) with an empirical prior, raw and calibrated.
import {
  computeAuc,
  computeCalibrationError,
  computeMeanLogLoss,
} from "../src/kaizen/model/forecast-metrics.ts";
import { fitLogistic } from "../src/kaizen/model/fit.ts";
import type { RatedOutcome } from "./ratings.ts";

const PRIOR_WEIGHT = 2;
const HALF_LIFE_DAYS = 90;
const DAY_MS = 86_400_000;

interface Counter {
  successes: number;
  failures: number;
  atMs: number;
}

/**
 * Beta(k p, k (1-p)) with 90-day half-life; p is the failing rate of the past. The past is what
 * settled `lagDays` earlier and more: not what has the same time.
 */
export function betaForecasts(outcomes: readonly RatedOutcome[], lagDays: number): Float64Array {
  const counters = new Map<string, Counter>();
  const forecasts = new Float64Array(outcomes.length);
  let failures = 1;
  let total = 10;
  let folded = 0;
  const decayed = (counter: Counter, timeMs: number): Counter => {
    const keep = 2 ** (-Math.max(0, timeMs - counter.atMs) / DAY_MS / HALF_LIFE_DAYS);
    return {
      successes: counter.successes * keep,
      failures: counter.failures * keep,
      atMs: timeMs,
    };
  };
  const counterOf = (subject: string, timeMs: number): Counter =>
    decayed(counters.get(subject) ?? { successes: 0, failures: 0, atMs: timeMs }, timeMs);
  outcomes.forEach(({ subject, timeMs }, i) => {
    for (; outcomes[folded]!.timeMs + lagDays * DAY_MS < timeMs; folded++) {
      const past = outcomes[folded]!;
      const counter = counterOf(past.subject, past.timeMs);
      counter.successes += 1 - past.failure;
      counter.failures += past.failure;
      counters.set(past.subject, counter);
      failures += past.failure;
      total += 1;
    }
    const rate = failures / total;
    const counter = counterOf(subject, timeMs);
    const evidence = counter.failures + counter.successes;
    forecasts[i] = (counter.failures + PRIOR_WEIGHT * rate) / (evidence + PRIOR_WEIGHT);
  });
  return forecasts;
}

/** AUC, log-loss and calibration of the baselines on the test rows. */
export function betaBaselines(
  outcomes: readonly RatedOutcome[],
  split: { from: number; to: number; end: number },
  lagDays = 0,
) {
  const labels = Uint8Array.from(outcomes, (o) => o.failure);
  const train = labels.subarray(split.from, split.to);
  const test = labels.subarray(split.to, split.end);
  const rate = train.reduce((sum, y) => sum + y, 0) / train.length;
  const beta = betaForecasts(outcomes, lagDays);
  const raw = beta.subarray(split.to, split.end);
  const logit = beta.map((p) => Math.log(p / (1 - p)));
  const design = (from: number, to: number) => {
    const values = new Float64Array((to - from) * 2);
    for (let i = from; i < to; i++) values.set([1, logit[i]!], (i - from) * 2);
    return values;
  };
  const fit = fitLogistic(
    { columns: 2, values: design(split.from, split.to), failures: train },
    { lambda: 0, signs: [0, 1] },
  );
  const [a, b] = fit?.coefficients ?? [0, 1];
  const calibrated = logit.subarray(split.to).map((x) => 1 / (1 + Math.exp(-(a! + b! * x))));
  return {
    constant_log_loss: computeMeanLogLoss(new Float64Array(test.length).fill(rate), test),
    beta_auc: computeAuc(raw, test),
    beta_log_loss: computeMeanLogLoss(raw, test),
    beta_ece: computeCalibrationError(raw, test),
    beta_calibrated_log_loss: computeMeanLogLoss(calibrated, test),
  };
}
