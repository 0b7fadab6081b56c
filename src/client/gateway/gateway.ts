// TrustGateway: the client side of SPEC §8 as a library. Answers every request with allowed or
// not, from the cache or from one call of at most 100 ms, and never throws: without a verdict the
// fail policy of the tool level decides, visibly.
import { STAKES_MAX, VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { CheckResponse, VerifyContext, VerifyResponse } from "../messages.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { CheckVerdict, TrustRankClient } from "../client.ts";
import { asTrustRankError, TrustRankError } from "../errors.ts";
import { failPolicy, isSensitive } from "./fail-policy.ts";
import {
  type GatewayAnswer,
  type GatewayLog,
  type Ruled,
  ruleCheck,
  ruleVerify,
} from "../ruling.ts";
import { type AlertCallback, AlertOnce, callSafely } from "../outage-alert.ts";
import { ProvenanceQueue, type ProvenanceQueueOptions } from "../reporting/provenance.ts";
import { monotonicClock } from "../runtime.ts";
import {
  type Cached,
  reachOfCheck,
  reachOfVerify,
  ScoreCache,
  type ScoreCacheOptions,
} from "../score-cache.ts";
import { SingleFlight, untilAborted } from "./single-flight.ts";

/** Client, cache and callbacks of a gateway. */
export interface TrustGatewayOptions {
  readonly client: TrustRankClient;
  /**
   * Lifetime and size of the cache. A `ttlMs` above five minutes holds for L0 and L1 alone: L2 and
   * L3 re-verify what is older (SPEC §8.3).
   */
  readonly cache?: ScoreCacheOptions;
  /** For the operations team (SPEC §6): called once per outage, on the first blocked request. */
  readonly onAlert?: AlertCallback;
  /** Fail-open answers on L1, blocked requests, low scores let through: for log and review. */
  readonly onLog?: (entry: GatewayLog) => void | Promise<void>;
  /** Called for every provenance record that was dropped. */
  readonly onProvenanceDrop?: ProvenanceQueueOptions["onDrop"];
  /** Monotonic milliseconds; for tests. */
  readonly monotonic?: () => number;
}

/** An action that an agent wants to take. */
export interface GatewayRequest {
  /** The caller, as proved by the identity layer. */
  readonly agentId: string;
  /** `<domain>.<operation>`. Not part of the score, so not of the cache's key. */
  readonly action: string;
  readonly toolLevel: ToolLevel;
  /** The value at risk; 0 by default. */
  readonly stakes?: number;
  /** With content to judge, the verdict is about that content and is not cached. */
  readonly context?: VerifyContext;
  readonly signal?: AbortSignal | undefined;
}

/** An agent and the stakes of the call. */
export interface GatewayCheck {
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  readonly stakes: number;
  readonly signal?: AbortSignal | undefined;
}

interface Question<Verdict extends CheckResponse | VerifyResponse> {
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  readonly stakes: number;
  readonly signal: AbortSignal | undefined;
  readonly key: string;
  readonly cache: ScoreCache<Verdict> | undefined;
  readonly flights: SingleFlight<Verdict>;
  readonly ask: (timeoutMs: number) => Promise<Verdict>;
  readonly rule: (verdict: Verdict, toolLevel: ToolLevel) => Ruled;
}

/** Separates the parts of keys; no identifier holds a line break. */
const SEPARATOR = "\n";
const RETRY_AFTER_SEC = 1;

/** Answers allowed or not, always: by a verdict, or by the fail policy of the tool level. */
export class TrustGateway {
  readonly #client: TrustRankClient;
  readonly #onLog: TrustGatewayOptions["onLog"];
  readonly #monotonic: () => number;
  readonly #alerts: AlertOnce;
  readonly #verdicts: ScoreCache<VerifyResponse>;
  readonly #legs: ScoreCache<CheckResponse>;
  readonly #verdictFlights = new SingleFlight<VerifyResponse>();
  readonly #legFlights = new SingleFlight<CheckResponse>();
  /**
   * Post-transaction (SPEC §4.9): `offer` records content and its sources. No request waits for it
   * or depends on it; call `flush` in the shutdown.
   */
  readonly provenance: ProvenanceQueue;
  /** Questions sent to the service and answers served without one, since the start. */
  readonly counts = { asked: 0, cached: 0, degraded: 0, blocked: 0 };

  constructor(options: TrustGatewayOptions) {
    this.#client = options.client;
    const onDrop = options.onProvenanceDrop;
    this.provenance = new ProvenanceQueue({ client: () => options.client, onDrop });
    this.#onLog = options.onLog;
    this.#monotonic = options.monotonic ?? monotonicClock;
    this.#alerts = new AlertOnce(options.onAlert);
    this.#verdicts = new ScoreCache(reachOfVerify, options.cache);
    this.#legs = new ScoreCache(reachOfCheck, options.cache);
  }

  /** The policy verdict on an action, applied (SPEC §4.9). Never rejects. */
  authorize(request: GatewayRequest): Promise<GatewayAnswer<VerifyResponse>> {
    const { agentId, action, toolLevel, context, signal } = request;
    const stakes = request.stakes ?? 0;
    return this.#answer({
      agentId,
      toolLevel,
      stakes,
      signal,
      key: toolLevel + SEPARATOR + agentId,
      cache: context === undefined ? this.#verdicts : undefined,
      flights: this.#verdictFlights,
      ask: (timeoutMs) => {
        const question = { agent_id: agentId, action, tool_level: toolLevel, stakes };
        const input = context === undefined ? question : { ...question, context };
        return this.#client.verify(input, { timeoutMs });
      },
      rule: ruleVerify,
    });
  }

  /**
   * An agent's leg for given stakes, applied. One answer serves all stakes up to its `max_stakes`
   * that cannot change it, whatever the tool level, so a mixed workload reads few scores. Never
   * rejects.
   */
  check(request: GatewayCheck): Promise<GatewayAnswer<CheckVerdict>> {
    const { agentId, toolLevel, stakes, signal } = request;
    return this.#answer({
      agentId,
      toolLevel,
      stakes,
      signal,
      key: agentId,
      cache: this.#legs,
      flights: this.#legFlights,
      ask: (timeoutMs) => this.#client.check(agentId, { stakes, timeoutMs }),
      rule: ruleCheck,
    });
  }

  /** Drops the cached verdicts of an agent, or all: after a revocation that must not wait. */
  forget(agentId?: string): void {
    if (agentId === undefined) {
      this.#verdicts.clear();
      this.#legs.clear();
      return;
    }
    this.#legs.clear(agentId);
    for (const toolLevel of ["L0", "L1", "L2", "L3"]) {
      this.#verdicts.clear(toolLevel + SEPARATOR + agentId);
    }
  }

  async #answer<Verdict extends CheckResponse | VerifyResponse>(
    question: Question<Verdict>,
  ): Promise<GatewayAnswer<Verdict>> {
    const startMs = this.#monotonic();
    const cached = this.#cached(question, startMs);
    if (cached !== undefined) {
      this.counts.cached += 1;
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

  #cached<Verdict extends CheckResponse | VerifyResponse>(
    question: Question<Verdict>,
    nowMs: number,
  ): Cached<Verdict> | undefined {
    const { cache, key, stakes, toolLevel } = question;
    const ageMsMax = isSensitive(toolLevel) ? VERDICT_TTL_MS : Number.POSITIVE_INFINITY;
    return cache?.get(key, stakes, nowMs, ageMsMax);
  }

  /** Joins a question under way if there is one, else asks; both within one time limit. */
  async #find<Verdict extends CheckResponse | VerifyResponse>(
    question: Question<Verdict>,
    startMs: number,
  ): Promise<Cached<Verdict>> {
    const { key, stakes, cache, flights, signal } = question;
    if (!(stakes >= 0 && stakes <= STAKES_MAX)) {
      throw new TrustRankError("invalid_argument", `stakes must be 0 to ${STAKES_MAX}`);
    }
    const reason = () => new TrustRankError("aborted", "the caller gave up");
    if (signal?.aborted === true) throw reason();
    const exactKey = key + SEPARATOR + String(stakes);
    const others = cache && (flights.current(exactKey) ?? flights.current(key));
    if (others !== undefined) {
      await untilAborted(others, signal, reason);
      const found = this.#cached(question, this.#monotonic());
      if (found !== undefined) {
        this.counts.cached += 1;
        return found;
      }
    }
    // Whole milliseconds, rounded up: timers cut fractions off, and 99.9 would become 99.
    const leftMs = Math.ceil(this.#client.timeoutMs - (this.#monotonic() - startMs));
    if (leftMs <= 0)
      throw new TrustRankError("timeout", "the answer of another call came too late");
    const ask = async () => {
      const askedMs = this.#monotonic();
      this.counts.asked += 1;
      const verdict = await question.ask(leftMs);
      cache?.put(key, stakes, verdict, askedMs);
      this.#alerts.onVerdict();
      return verdict;
    };
    if (cache === undefined) {
      return { verdict: await untilAborted(ask(), signal, reason), askedMs: startMs };
    }
    const flight = flights.start(others === undefined ? key : exactKey, ask);
    return { verdict: await untilAborted(flight, signal, reason), askedMs: startMs };
  }

  #apply<Verdict extends CheckResponse | VerifyResponse>(
    question: Question<Verdict>,
    verdict: Verdict,
    ageMs: number | undefined,
  ): GatewayAnswer<Verdict> {
    const ruled = question.rule(verdict, question.toolLevel);
    if (ruled.isFlagged) {
      const { agentId, toolLevel } = question;
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

  #applyFault<Verdict extends CheckResponse | VerifyResponse>(
    question: Question<Verdict>,
    error: TrustRankError,
  ): GatewayAnswer<Verdict> {
    const { agentId, toolLevel } = question;
    const policy = failPolicy(toolLevel);
    // The policy is for a service that does not answer; a caller that hung up or sent nonsense says
    // nothing about the service, and gets nothing.
    const isCallersFault = error.code === "aborted" || error.code === "invalid_argument";
    const isAllowed = policy.action === "ALLOW" && !isCallersFault;
    this.counts.degraded += 1;
    if (!isAllowed) this.counts.blocked += 1;
    if (!isAllowed && !isCallersFault) {
      this.#alerts.onBlocked(error, agentId, toolLevel, this.#monotonic());
    }
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
    callSafely(this.#onLog, entry);
  }
}
