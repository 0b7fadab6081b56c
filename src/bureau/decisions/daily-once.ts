// Once per agent and day: what is flagged for review is flagged the first time, so that a crawler
// of a thousand requests is one entry of the queue; and an audit draws one lot, so that asking again
// wins nothing. Bounded; one per deciding thread.

const DAY_MS = 86_400_000;
/** Agents remembered of one day; those beyond count as if they had been there already. */
const TRACKED_AGENTS_MAX = 100_000;

export class FirstOfDayTracker {
  readonly #agents = new Set<string>();
  #day = -1;

  /** Whether this is the agent's first time on the UTC day of `nowMs`, epoch ms. */
  markIfFirst(agent: string, nowMs: number): boolean {
    if (!this.wouldBeFirst(agent, nowMs)) return false;
    this.#agents.add(agent);
    return true;
  }

  /** What `isFirst` would say, without counting as a time. */
  wouldBeFirst(agent: string, nowMs: number): boolean {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#agents.clear();
    }
    return !this.#agents.has(agent) && this.#agents.size < TRACKED_AGENTS_MAX;
  }
}
