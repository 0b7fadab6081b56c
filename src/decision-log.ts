// Puts the rings of the decision log together: one for the HTTP thread, one for each pool thread,
// all of them read by the store thread.
import type { DecisionLog } from "./contract/decisions.ts";
import { createDecisionRing, decisionCounts } from "./store/decision-layout.ts";
import { DecisionRing } from "./store/decision-ring.ts";

export interface OpenDecisionLog {
  /** Of the HTTP thread. */
  readonly log: DecisionLog;
  readonly poolRings: readonly SharedArrayBuffer[];
  /** All of them, for the store. */
  readonly rings: readonly SharedArrayBuffer[];
  /** How many legs were recorded, and how many that let through had to be dropped. */
  gauges(): { decisions_recorded: number; decisions_dropped: number };
  /** Resolves once all that waits is in the rings; the store must still be open. */
  flush(): Promise<void>;
}

/** `poolThreads` may be 0. */
export function openDecisionLog(poolThreads: number, letThroughPerSecond: number): OpenDecisionLog {
  const own = createDecisionRing();
  const poolRings = Array.from({ length: poolThreads }, () => createDecisionRing());
  const rings = [own, ...poolRings];
  const log = new DecisionRing(own, { waitMs: 0, letThroughPerSecond });
  return {
    log,
    poolRings,
    rings,
    gauges: () => {
      const counts = rings.map((ring) => decisionCounts(ring));
      return {
        decisions_recorded: counts.reduce((sum, each) => sum + each.recorded, 0),
        decisions_dropped: counts.reduce((sum, each) => sum + each.dropped, 0),
      };
    },
    flush: () => log.flush(),
  };
}
