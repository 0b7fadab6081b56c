// Limits on new agents and new pairs by API key and hour, so that no key can fill the agent table in a
// day. Counted after the fold, which alone knows what was new: a commit may run over, and its key
// then waits for as much longer. Of this process only: a start begins anew.

/** Keys with something to wait for; the longest unheard leaves first. */
const KEYS_MAX = 10_000;

/** New agents and new pairs that one key may bring by the hour; Infinity for no limit. */
export interface NewcomersPerHour {
  readonly agents: number;
  readonly pairs: number;
}

/** More than a gateway with a million agents meets in its first hour. */
export const NEWCOMERS_PER_HOUR: NewcomersPerHour = { agents: 100_000, pairs: 1_000_000 };

interface NewcomerUsage {
  agents: number;
  pairs: number;
  atMs: number;
}

export class NewcomerLimits {
  readonly #limits: NewcomersPerHour;
  /** By number of the key, least recently charged first. */
  readonly #usageByKey = new Map<number, NewcomerUsage>();
  /** The key charged last: a commit has many outcomes of few keys. */
  #lastSender = 0;
  #lastUsage: NewcomerUsage = { agents: 0, pairs: 0, atMs: 0 };
  /** Keys that were over a limit when last looked at. */
  readonly #overLimitKeys = new Set<number>();

  constructor(limits: NewcomersPerHour) {
    this.#limits = limits;
  }

  /** Keys that are over a limit. */
  get overLimitCount(): number {
    return this.#overLimitKeys.size;
  }

  /** Books what a record of this key has added. */
  charge(sender: number, agents: number, pairs: number, nowMs: number): void {
    const isLast = sender === this.#lastSender && nowMs === this.#lastUsage.atMs;
    const spent = isLast ? this.#lastUsage : this.#moveUsageToNewest(sender, nowMs);
    spent.agents += agents;
    spent.pairs += pairs;
    if (this.#isUsageOverLimit(spent)) this.#overLimitKeys.add(sender);
  }

  /** What a key has spent, which is the newest to be charged from now on. */
  #moveUsageToNewest(sender: number, nowMs: number): NewcomerUsage {
    const spent = this.#refillUsage(sender, nowMs);
    this.#usageByKey.delete(sender);
    this.#usageByKey.set(sender, spent);
    if (this.#usageByKey.size > KEYS_MAX) this.#forgetOldest();
    this.#lastSender = sender;
    this.#lastUsage = spent;
    return spent;
  }

  /** Whether this key may bring nothing new at present. */
  isOverLimit(sender: number, nowMs: number): boolean {
    if (!this.#overLimitKeys.has(sender)) return false;
    if (this.#isUsageOverLimit(this.#refillUsage(sender, nowMs))) return true;
    this.#overLimitKeys.delete(sender);
    return false;
  }

  #isUsageOverLimit({ agents, pairs }: NewcomerUsage): boolean {
    return agents >= this.#limits.agents || pairs >= this.#limits.pairs;
  }

  /** What is spent of the limits now: an hour gives back all of them, evenly. */
  #refillUsage(sender: number, nowMs: number): NewcomerUsage {
    const spent = this.#usageByKey.get(sender);
    if (spent === undefined) return { agents: 0, pairs: 0, atMs: nowMs };
    const share = (nowMs - spent.atMs) / HOUR_MS;
    spent.atMs = nowMs;
    // A clock that was put back gives nothing back.
    if (share <= 0) return spent;
    spent.agents = computeRemaining(spent.agents, share * this.#limits.agents);
    spent.pairs = computeRemaining(spent.pairs, share * this.#limits.pairs);
    return spent;
  }

  #forgetOldest(): void {
    for (const sender of this.#usageByKey.keys()) {
      this.#usageByKey.delete(sender);
      this.#overLimitKeys.delete(sender);
      return;
    }
  }
}

function computeRemaining(spent: number, back: number): number {
  return back >= spent ? 0 : spent - back;
}
import { HOUR_MS } from "../../contract/units.ts";
