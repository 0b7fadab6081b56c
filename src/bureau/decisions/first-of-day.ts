// Tracks the first event of each agent in a UTC day: a thin record is flagged once, so that a crawler's thousand
// requests are one entry of the review queue; and only the first challenge is eligible for audit sampling, so
// that retrying does not improve its odds. Bounded; one for each deciding thread.
import { DAY_MS } from "../../contract/units.ts";

/** Agents tracked in one day; later ones count as seen. */
const TRACKED_AGENTS_MAX = 100_000;

export class FirstOfDayTracker {
  readonly #agents = new Set<string>();
  #day = -1;

  /** Whether this is the agent's first time on the UTC day of `nowMs` (epoch ms); marks it. */
  markIfFirst(agent: string, nowMs: number): boolean {
    if (!this.wouldBeFirst(agent, nowMs)) return false;
    this.#agents.add(agent);
    return true;
  }

  /** The result of `markIfFirst`, without marking. */
  wouldBeFirst(agent: string, nowMs: number): boolean {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#agents.clear();
    }
    return !this.#agents.has(agent) && this.#agents.size < TRACKED_AGENTS_MAX;
  }
}
