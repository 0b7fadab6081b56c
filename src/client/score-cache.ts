// Cache of verdicts by agent and by range of stakes, for at most five minutes (SPEC §8.3).
// Decisions only get stricter as stakes rise, so one answer serves every stakes value for which it
// would be the same; it is never served for stakes at which the answer could differ.
import { VERDICT_TTL_MS } from "../contract/limits.ts";
import type { CheckResponse, VerifyResponse } from "./messages.ts";

/** Most entries (agents times tool levels); about 1 KiB each with a verdict. */
export const CACHE_ENTRIES_MAX = 10_000;
/** One range per decision is all that can be disjoint and exact. */
const RANGES_MAX = 4;

export interface ScoreCacheOptions {
  readonly entriesMax?: number;
  /** Lifetime in milliseconds; the verdict's own lifetime may be shorter. */
  readonly ttlMs?: number;
}

export interface Cached<Verdict> {
  readonly verdict: Verdict;
  /** Monotonic milliseconds when the question was sent: the age counts from there. */
  readonly askedMs: number;
}

interface Range<Verdict> extends Cached<Verdict> {
  /** Inclusive bounds of the stakes for which this answer holds. */
  readonly low: number;
  readonly high: number;
  readonly lifetimeMs: number;
}

export class ScoreCache<Verdict extends { evaluated_at: string; expires_at: string }> {
  readonly #entries = new Map<string, Range<Verdict>[]>();
  readonly #entriesMax: number;
  readonly #ttlMs: number;
  readonly #reachOf: (verdict: Verdict, stakes: number) => readonly [number, number];

  /** `reachOf` gives the stakes, lowest and highest, for which a verdict at `stakes` holds. */
  constructor(
    reachOf: (verdict: Verdict, stakes: number) => readonly [number, number],
    options: ScoreCacheOptions = {},
  ) {
    this.#reachOf = reachOf;
    this.#entriesMax = Math.max(1, options.entriesMax ?? CACHE_ENTRIES_MAX);
    this.#ttlMs = options.ttlMs ?? VERDICT_TTL_MS;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The answer for these stakes that is younger than `ageMsMax` and its own lifetime. */
  get(key: string, stakes: number, nowMs: number, ageMsMax: number): Cached<Verdict> | undefined {
    const ranges = this.#entries.get(key);
    if (ranges === undefined) return undefined;
    for (const range of ranges) {
      if (stakes < range.low || stakes > range.high) continue;
      const ageMs = nowMs - range.askedMs;
      if (ageMs >= ageMsMax || ageMs >= range.lifetimeMs) continue;
      // Map order is age of use: a used entry moves to the young end.
      this.#entries.delete(key);
      this.#entries.set(key, ranges);
      return range;
    }
    return undefined;
  }

  put(key: string, stakes: number, verdict: Verdict, askedMs: number): void {
    const ownMs = Date.parse(verdict.expires_at) - Date.parse(verdict.evaluated_at);
    const [low, high] = this.#reachOf(verdict, stakes);
    const range = { verdict, askedMs, low, high, lifetimeMs: Math.min(ownMs, this.#ttlMs) };
    // An overlapping range is older and either agrees or is outdated: the new answer replaces it.
    const others = (this.#entries.get(key) ?? []).filter(
      (other) => other.high < low || other.low > high,
    );
    this.#entries.delete(key);
    this.#entries.set(key, [range, ...others].slice(0, RANGES_MAX));
    if (this.#entries.size <= this.#entriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  /** Drops one key, or everything. */
  clear(key?: string): void {
    if (key === undefined) this.#entries.clear();
    else this.#entries.delete(key);
  }
}

/** `max_stakes` is rounded down to this. */
const STAKES_STEP = 0.0001;

/**
 * The stakes at which a check would say the same. `connect` holds from zero to its `max_stakes`, a
 * verification from its own stakes on (for less it might be clear); what waits for a person holds
 * from where it would no longer open, and a refusal whatever the stakes.
 */
export function reachOfCheck(verdict: CheckResponse, stakes: number): readonly [number, number] {
  const { decision, max_stakes: stakesMax } = verdict;
  const any = Number.POSITIVE_INFINITY;
  if (decision === "refuse") return [0, any];
  if (decision === "escalate") return [Math.min(stakes, (stakesMax ?? stakes) + STAKES_STEP), any];
  return [decision === "connect" ? 0 : stakes, Math.max(stakes, stakesMax ?? any)];
}

/** ALLOW holds up to its `max_stakes`, BLOCK for more; others hold for their own stakes alone. */
export function reachOfVerify(verdict: VerifyResponse, stakes: number): readonly [number, number] {
  const { verdict: word } = verdict.policy_action;
  if (word === "BLOCK") return [stakes, Number.POSITIVE_INFINITY];
  if (word !== "ALLOW") return [stakes, stakes];
  // A service of an earlier release names no bound.
  const given: number | null | undefined = verdict.max_stakes;
  const high = given === undefined ? stakes : (given ?? Number.POSITIVE_INFINITY);
  return [verdict.reason_codes.length === 0 ? 0 : stakes, Math.max(stakes, high)];
}
