// Verdict of one gateway request: from the cache, from a request in flight, or from one call within the
// client's time limit; without a verdict, the fail policy of the tool level. Never rejects.
// Independent of the kind of verdict: each query brings its cache, its call and its rule.
import { STAKES_MAX, VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { convertToTrustRankError, TrustRankError } from "../errors.ts";
import { type OutageAlerter, callSafely } from "../outage-alert.ts";
import type {
  AnyVerdict,
  GatewayAnswer,
  GatewayLog,
  GatewayRuling,
  LogCallback,
} from "../ruling.ts";
import type { CachedVerdict, CacheScope, ScoreCache } from "../score-cache.ts";
import type { FeedCoverage } from "../changes/coverage.ts";
import { failPolicy, isSensitive } from "./fail-policy.ts";
import { type SingleFlight, raceWithAbort } from "./single-flight.ts";

/** A question about an agent, with all that answering takes. */
export interface GatewayQuery<Verdict extends AnyVerdict> {
  readonly agentId: string;
  /** Whose fail policy counts. */
  readonly toolLevel: ToolLevel;
  /** What the cache finds the answer by, beside the agent. */
  readonly scope: CacheScope;
  readonly signal: AbortSignal | undefined;
  /** Absent where the answer is about this request alone. */
  readonly cache: ScoreCache<Verdict> | undefined;
  readonly flights: SingleFlight<Verdict>;
  readonly ask: (timeoutMs: number) => Promise<Verdict>;
  readonly rule: (verdict: Verdict, toolLevel: ToolLevel) => GatewayRuling;
}

/** Questions sent to the service and answers served without one. */
export interface GatewayCounts {
  asked: number;
  cached: number;
  degraded: number;
  blocked: number;
  /** Questions of the background refresh; not among `asked`. */
  refreshed: number;
}

export interface VerdictResolverOptions {
  readonly timeoutMs: number;
  readonly monotonic: () => number;
  readonly alerts: OutageAlerter;
  readonly counts: GatewayCounts;
  readonly onLog: LogCallback | undefined;
  readonly coverage: FeedCoverage;
}

/** Separates the parts of keys; no identifier holds a line break. */
const SEPARATOR = "\n";
const RETRY_AFTER_SEC_MIN = 1;

export class VerdictResolver {
  readonly #options: VerdictResolverOptions;
  /** Counts what was forgotten: an answer to an older question is not kept. */
  #invalidationCount = 0;

  constructor(options: VerdictResolverOptions) {
    this.#options = options;
  }

  /** What is under way by now is answered, but not kept. */
  invalidatePending(): void {
    this.#invalidationCount += 1;
  }

  /** Says later whether a question begun now may still be kept. */
  createValidityCheck(): () => boolean {
    const before = this.#invalidationCount;
    return () => before === this.#invalidationCount;
  }

  async resolve<Verdict extends AnyVerdict>(
    question: GatewayQuery<Verdict>,
  ): Promise<GatewayAnswer<Verdict>> {
    const startMs = this.#options.monotonic();
    const cached = this.#cached(question, startMs);
    if (cached !== undefined) {
      this.#options.counts.cached += 1;
      return this.#applyVerdict(question, cached.verdict, startMs - cached.askedMs);
    }
    try {
      const { verdict, askedMs } = await this.#joinOrRequest(question, startMs);
      const ageMs = askedMs === startMs ? 0 : Math.max(0, startMs - askedMs);
      return this.#applyVerdict(question, verdict, askedMs === startMs ? undefined : ageMs);
    } catch (thrown) {
      return this.#applyFailPolicy(question, convertToTrustRankError(thrown));
    }
  }

  #cached<Verdict extends AnyVerdict>(
    question: GatewayQuery<Verdict>,
    nowMs: number,
  ): CachedVerdict<Verdict> | undefined {
    const { cache, agentId, scope, toolLevel } = question;
    if (!isSensitive(toolLevel)) return cache?.get(agentId, scope, nowMs, Number.POSITIVE_INFINITY);
    const found = cache?.get(agentId, scope, nowMs, VERDICT_TTL_MS);
    if (found === undefined) return undefined;
    const ageMsMax = this.#options.coverage.computeAgeMsMax(found.askedMs);
    return nowMs - found.askedMs < ageMsMax ? found : undefined;
  }

  /** Joins a question under way if there is one, else asks; both within one time limit. */
  async #joinOrRequest<Verdict extends AnyVerdict>(
    question: GatewayQuery<Verdict>,
    startMs: number,
  ): Promise<CachedVerdict<Verdict>> {
    const { agentId, scope, cache, flights, signal } = question;
    const { monotonic, counts, timeoutMs } = this.#options;
    if (!(scope.stakes >= 0 && scope.stakes <= STAKES_MAX)) {
      throw new TrustRankError("invalid_argument", `stakes must be 0 to ${STAKES_MAX}`);
    }
    const reason = () => new TrustRankError("aborted", "the caller gave up");
    if (signal?.aborted === true) throw reason();
    const exactKey = [agentId, scope.toolLevel, scope.stakes].join(SEPARATOR);
    const others = cache && (flights.find(exactKey) ?? flights.find(agentId));
    if (others !== undefined) {
      await raceWithAbort(others, signal, reason);
      const found = this.#cached(question, monotonic());
      if (found !== undefined) {
        counts.cached += 1;
        return found;
      }
    }
    // Whole milliseconds, rounded up: timers cut fractions off, and 99.9 would become 99.
    const leftMs = Math.ceil(timeoutMs - (monotonic() - startMs));
    if (leftMs <= 0) {
      throw new TrustRankError("timeout", "the answer of another call came too late");
    }
    const ask = () => this.#requestAndCache(question, leftMs);
    if (cache === undefined) {
      return { verdict: await raceWithAbort(ask(), signal, reason), askedMs: startMs };
    }
    const flight = flights.start(others === undefined ? agentId : exactKey, ask);
    return { verdict: await raceWithAbort(flight, signal, reason), askedMs: startMs };
  }

  async #requestAndCache<Verdict extends AnyVerdict>(
    { agentId, scope, cache, ask }: GatewayQuery<Verdict>,
    leftMs: number,
  ): Promise<Verdict> {
    const { monotonic, counts, alerts } = this.#options;
    const askedMs = monotonic();
    const mayKeep = this.createValidityCheck();
    counts.asked += 1;
    const verdict = await ask(leftMs);
    if (mayKeep()) cache?.put(agentId, scope, verdict, askedMs);
    alerts.recordVerdict();
    return verdict;
  }

  #applyVerdict<Verdict extends AnyVerdict>(
    question: GatewayQuery<Verdict>,
    verdict: Verdict,
    ageMs: number | undefined,
  ): GatewayAnswer<Verdict> {
    const ruled = question.rule(verdict, question.toolLevel);
    return {
      allowed: ruled.isAllowed,
      status: ruled.isAllowed ? 200 : 403,
      word: ruled.word,
      reason: ruled.reason,
      verdict,
      error: undefined,
      flagged: ruled.isFlagged,
      verification: undefined,
      degraded: false,
      failPolicy: undefined,
      retryAfterSec: undefined,
      isCached: ageMs !== undefined,
      ageMs: ageMs ?? 0,
    };
  }

  #applyFailPolicy<Verdict extends AnyVerdict>(
    question: GatewayQuery<Verdict>,
    error: TrustRankError,
  ): GatewayAnswer<Verdict> {
    const { agentId, toolLevel } = question;
    const { monotonic, counts, alerts } = this.#options;
    const policy = failPolicy(toolLevel);
    // The policy is for a service that does not answer; a caller that hung up or sent nonsense says
    // nothing about the service, and gets nothing: else a hash of another content would open L0 and L1.
    const isNonsense = error.code === "invalid_argument" || error.code === "invalid_request";
    const isCallersFault = error.code === "aborted" || isNonsense;
    const isAllowed = policy.action === "ALLOW" && !isCallersFault;
    counts.degraded += 1;
    if (!isAllowed) counts.blocked += 1;
    if (!isAllowed && !isCallersFault) alerts.recordBlocked(error, agentId, toolLevel, monotonic());
    if (policy.isLogged) {
      const kind = isAllowed ? "allowed_without_verdict" : "blocked_without_verdict";
      this.#log({ kind, agentId, toolLevel, reason: error.code, error });
    }
    const adviceSec = Math.ceil((error.retryAfterMs ?? 0) / 1000);
    return {
      allowed: isAllowed,
      status: isAllowed ? 200 : isNonsense ? 403 : 503,
      word: isAllowed ? "ALLOW" : "BLOCK",
      reason: error.code,
      verdict: undefined,
      error,
      flagged: false,
      verification: undefined,
      degraded: true,
      failPolicy: policy.name,
      retryAfterSec: isAllowed ? undefined : Math.max(RETRY_AFTER_SEC_MIN, adviceSec),
      isCached: false,
      ageMs: 0,
    };
  }

  #log(entry: GatewayLog): void {
    callSafely(this.#options.onLog, entry);
  }
}
