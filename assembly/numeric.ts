// Small numeric kernels shared by the fold and the score.

export const DAY_MS: f64 = 86400000.0;
const DAYS_PER_MS: f64 = 1.0 / DAY_MS;
const LN2: f64 = 0.6931471805599453;

/** Logistic function: log-odds to probability. */
export function sigmoid(x: f64): f64 {
  return 1.0 / (1.0 + Math.exp(-x));
}

/** exp(-days / tau): remaining share of a mean after `days` of Ornstein-Uhlenbeck reversion. */
export function reversion(days: f64, tau: f64): f64 {
  return days > 0.0 ? Math.exp(-days / tau) : 1.0;
}

/** 2^(-days / halfLife): remaining share of a decayed counter. */
export function halving(days: f64, halfLife: f64): f64 {
  return days > 0.0 ? Math.exp((-LN2 * days) / halfLife) : 1.0;
}

/** Variance after reversion by factor `a` towards its prior. */
export function revertVariance(variance: f64, prior: f64, a: f64): f64 {
  const squared = a * a;
  return variance * squared + prior * (1.0 - squared);
}

/** Days from one epoch-millisecond time to another, never negative. */
export function daysBetween(fromMs: f64, toMs: f64): f64 {
  // A product: a division takes four times as long, and a leg has five of these.
  return toMs > fromMs ? (toMs - fromMs) * DAYS_PER_MS : 0.0;
}
