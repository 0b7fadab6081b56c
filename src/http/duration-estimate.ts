// Estimate of the duration of a route's asynchronous answers, to refuse a deadline that cannot be
// met before doing the work. It decays a little with each refusal, so a slow hour cannot lock
// callers out: with nothing admitted there would be nothing to learn from.

const SAMPLE_WEIGHT = 0.1;
const REFUSAL_DECAY = 0.9;

export class DurationEstimate {
  #ms = 0;

  add(elapsedMs: number): void {
    this.#ms += (elapsedMs - this.#ms) * SAMPLE_WEIGHT;
  }

  /** True when an answer within `deadlineMs` is not to be expected. */
  isBeyond(deadlineMs: number): boolean {
    if (this.#ms <= deadlineMs) return false;
    this.#ms *= REFUSAL_DECAY;
    return true;
  }
}
