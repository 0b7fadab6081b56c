// Guard of a further HTTP thread against being cut off, over the figures that the stream thread keeps.
import { LagGuard, type SharedLag } from "../../http/access/lag-guard.ts";
import { StreamMetrics } from "../../stream/metrics.ts";

/** Undefined where there is no cluster. `clock` is epoch ms. */
export function createLagGuard(
  shared: SharedLag | undefined,
  clock: () => number,
): LagGuard | undefined {
  if (shared === undefined) return undefined;
  return new LagGuard(new StreamMetrics(shared.memory), shared.refuseMs, clock);
}
