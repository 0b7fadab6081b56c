// TrustRankClient (SPEC §4.7): one method per question, verdicts as values. Knows the wire, not
// what to do when it fails: that is TrustGateway's and the rails'.
import { BATCH_ITEMS_MAX, VERDICT_TTL_MS } from "../contract/limits.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  OutcomeReceipt,
  OutcomeRequest,
  VerifyContext,
  VerifyRequest,
  VerifyResponse,
} from "../contract/messages.ts";
import type { Decision } from "../contract/vocabulary.ts";
import { asTrustRankError, TrustGateError, TrustRankError } from "./errors.ts";
import {
  type BatchItem,
  readCheck,
  readHandshake,
  readReceipt,
  readVerify,
  readVerifyBatch,
} from "./read-reply.ts";
import { type FetchLike, globalFetch, monotonicClock } from "./runtime.ts";
import { reachOfCheck, ScoreCache, type ScoreCacheOptions } from "./score-cache.ts";
import type { OutcomeSigner } from "./sign.ts";
import { type CallOptions, Transport } from "./transport.ts";

/** SPEC §2.7. */
export type CheckVerdict = CheckResponse;
export type HandshakeVerdict = HandshakeResponse;
export type ConnectDecision = Decision;

export interface TrustRankClientOptions {
  /** Address of the service, with or without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** SPEC §8.1: 100 ms for every read of a score. */
  readonly timeoutMs?: number;
  /** For outcomes and batches, which wait for a disk or do a thousand readings; default 5 s. */
  readonly slowTimeoutMs?: number;
  readonly fetch?: FetchLike;
  /** Signs outcomes; see `createOutcomeSigner`. */
  readonly signer?: OutcomeSigner;
  /** Keeps verdicts of `check` for up to five minutes. Off by default; gateways have their own. */
  readonly cache?: ScoreCacheOptions;
  /** Who runs here: the initiator of handshakes and the reporter of outcomes, unless told. */
  readonly agentId?: string;
}

export interface StakesOptions {
  /** The value at risk, 0 or more. */
  readonly stakes: number;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** SPEC §2.2; `context` may be left out. */
export type VerifyInput = Omit<VerifyRequest, "context"> & { context?: VerifyContext };

/** What became of one reported outcome. */
export type OutcomeResult =
  | { readonly receipt: OutcomeReceipt; readonly error?: never }
  | { readonly error: TrustRankError; readonly receipt?: never };

const TIMEOUT_MS = 100;
const SLOW_TIMEOUT_MS = 5000;
/** Outcomes under way at once in `reportOutcomes`: they share syncs, so a few are enough. */
const OUTCOMES_AT_ONCE = 8;

export class TrustRankClient {
  readonly timeoutMs: number;
  readonly agentId: string | undefined;
  readonly #slowTimeoutMs: number;
  readonly #transport: Transport;
  readonly #signer: OutcomeSigner | undefined;
  readonly #cache: ScoreCache<CheckResponse> | undefined;

  constructor(options: TrustRankClientOptions) {
    if (!/^https?:\/\//.test(options.baseUrl)) {
      throw new TrustRankError("invalid_argument", "`baseUrl` must begin with http:// or https://");
    }
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.agentId = options.agentId;
    this.#slowTimeoutMs = options.slowTimeoutMs ?? SLOW_TIMEOUT_MS;
    this.#signer = options.signer;
    this.#cache = options.cache && new ScoreCache(reachOfCheck, options.cache);
    const { baseUrl, apiKey } = options;
    this.#transport = new Transport({ baseUrl, apiKey, fetch: options.fetch ?? globalFetch });
  }

  /**
   * Scores one agent for given stakes. A low score is a verdict to look at (`allowed`), never an
   * error; TrustRankError when there is no verdict.
   */
  async check(agentId: string, options: StakesOptions): Promise<CheckVerdict> {
    const askedMs = monotonicClock();
    const { stakes } = options;
    const cached = this.#cache?.get(agentId, stakes, askedMs, VERDICT_TTL_MS);
    if (cached !== undefined) return { ...cached.verdict, stakes };
    const request: CheckRequest = { subject: agentId, stakes };
    const { status, value } = await this.#post("/v1/check", request, this.#hot(options));
    if (status !== 200 && status !== 403) throw statusError(status);
    const verdict = readCheck(value, request);
    this.#cache?.put(agentId, stakes, verdict, askedMs);
    return verdict;
  }

  /**
   * Scores both directions between two agents. A refusal is a verdict too, although it travels as
   * HTTP 403 (SPEC §7); TrustRankError when there is no verdict.
   */
  async handshake(
    initiator: string,
    counterparty: string,
    options: StakesOptions,
  ): Promise<HandshakeVerdict> {
    const request: HandshakeRequest = { initiator, counterparty, stakes: options.stakes };
    const { value } = await this.#post("/v1/handshake", request, this.#hot(options));
    return readHandshake(value, request);
  }

  /** The policy verdict on one action (SPEC §2.3). TrustRankError when there is none. */
  async verify(request: VerifyInput, options: RequestOptions = {}): Promise<VerifyResponse> {
    const { status, value } = await this.#post("/v1/trust/verify", request, this.#hot(options));
    if (status !== 200) throw statusError(status);
    return readVerify(value);
  }

  /** Up to 1,000 verdicts, one result or problem per request, in order (SPEC §4.9 "batch mode"). */
  async verifyBatch(
    requests: readonly VerifyInput[],
    options: RequestOptions = {},
  ): Promise<BatchItem[]> {
    if (requests.length === 0) return [];
    if (requests.length > BATCH_ITEMS_MAX) {
      const detail = `a batch holds at most ${BATCH_ITEMS_MAX} requests`;
      throw new TrustRankError("invalid_argument", detail);
    }
    const body = { items: requests };
    const { status, value } = await this.#post("/v1/trust/verify/batch", body, this.#slow(options));
    if (status !== 200) throw statusError(status);
    return readVerifyBatch(value, requests.length);
  }

  /**
   * Like `check`, but throws TrustGateError holding the verdict when it is `refuse` (SPEC §4.7).
   * `escalate` is returned: a person may still say yes. An outage is a TrustRankError.
   */
  async require(agentId: string, options: StakesOptions): Promise<CheckVerdict> {
    const verdict = await this.check(agentId, options);
    if (verdict.decision === "refuse") throw refusal(agentId, verdict);
    return verdict;
  }

  /**
   * Reports a settled outcome; resolves once it is durable. Give `id` to make a repeat harmless.
   */
  async reportOutcome(
    outcome: OutcomeRequest,
    options: RequestOptions = {},
  ): Promise<OutcomeReceipt> {
    const body = JSON.stringify(outcome);
    const signature = await this.#signer?.sign(body);
    const headers = signature === undefined ? undefined : { "X-JWS-Signature": signature };
    const call = { ...this.#slow(options), headers };
    const { status, value } = await this.#transport.post("/v1/outcomes", body, call);
    if (status !== 200 && status !== 201) throw statusError(status);
    return readReceipt(value);
  }

  /**
   * Reports several outcomes, one result each in order; one that fails does not stop the others.
   */
  async reportOutcomes(
    outcomes: readonly OutcomeRequest[],
    options: RequestOptions = {},
  ): Promise<OutcomeResult[]> {
    const results: OutcomeResult[] = [];
    let next = 0;
    const work = async () => {
      for (let index = next++; index < outcomes.length; index = next++) {
        const outcome = outcomes[index] as OutcomeRequest;
        results[index] = await this.reportOutcome(outcome, options).then(
          (receipt) => ({ receipt }),
          (thrown: unknown) => ({ error: asTrustRankError(thrown) }),
        );
      }
    };
    await Promise.all(Array.from({ length: OUTCOMES_AT_ONCE }, work));
    return results;
  }

  #post(path: string, body: unknown, options: CallOptions) {
    return this.#transport.post(path, JSON.stringify(body), options);
  }

  #hot(options: RequestOptions): CallOptions {
    return { timeoutMs: options.timeoutMs ?? this.timeoutMs, signal: options.signal };
  }

  #slow(options: RequestOptions): CallOptions {
    return { timeoutMs: options.timeoutMs ?? this.#slowTimeoutMs, signal: options.signal };
  }
}

/** The error for a verdict that keeps a call from happening. */
export function refusal(
  agentId: string,
  verdict: { decision: Decision; reasons: string[]; request_id: string },
): TrustGateError {
  const because = verdict.reasons.length === 0 ? "" : `: ${verdict.reasons.join("; ")}`;
  return new TrustGateError(`${verdict.decision} for \`${agentId}\`${because}`, verdict);
}

function statusError(status: number): TrustRankError {
  return new TrustRankError("unexpected_status", `status ${status} is no answer`, { status });
}
