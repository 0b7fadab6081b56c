// One question of a gateway, answered: from the cache, by joining a question under way, or by one
// call within the client's limit; without a verdict by the fail policy of the tool level. Knows no
// kind of verdict: questions bring their cache, their call and their ruling. Never rejects.
import { STAKES_MAX, VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { asTrustRankError, TrustRankError } from "../errors.ts";
import { type AlertOnce, callSafely } from "../outage-alert.ts";
import type { AnyVerdict, GatewayAnswer, GatewayLog, Ruled } from "../ruling.ts";
import type { Cached, Scope, ScoreCache } from "../score-cache.ts";
import { failPolicy, isSensitive } from "./fail-policy.ts";
import { type SingleFlight, untilAborted } from "./single-flight.ts";

/** A question about an agent, with all that answering takes. */
export interface Question<Verdict extends AnyVerdict> {
  readonly agentId: string;
  /** Whose fail policy counts. */
  readonly toolLevel: ToolLevel;
  /** What the cache finds the answer by, beside the agent. */
  readonly scope: Scope;
  readonly signal: AbortSignal | undefined;
  /** Absent where the answer is about this request alone. */
  readonly cache: ScoreCache<Verdict> | undefined;
  readonly flights: SingleFlight<Verdict>;
  readonly ask: (timeoutMs: number) => Promise<Verdict>;
  readonly rule: (verdict: Verdict, toolLevel: ToolLevel) => Ruled;
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

export interface AskerOptions {
  readonly timeoutMs: number;
  readonly monotonic: () => number;
  readonly alerts: AlertOnce;
  readonly counts: GatewayCounts;
  readonly onLog: ((entry: GatewayLog) => void | Promise<void>) | undefined;
}

/** Separates the parts of keys; no identifier holds a line break. */
const SEPARATOR = "\n";
const RETRY_AFTER_SEC = 1;

export class Asker {
  readonly #options: AskerOptions;
  /** Counts what was forgotten: an answer to an older question is not kept. */
  #forgets = 0;

  constructor(options: AskerOptions) {
    this.#options = options;
  }

  /** What is under way by now is answered, but not kept. */
  forget(): void {
    this.#forgets += 1;
  }

  /** Says later whether a question begun now may still be kept. */
  keeper(): () => boolean {
    const before = this.#forgets;
    return () => before === this.#forgets;
  }

  async answer<Verdict extends AnyVerdict>(
    question: Question<Verdict>,
  ): Promise<GatewayAnswer<Verdict>> {
    const startMs = this.#options.monotonic();
    const cached = this.#cached(question, startMs);
    if (cached !== undefined) {
      this.#options.counts.cached += 1;
      return this.#apply(question, cached.verdict, startMs - cached.askedMs);
    }
    try {
      const { verdict, askedMs } = await this.#find(question, startMs);
      const ageMs = askedMs === startMs ? 0 : Math.max(0, startMs - askedMs);
      return this.#apply(question, verdict, askedMs === startMs ? undefined : ageMs);
    } catch (thrown) {
      return this.#applyFault(question, asTrustRankError(thrown));
    }
  }

  #cached<Verdict extends AnyVerdict>(
    question: Question<Verdict>,
    nowMs: number,
  ): Cached<Verdict> | undefined {
    const { cache, agentId, scope, toolLevel } = question;
    const ageMsMax = isSensitive(toolLevel) ? VERDICT_TTL_MS : Number.POSITIVE_INFINITY;
    return cache?.get(agentId, scope, nowMs, ageMsMax);
  }

  /** Joins a question under way if there is one, else asks; both within one time limit. */
  async #find<Verdict extends AnyVerdict>(
    question: Question<Verdict>,
    startMs: number,
  ): Promise<Cached<Verdict>> {
    const { agentId, scope, cache, flights, signal } = question;
    const { monotonic, counts, timeoutMs } = this.#options;
    if (!(scope.stakes >= 0 && scope.stakes <= STAKES_MAX)) {
      throw new TrustRankError("invalid_argument", `stakes must be 0 to ${STAKES_MAX}`);
    }
    const reason = () => new TrustRankError("aborted", "the caller gave up");
    if (signal?.aborted === true) throw reason();
    const exactKey = [agentId, scope.toolLevel, scope.stakes].join(SEPARATOR);
    const others = cache && (flights.current(exactKey) ?? flights.current(agentId));
    if (others !== undefined) {
      await untilAborted(others, signal, reason);
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
    const ask = () => this.#ask(question, leftMs);
    if (cache === undefined) {
      return { verdict: await untilAborted(ask(), signal, reason), askedMs: startMs };
    }
    const flight = flights.start(others === undefined ? agentId : exactKey, ask);
    return { verdict: await untilAborted(flight, signal, reason), askedMs: startMs };
  }

  async #ask<Verdict extends AnyVerdict>(
    { agentId, scope, cache, ask }: Question<Verdict>,
    leftMs: number,
  ): Promise<Verdict> {
    const { monotonic, counts, alerts } = this.#options;
    const askedMs = monotonic();
    const mayKeep = this.keeper();
    counts.asked += 1;
    const verdict = await ask(leftMs);
    if (mayKeep()) cache?.put(agentId, scope, verdict, askedMs);
    alerts.onVerdict();
    return verdict;
  }

  #apply<Verdict extends AnyVerdict>(
    question: Question<Verdict>,
    verdict: Verdict,
    ageMs: number | undefined,
  ): GatewayAnswer<Verdict> {
    const { agentId, toolLevel } = question;
    const ruled = question.rule(verdict, toolLevel);
    if (ruled.isFlagged) {
      this.#log({ kind: "low_score_allowed", agentId, toolLevel, reason: ruled.reason, verdict });
    }
    return {
      allowed: ruled.isAllowed,
      status: ruled.isAllowed ? 200 : 403,
      word: ruled.word,
      reason: ruled.reason,
      verdict,
      error: undefined,
      flagged: ruled.isFlagged,
      degraded: false,
      failPolicy: undefined,
      retryAfterSec: undefined,
      isCached: ageMs !== undefined,
      ageMs: ageMs ?? 0,
    };
  }

  #applyFault<Verdict extends AnyVerdict>(
    question: Question<Verdict>,
    error: TrustRankError,
  ): GatewayAnswer<Verdict> {
    const { agentId, toolLevel } = question;
    const { monotonic, counts, alerts } = this.#options;
    const policy = failPolicy(toolLevel);
    // The policy is for a service that does not answer; a caller that hung up or sent nonsense says
    // nothing about the service, and gets nothing.
    const isCallersFault = error.code === "aborted" || error.code === "invalid_argument";
    const isAllowed = policy.action === "ALLOW" && !isCallersFault;
    counts.degraded += 1;
    if (!isAllowed) counts.blocked += 1;
    if (!isAllowed && !isCallersFault) alerts.onBlocked(error, agentId, toolLevel, monotonic());
    if (policy.isLogged) {
      const kind = isAllowed ? "allowed_without_verdict" : "blocked_without_verdict";
      this.#log({ kind, agentId, toolLevel, reason: error.code, error });
    }
    const adviceSec = Math.ceil((error.retryAfterMs ?? 0) / 1000);
    return {
      allowed: isAllowed,
      status: isAllowed ? 200 : error.code === "invalid_argument" ? 403 : 503,
      word: isAllowed ? "ALLOW" : "BLOCK",
      reason: error.code,
      verdict: undefined,
      error,
      flagged: false,
      degraded: true,
      failPolicy: policy.name,
      retryAfterSec: isAllowed ? undefined : Math.max(RETRY_AFTER_SEC, adviceSec),
      isCached: false,
      ageMs: 0,
    };
  }

  #log(entry: GatewayLog): void {
    callSafely(this.#options.onLog, entry);
  }
}
