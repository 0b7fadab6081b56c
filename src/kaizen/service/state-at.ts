// The state file as it stood at an earlier time, for a restored journal that ends there.
import type { KaizenState } from "./files.ts";

/**
 * Takes back promotions and rollbacks that came after a time. Spent evidence stays spent.
 * @param position of the journal at that time.
 */
export function rewindStateTo(state: KaizenState, atMs: number, position: number): KaizenState {
  const promotions = state.promotions
    .filter((each) => each.at_ms <= atMs)
    .map((each) => {
      const then = { ...each };
      if ((then.rolled_back?.at_ms ?? 0) > atMs) delete then.rolled_back;
      return then;
    });
  const live = promotions.findLast((each) => each.rolled_back === undefined);
  // Before any promotion the config was the one that the first of them replaced.
  const champion = live?.version ?? state.promotions[0]?.parent ?? state.champion;
  const calibrated = state.calibrated_position;
  return {
    ...state,
    promotions,
    champion,
    ...(calibrated === undefined ? {} : { calibrated_position: Math.min(calibrated, position) }),
  };
}
