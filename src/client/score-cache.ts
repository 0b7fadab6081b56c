// Cache of verdicts by agent and by range of stakes, for at most five minutes (SPEC §8.3). Decisions
// only get stricter as stakes rise, so one answer serves every stakes value for which it would be
// the same, and of verify every tool level that it speaks of; it is never served where the answer
// could differ.
import { putBounded } from "./bounded-map.ts";
import { VERDICT_TTL_MS } from "../contract/limits.ts";
import { TOOL_LEVELS, type ToolLevel } from "../contract/vocabulary.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  Leg,
  LevelVerdict,
  VerifyResponse,
} from "./messages.ts";

/** Most agents; some 4 KiB each with a verdict for every level. */
export const CACHE_ENTRIES_MAX = 10_000;
/** Of one agent: four levels, and one range per decision is all that can be disjoint and exact. */
const RANGES_MAX = 16;

export interface ScoreCacheOptions {
  /** Most agents. */
  readonly entriesMax?: number;
  /** Lifetime in milliseconds; the verdict's own lifetime may be shorter. */
  readonly ttlMs?: number;
}

/** What a question is about beside its agent. */
export interface CacheScope {
  readonly stakes: number;
  /** Of verify; checks and handshakes know no level. */
  readonly toolLevel?: ToolLevel | undefined;
}

/** A verdict and the questions for which it is the answer. */
export interface VerdictRange<Verdict> {
  readonly verdict: Verdict;
  readonly toolLevel?: ToolLevel | undefined;
  /** Inclusive bounds of the stakes. */
  readonly low: number;
  readonly high: number;
}

export interface CachedVerdict<Verdict> {
  readonly verdict: Verdict;
  /** Monotonic milliseconds when the question was sent: the age counts from there. */
  readonly askedMs: number;
}

interface ScoreCacheEntry<Verdict> extends VerdictRange<Verdict>, CachedVerdict<Verdict> {
  readonly lifetimeMs: number;
}

export class ScoreCache<Verdict extends { evaluated_at: string; expires_at: string }> {
  readonly #entries = new Map<string, ScoreCacheEntry<Verdict>[]>();
  readonly #entriesMax: number;
  readonly #ttlMs: number;
  readonly #listRanges: (verdict: Verdict, asked: CacheScope) => readonly VerdictRange<Verdict>[];

  /** `holdingsOf` gives the questions that a verdict answers, by the question that it was asked. */
  constructor(
    holdingsOf: (verdict: Verdict, asked: CacheScope) => readonly VerdictRange<Verdict>[],
    options: ScoreCacheOptions = {},
  ) {
    this.#listRanges = holdingsOf;
    this.#entriesMax = Math.max(1, options.entriesMax ?? CACHE_ENTRIES_MAX);
    this.#ttlMs = options.ttlMs ?? VERDICT_TTL_MS;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The answer to this question that is younger than `ageMsMax` and its own lifetime. */
  get(
    key: string,
    scope: CacheScope,
    nowMs: number,
    ageMsMax: number,
  ): CachedVerdict<Verdict> | undefined {
    const found = this.#find(key, scope, nowMs, ageMsMax);
    if (found === undefined) return undefined;
    // Map order is age of use: a used entry moves to the young end.
    const kept = this.#entries.get(key)!;
    this.#entries.delete(key);
    this.#entries.set(key, kept);
    return found;
  }

  /** When the answer to this question was asked and when it ends, without counting as a use. */
  readLifetime(
    key: string,
    scope: CacheScope,
    nowMs: number,
  ): { askedMs: number; endMs: number } | undefined {
    const found = this.#find(key, scope, nowMs, VERDICT_TTL_MS);
    if (found === undefined) return undefined;
    const { askedMs, lifetimeMs } = found;
    return { askedMs, endMs: askedMs + Math.min(lifetimeMs, VERDICT_TTL_MS) };
  }

  #find(
    key: string,
    scope: CacheScope,
    nowMs: number,
    ageMsMax: number,
  ): ScoreCacheEntry<Verdict> | undefined {
    const { stakes, toolLevel } = scope;
    for (const each of this.#entries.get(key) ?? []) {
      if (each.toolLevel !== toolLevel || stakes < each.low || stakes > each.high) continue;
      const ageMs = nowMs - each.askedMs;
      if (ageMs < ageMsMax && ageMs < each.lifetimeMs) return each;
    }
    return undefined;
  }

  /** Keeps a verdict for all that it answers; what was asked later stays. */
  put(key: string, asked: CacheScope, verdict: Verdict, askedMs: number): void {
    const ownMs = Date.parse(verdict.expires_at) - Date.parse(verdict.evaluated_at);
    const lifetimeMs = Math.min(ownMs, this.#ttlMs);
    let kept = this.#entries.get(key) ?? [];
    for (const holding of this.#listRanges(verdict, asked)) {
      if (kept.some((other) => other.askedMs > askedMs && isOverlapping(other, holding))) continue;
      // An overlapping range is older and either agrees or is outdated: the new answer replaces it.
      kept = kept.filter((other) => !isOverlapping(other, holding));
      kept.unshift({ ...holding, askedMs, lifetimeMs });
    }
    putBounded(this.#entries, key, kept.slice(0, RANGES_MAX), this.#entriesMax);
  }

  /** Drops the keys that `isOutdated` is true for. */
  clearWhere(isOutdated: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) if (isOutdated(key)) this.#entries.delete(key);
  }

  /** Drops one key, or everything. */
  clear(key?: string): void {
    if (key === undefined) this.#entries.clear();
    else this.#entries.delete(key);
  }
}

function isOverlapping(one: VerdictRange<unknown>, other: VerdictRange<unknown>): boolean {
  return one.toolLevel === other.toolLevel && one.high >= other.low && one.low <= other.high;
}

/** `max_stakes` is rounded down to this. */
const STAKES_STEP = 0.0001;
const ANY_STAKES = Number.POSITIVE_INFINITY;

/**
 * The stakes at which a leg would say the same. `connect` holds from zero to its `max_stakes`, a
 * verification from its own stakes on (for less it might be clear); what waits for a person holds
 * from where it would no longer open, from its own stakes where `max_stakes` names none, and a
 * refusal whatever the stakes.
 */
function computeLegStakesRange(
  leg: Pick<Leg, "decision" | "max_stakes">,
  stakes: number,
): [number, number] {
  const { decision, max_stakes: stakesMax } = leg;
  if (decision === "refuse") return [0, ANY_STAKES];
  if (decision === "escalate") {
    // 0 says that no amount is known to open: not that none does, where the stakes count in a denial.
    const low = stakesMax === null || stakesMax === 0 ? stakes : stakesMax + STAKES_STEP;
    return [Math.min(stakes, low), ANY_STAKES];
  }
  return [decision === "connect" ? 0 : stakes, Math.max(stakes, stakesMax ?? ANY_STAKES)];
}

/** A check answers for every tool level. */
export function listCheckRanges(
  verdict: CheckResponse,
  { stakes }: CacheScope,
): readonly VerdictRange<CheckResponse>[] {
  const [low, high] = computeLegStakesRange(verdict, stakes);
  return [{ verdict, low, high }];
}

/** A handshake holds where both of its legs do. */
export function listHandshakeRanges(
  verdict: HandshakeResponse,
  { stakes }: CacheScope,
): readonly VerdictRange<HandshakeResponse>[] {
  const [lowA, highA] = computeLegStakesRange(verdict.a_to_b, stakes);
  const [lowB, highB] = computeLegStakesRange(verdict.b_to_a, stakes);
  return [{ verdict, low: Math.max(lowA, lowB), high: Math.min(highA, highB) }];
}

/**
 * The levels of which the verdict speaks, each within the stakes that it names. A service that names
 * none (an earlier release) has answered for the level that was asked: a refusal holds for more,
 * anything else for its own stakes alone.
 */
export function listVerifyRanges(
  verdict: VerifyResponse,
  { stakes, toolLevel }: CacheScope,
): readonly VerdictRange<VerifyResponse>[] {
  const { levels } = verdict;
  if (levels === undefined) {
    const high = verdict.policy_action.verdict === "BLOCK" ? ANY_STAKES : stakes;
    return [{ verdict, toolLevel, low: stakes, high }];
  }
  return TOOL_LEVELS.flatMap((name): VerdictRange<VerifyResponse>[] => {
    const level = levels[name];
    if (level === undefined) return [];
    const own = name === toolLevel ? verdict : buildLevelVerdict(verdict, level);
    const { holds_from: low, holds_to: high } = level;
    return [{ verdict: own, toolLevel: name, low, high: high ?? ANY_STAKES }];
  });
}

/** The answer as the service would have given it at another level. */
function buildLevelVerdict(verdict: VerifyResponse, level: LevelVerdict): VerifyResponse {
  const { threshold_met, reason_codes, max_stakes, enforced, log_reason } = level;
  // A review is the requested level's: one that waits for a person is never answered beside another.
  const { review: _, ...common } = verdict;
  return {
    ...common,
    trust_evaluation: { ...verdict.trust_evaluation, threshold_met },
    policy_action: { verdict: level.verdict, log_reason },
    reason_codes,
    max_stakes,
    enforced,
  };
}
