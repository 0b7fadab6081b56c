// Limits on new agents and new pairs by API key and hour, so that no key can fill the agent table in a
// day. Counted after the fold, which alone knows what was new: a commit may run over, and its key
// then waits for as much longer. Of this process only: a start begins anew.

const HOUR_MS = 3_600_000;
/** Keys with something to wait for; the longest unheard leaves first. */
const KEYS_MAX = 10_000;

/** New agents and new pairs that one key may bring by the hour; Infinity for no limit. */
export interface NewcomersPerHour {
  readonly agents: number;
  readonly pairs: number;
}

/** More than a gateway with a million agents meets in its first hour. */
export const NEWCOMERS_PER_HOUR: NewcomersPerHour = { agents: 100_000, pairs: 1_000_000 };

interface Spent {
  agents: number;
  pairs: number;
  atMs: number;
}

export class NewcomerLimits {
  readonly #limits: NewcomersPerHour;
  /** By number of the key, least recently charged first. */
  readonly #spent = new Map<number, Spent>();
  /** The key charged last: a commit has many outcomes of few keys. */
  #lastSender = 0;
  #last: Spent = { agents: 0, pairs: 0, atMs: 0 };
  /** Keys that were over a limit when last looked at. */
  readonly #over = new Set<number>();

  constructor(limits: NewcomersPerHour) {
    this.#limits = limits;
  }

  /** Keys that are over a limit. */
  get overCount(): number {
    return this.#over.size;
  }

  /** Books what a record of this key has added. */
  charge(sender: number, agents: number, pairs: number, nowMs: number): void {
    const isLast = sender === this.#lastSender && nowMs === this.#last.atMs;
    const spent = isLast ? this.#last : this.#moved(sender, nowMs);
    spent.agents += agents;
    spent.pairs += pairs;
    if (this.#isOver(spent)) this.#over.add(sender);
  }

  /** What a key has spent, which is the newest to be charged from now on. */
  #moved(sender: number, nowMs: number): Spent {
    const spent = this.#settled(sender, nowMs);
    this.#spent.delete(sender);
    this.#spent.set(sender, spent);
    if (this.#spent.size > KEYS_MAX) this.#forgetOldest();
    this.#lastSender = sender;
    this.#last = spent;
    return spent;
  }

  /** Whether this key may bring nothing new at present. */
  isOver(sender: number, nowMs: number): boolean {
    if (!this.#over.has(sender)) return false;
    if (this.#isOver(this.#settled(sender, nowMs))) return true;
    this.#over.delete(sender);
    return false;
  }

  #isOver({ agents, pairs }: Spent): boolean {
    return agents >= this.#limits.agents || pairs >= this.#limits.pairs;
  }

  /** What is spent of the limits now: an hour gives back all of them, evenly. */
  #settled(sender: number, nowMs: number): Spent {
    const spent = this.#spent.get(sender);
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
    for (const sender of this.#spent.keys()) {
      this.#spent.delete(sender);
      this.#over.delete(sender);
      return;
    }
  }
}

function computeRemaining(spent: number, back: number): number {
  return back >= spent ? 0 : spent - back;
}
