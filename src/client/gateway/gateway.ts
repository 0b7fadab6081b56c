// TrustGateway: the client side of SPEC §8 as a library. Answers every request with allowed or
// not, from the cache or from one call of at most 100 ms, and never throws: without a verdict the
// fail policy of the tool level decides, visibly. One answer of verify serves an agent's tools of
// every level that it speaks of; a handshake comes first where the gateway has a name of its own.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  VerifyContext,
  VerifyRequest,
  VerifyResponse,
} from "../messages.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { CheckVerdict, HandshakeVerdict, TrustRankClient } from "../client.ts";
import { AlertPoster, type AlertTarget } from "../alert-poster.ts";
import { type AlertCallback, OutageAlerter } from "../outage-alert.ts";
import {
  type AnyVerdict,
  type GatewayAnswer,
  type LogCallback,
  ruleConnection,
  ruleVerify,
} from "../ruling.ts";
import type { VerificationCallback } from "../verification.ts";
import { ProvenanceQueue, type ProvenanceQueueOptions } from "../reporting/provenance.ts";
import { readMonotonicMs } from "../runtime.ts";
import {
  listCheckRanges,
  listHandshakeRanges,
  listVerifyRanges,
  ScoreCache,
  type ScoreCacheOptions,
} from "../score-cache.ts";
import { isAffected, type VerdictChange } from "../changes/change.ts";
import { FeedCoverage } from "../changes/coverage.ts";
import type { ChangeFollower } from "../changes/follower.ts";
import { VerdictResolver, type GatewayCounts } from "./verdict-resolver.ts";
import { type FlagCallback, FlagNotifier } from "./flag-notifier.ts";
import { CacheRefresher, type RefreshOptions } from "./refresher.ts";
import { SingleFlight } from "./single-flight.ts";
import { VerificationStep } from "./verification-step.ts";

/** Client, cache and callbacks of a gateway. */
export interface TrustGatewayOptions {
  readonly client: TrustRankClient;
  /**
   * Lifetime and size of the cache. A `ttlMs` above five minutes holds for L0 and L1 alone: L2 and
   * L3 re-verify what is older (SPEC §8.3).
   */
  readonly cache?: ScoreCacheOptions;
  /**
   * The trust handshake after authentication (SPEC §4.9), one paid read per agent and lifetime. On
   * where the gateway knows its own name; `false` switches it off.
   */
  readonly handshake?: false | HandshakeOptions;
  /**
   * Asks again, in batches and in the background, about agents in use whose answer nears its end.
   * Off by default: it buys speed with paid reads. Ends with `close`.
   */
  readonly refresh?: boolean | RefreshOptions;
  /**
   * Follows the service's change feed from the first question on: a cached verdict ends with the change that
   * outdates it. While the feed is silent for three seconds, verdicts live ten seconds at L2 and L3. `false`
   * switches it off. Ends with `close`.
   */
  readonly follow?: boolean;
  /**
   * Verifies the weaker leg of a connection that opens with verification, and the agent of a CHALLENGE,
   * at L2 and L3 (SPEC §3): `true` lets the call through, anything else is a 403. Without it such a
   * connection opens, marked `X-Trust-Verification: due`, and a CHALLENGE is a 403.
   */
  readonly verification?: VerificationCallback<GatewayCall>;
  /**
   * For the operations team (SPEC §6): called on the first request that is blocked because there is no
   * verdict, then at most once a minute while requests are blocked. Default: lines by `console.error`, one
   * more when verdicts are available again.
   */
  readonly onAlert?: AlertCallback;
  /** Posts the same alerts as JSON, beside `onAlert` or the lines. */
  readonly alert?: AlertTarget;
  /**
   * Called for an answer that is flagged for review (SPEC §8.2), at most once an agent and hour. Default:
   * a line by `console.warn`.
   */
  readonly onFlagged?: FlagCallback;
  /** Fail-open answers on L1, blocked requests, low scores let through: for log and review. */
  readonly onLog?: LogCallback;
  /** Called for every provenance record that was dropped. */
  readonly onProvenanceDrop?: ProvenanceQueueOptions["onDrop"];
  /** Monotonic milliseconds; for tests. */
  readonly monotonic?: () => number;
  /** Epoch milliseconds; for tests. */
  readonly wallClock?: () => number;
}

/** What a gateway is asked. */
export type GatewayCall = GatewayArrival | GatewayCheck | GatewayRequest;

/** The gateway's side of a handshake. */
export interface HandshakeOptions {
  /** Whom callers connect to; default: the client's `agentId`. */
  readonly agentId?: string;
  /** What the connection itself puts at risk; 0 by default: each action brings its own stakes. */
  readonly stakes?: number;
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
  /** In place of the gateway's own. */
  readonly verification?: VerificationCallback<GatewayCall> | undefined;
}

/** An agent and the stakes of the call. */
export interface GatewayCheck {
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  readonly stakes: number;
  readonly signal?: AbortSignal | undefined;
  /** In place of the gateway's own. */
  readonly verification?: VerificationCallback<GatewayCall> | undefined;
}

/** An agent that has proved who it is. */
export interface GatewayArrival {
  readonly agentId: string;
  /** Whose fail policy counts; L3, which is closed, where the tool is not known yet. */
  readonly toolLevel?: ToolLevel;
  /** What the connection puts at risk; default: the gateway's own. */
  readonly stakes?: number;
  readonly signal?: AbortSignal | undefined;
  /** In place of the gateway's own. */
  readonly verification?: VerificationCallback<GatewayCall> | undefined;
}

/** Answers allowed or not, always: by a verdict, or by the fail policy of the tool level. */
export class TrustGateway {
  readonly #client: TrustRankClient;
  readonly #resolver: VerdictResolver;
  readonly #verification: VerificationStep<GatewayCall>;
  readonly #flags: FlagNotifier;
  readonly #monotonic: () => number;
  readonly #verifyCache: ScoreCache<VerifyResponse>;
  readonly #checkCache: ScoreCache<CheckResponse>;
  readonly #handshakeCache: ScoreCache<HandshakeResponse>;
  readonly #verifyFlights = new SingleFlight<VerifyResponse>();
  readonly #checkFlights = new SingleFlight<CheckResponse>();
  readonly #handshakeFlights = new SingleFlight<HandshakeResponse>();
  readonly #refresher: CacheRefresher | undefined;
  readonly #coverage = new FeedCoverage();
  #mayFollow: boolean;
  #follower: ChangeFollower | undefined;
  /** Undefined where no hands are shaken. */
  readonly #ownAgentId: string | undefined;
  readonly #arrivalStakes: number;
  /**
   * Post-transaction (SPEC §4.9): `offer` records content and its sources. No request waits for it
   * or depends on it; call `flush` in the shutdown.
   */
  readonly provenance: ProvenanceQueue;
  /** Questions sent to the service and answers served without one, since the start. */
  readonly counts: GatewayCounts = { asked: 0, cached: 0, degraded: 0, blocked: 0, refreshed: 0 };

  constructor(options: TrustGatewayOptions) {
    const { client, handshake = {}, refresh = false } = options;
    this.#client = client;
    this.#mayFollow = options.follow ?? true;
    const onDrop = options.onProvenanceDrop;
    this.provenance = new ProvenanceQueue({ client: () => client, onDrop });
    this.#monotonic = options.monotonic ?? readMonotonicMs;
    const { alert, onAlert, wallClock } = options;
    const poster = alert === undefined ? undefined : new AlertPoster(alert);
    const alerts = new OutageAlerter({ onAlert, poster, wallClock });
    this.#verification = new VerificationStep(options.verification, options.onLog);
    this.#flags = new FlagNotifier(options.onFlagged, options.onLog, this.#monotonic);
    this.#resolver = new VerdictResolver({
      timeoutMs: client.timeoutMs,
      monotonic: this.#monotonic,
      alerts,
      counts: this.counts,
      onLog: options.onLog,
      coverage: this.#coverage,
    });
    this.#verifyCache = new ScoreCache(listVerifyRanges, options.cache);
    this.#checkCache = new ScoreCache(listCheckRanges, options.cache);
    this.#handshakeCache = new ScoreCache(listHandshakeRanges, options.cache);
    this.#ownAgentId = handshake === false ? undefined : (handshake.agentId ?? client.agentId);
    this.#arrivalStakes = handshake === false ? 0 : (handshake.stakes ?? 0);
    const ttlMs = options.cache?.ttlMs ?? VERDICT_TTL_MS;
    if (refresh === false) return;
    this.#refresher = this.#createRefresher(refresh === true ? {} : refresh, ttlMs, alerts);
  }

  /** Whether arrivals are asked about by a handshake: `protectRoute` does so before each tool. */
  get shakesHands(): boolean {
    return this.#ownAgentId !== undefined;
  }

  /**
   * Whether an agent that has just proved its identity may come in (SPEC §4.9, after
   * authentication): by a handshake with the gateway's own name, or by a check where it has none.
   * A refusal holds where no tool level is named, and at L2 and L3; at L0 and L1 it is flagged (SPEC §8.1,
   * §8.2). Kept like any verdict, and never rejects.
   */
  async admit(request: GatewayArrival): Promise<GatewayAnswer<HandshakeVerdict | CheckVerdict>> {
    const { agentId, toolLevel = "L3", stakes = this.#arrivalStakes, signal } = request;
    this.#follow();
    const self = this.#ownAgentId;
    if (self === undefined) return this.check({ ...request, toolLevel, stakes });
    const answer = await this.#resolver.resolve<HandshakeResponse>({
      agentId,
      toolLevel,
      scope: { stakes },
      signal,
      cache: this.#handshakeCache,
      flights: this.#handshakeFlights,
      ask: (timeoutMs) => this.#client.handshake(agentId, self, { stakes, timeoutMs }),
      rule: ruleConnection,
    });
    return this.#finish(answer, request);
  }

  /**
   * The policy verdict on an action, applied (SPEC §4.9). One answer serves all tool levels and
   * stakes for which the service says that it holds. Never rejects.
   */
  async authorize(request: GatewayRequest): Promise<GatewayAnswer<VerifyResponse>> {
    const { agentId, action, toolLevel, context, stakes = 0 } = request;
    this.#follow();
    const isKept = context === undefined;
    const answer = await this.#resolver.resolve<VerifyResponse>({
      agentId,
      toolLevel,
      scope: { stakes, toolLevel },
      signal: request.signal,
      cache: isKept ? this.#verifyCache : undefined,
      flights: this.#verifyFlights,
      ask: (timeoutMs) => {
        const question: VerifyRequest = {
          agent_id: agentId,
          action,
          tool_level: toolLevel,
          stakes,
        };
        const more = isKept ? { levels: true } : { context };
        return this.#client.verify({ ...question, ...more }, { timeoutMs });
      },
      rule: ruleVerify,
    });
    if (answer.isCached && this.#refresher !== undefined) {
      this.#refresher.trackUse(agentId, { action, toolLevel, stakes }, this.#monotonic());
    }
    return this.#finish(answer, request);
  }

  /**
   * An agent's leg for given stakes, applied. One answer serves all stakes up to its `max_stakes`
   * that cannot change it, whatever the tool level, so a mixed workload reads few scores. Never
   * rejects.
   */
  async check(request: GatewayCheck): Promise<GatewayAnswer<CheckVerdict>> {
    this.#follow();
    const { agentId, toolLevel, stakes, signal } = request;
    const answer = await this.#resolver.resolve<CheckResponse>({
      agentId,
      toolLevel,
      scope: { stakes },
      signal,
      cache: this.#checkCache,
      flights: this.#checkFlights,
      ask: (timeoutMs) => this.#client.check(agentId, { stakes, timeoutMs }),
      rule: ruleConnection,
    });
    return this.#finish(answer, request);
  }

  /** Drops the cached verdicts of an agent, or all: after a revocation that must not wait. */
  forget(agentId?: string): void {
    this.#resolver.invalidatePending();
    this.#refresher?.forget(agentId);
    for (const cache of [this.#verifyCache, this.#checkCache, this.#handshakeCache])
      cache.clear(agentId);
  }

  /** Ends the background refresh and the following of changes; answers continue. */
  close(): void {
    this.#refresher?.close();
    this.#mayFollow = false;
    this.#follower?.close();
    this.#follower = undefined;
    this.#coverage.follower = undefined;
  }

  /** From the first question on: a gateway that asks nothing opens no connection. */
  #follow(): void {
    if (!this.#mayFollow) return;
    this.#mayFollow = false;
    this.#follower = this.#client.followChanges({
      onChange: (change) => this.#dropOutdated(change),
      onGap: () => this.forget(),
      onStart: () => this.#coverage.startAt(this.#monotonic()),
    });
    this.#coverage.follower = this.#follower;
  }

  #dropOutdated(change: VerdictChange): void {
    this.#resolver.invalidatePending();
    for (const cache of [this.#verifyCache, this.#checkCache, this.#handshakeCache])
      cache.clearWhere((agentId) => isAffected(change, agentId));
    // Handshakes are about this gateway's own agent, too.
    const self = this.#ownAgentId;
    if (self !== undefined && isAffected(change, self)) this.#handshakeCache.clear();
  }

  /** Verifies where verification is due, and reports what is flagged. */
  async #finish<Verdict extends AnyVerdict>(
    ruled: GatewayAnswer<Verdict>,
    call: GatewayCall,
  ): Promise<GatewayAnswer<Verdict>> {
    const answer = await this.#verification.apply(ruled, call);
    this.#flags.notify(answer, call.agentId, call.toolLevel ?? "L3");
    return answer;
  }

  #createRefresher(options: RefreshOptions, ttlMs: number, alerts: OutageAlerter): CacheRefresher {
    const port = {
      monotonic: this.#monotonic,
      ttlMs,
      readLifetime: this.#verifyCache.readLifetime.bind(this.#verifyCache),
      verifyBatch: async (requests: readonly VerifyRequest[], signal: AbortSignal) => {
        this.counts.refreshed += requests.length;
        const items = await this.#client.verifyBatch(requests, { signal });
        alerts.recordVerdict();
        return items;
      },
      createValidityCheck: () => this.#resolver.createValidityCheck(),
      put: this.#verifyCache.put.bind(this.#verifyCache),
    };
    return new CacheRefresher(port, options);
  }
}
