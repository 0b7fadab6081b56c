// Composition of the decision log's rings: one for each HTTP thread, one for each pool thread, all
// of them read by the store thread.
import type { DecisionLog } from "../contract/decisions.ts";
import { DecisionBudget } from "../store/decisions/budget.ts";
import { createDecisionRing, readRingCounters } from "../store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../store/decisions/ring.ts";

interface DecisionLogGauges {
  readonly decisions_recorded_total: number;
  readonly decisions_dropped_total: number;
  /** Inverse of the probability with which the budget lets a decision be kept that is sampled first. */
  readonly decisions_sample_one_in: number;
}

export interface OpenDecisionLog {
  /** Of the main thread. */
  readonly log: DecisionLog;
  /** Of the further HTTP threads. */
  readonly httpRings: readonly SharedArrayBuffer[];
  readonly poolRings: readonly SharedArrayBuffer[];
  /** All of them, for the store. */
  readonly rings: readonly SharedArrayBuffer[];
  /** Of all of them (store/decisions/budget.ts). */
  readonly budget: SharedArrayBuffer;
  /** Numbers of legs recorded, and of legs that were not in the sample. */
  gauges(): DecisionLogGauges;
  /** Resolves once all waiting records are in the rings; the store must still be open. */
  flush(): Promise<void>;
}

/** `poolThreads` may be 0. All threads share the budget. */
export function openDecisionLog(
  httpThreads: number,
  poolThreads: number,
  budget: SharedArrayBuffer,
  clock: () => number,
): OpenDecisionLog {
  const bucket = new DecisionBudget(budget);
  const own = createDecisionRing();
  const httpRings = Array.from({ length: httpThreads - 1 }, () => createDecisionRing());
  const poolRings = Array.from({ length: poolThreads }, () => createDecisionRing());
  const rings = [own, ...httpRings, ...poolRings];
  const log = new DecisionRingWriter(own, { waitMs: 0, budget });
  return {
    log,
    httpRings,
    poolRings,
    rings,
    budget,
    gauges: () => {
      const counts = rings.map((ring) => readRingCounters(ring));
      return {
        decisions_recorded_total: counts.reduce((sum, each) => sum + each.recorded, 0),
        decisions_dropped_total: counts.reduce((sum, each) => sum + each.dropped, 0),
        decisions_sample_one_in: 2 ** bucket.selectExponent(false, clock()),
      };
    },
    flush: () => log.flush(),
  };
}
