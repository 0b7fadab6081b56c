// TrustRankClient (SPEC §4.7): one method per question, verdicts as values. Knows the wire only;
// the reaction to an outage belongs to TrustGateway and the gates.
import { BATCH_ITEMS_MAX, VERDICT_TTL_MS } from "../contract/limits.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  OutcomeReceipt,
  OutcomeRequest,
  VerifyRequest,
  VerifyResponse,
} from "./messages.ts";
import type { Decision } from "../contract/vocabulary.ts";
import { awaitReview } from "./gates/await-review.ts";
import { convertToTrustRankError, createGateError, TrustRankError } from "./errors.ts";
import {
  splitOutcomesIntoBatches,
  type OutcomeBatch,
  type OutcomeResult,
  readOutcomeBatch,
  type SignedOutcome,
} from "./reporting/outcome-batch.ts";
import { type ProvenanceInput, buildProvenanceRecord } from "./reporting/provenance.ts";
import {
  type VerifyBatchItem,
  isShadowVerdict,
  readCheck,
  readHandshake,
  readReceipt,
  readServiceId,
  readVerify,
  readVerifyBatch,
} from "./read-reply.ts";
import { callGlobalFetch, loadFetch, readMonotonicMs } from "./runtime.ts";
import { listCheckRanges, ScoreCache } from "./score-cache.ts";
import type { RequestOptions, StakesOptions, TrustRankClientOptions } from "./options.ts";
import { type KeyRegistration, registerSigningKey } from "./reporting/reporter-key.ts";
import type { OutcomeSigner } from "./reporting/sign.ts";
import type { Review } from "./review.ts";
import { isAffected } from "./changes/change.ts";
import { FeedCoverage } from "./changes/coverage.ts";
import { ChangeFollower, type ChangeHandlers, type FeedTarget } from "./changes/follower.ts";
import { createRequestSender, listAddresses } from "./nodes/fail-over.ts";
import type { CallKind, SendOptions, RequestSender } from "./transport.ts";
import { WebhookEndpoints } from "./webhooks/endpoints.ts";

/** SPEC §2.7. */
export type CheckVerdict = CheckResponse;
/** SPEC §2.5: both legs, and the most restrictive of their decisions. */
export type HandshakeVerdict = HandshakeResponse;
/** SPEC §3: `connect`, `connect_with_verification`, `escalate` or `refuse`. */
export type ConnectDecision = Decision;

const TIMEOUT_MS = 100;
const SLOW_TIMEOUT_MS = 5000;

/** Client of one service. Safe to share: it holds no connection of its own and no order. */
export class TrustRankClient {
  readonly timeoutMs: number;
  readonly agentId: string | undefined;
  /** Whom the service tells of events. */
  readonly webhooks: WebhookEndpoints;
  readonly #slowTimeoutMs: number;
  readonly #transport: RequestSender;
  readonly #signer: OutcomeSigner | undefined;
  readonly #cache: ScoreCache<CheckResponse> | undefined;
  readonly #feed: FeedTarget;
  readonly #coverage = new FeedCoverage();
  #mayFollow: boolean;
  #follower: ChangeFollower | undefined;
  /** Counts changes: an answer to an older question is not cached. */
  #changeCount = 0;

  /** @throws TrustRankError `invalid_argument` when `baseUrl` is no HTTP address. */
  constructor(options: TrustRankClientOptions) {
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.agentId = options.agentId;
    this.#slowTimeoutMs = options.slowTimeoutMs ?? SLOW_TIMEOUT_MS;
    this.#signer = options.signer;
    this.#mayFollow = options.follow ?? true;
    this.#cache = options.cache && new ScoreCache(listCheckRanges, options.cache);
    const { baseUrl, apiKey, hedgeAfterMs, fetch = callGlobalFetch } = options;
    this.#feed = { addresses: listAddresses(baseUrl), apiKey, fetch: options.fetch };
    this.#transport = createRequestSender({ baseUrl, apiKey, hedgeAfterMs, fetch });
    // oxlint-disable-next-line max-params -- its type is published
    this.webhooks = new WebhookEndpoints((method, path, body, more, kind) =>
      this.#transport.send(method, path, body, this.#buildSlowCallOptions(more, kind)),
    );
    if (options.fetch === undefined) loadFetch();
  }

  /**
   * Opens the connections and does what only a first request does, so that the first question stays
   * within its limit. Asks nobody's score. Resolves true when the service answered; never rejects.
   */
  warmUp(options: RequestOptions = {}): Promise<boolean> {
    return this.#transport.reach(this.#buildSlowCallOptions(options, "read"));
  }

  /**
   * Scores one agent for given stakes. A low score is a verdict to look at (`allowed`), never an
   * error.
   * @throws TrustRankError when there is no verdict.
   */
  async check(agentId: string, options: StakesOptions): Promise<CheckVerdict> {
    this.#followForCache();
    const askedMs = readMonotonicMs();
    const { stakes } = options;
    const changeCount = this.#changeCount;
    const cache = options.reserve === false ? undefined : this.#cache;
    const cached = cache?.get(agentId, { stakes }, askedMs, VERDICT_TTL_MS);
    const isFresh =
      cached !== undefined &&
      askedMs - cached.askedMs < this.#coverage.computeAgeMsMax(cached.askedMs);
    if (isFresh) return { ...cached.verdict, stakes };
    const request: CheckRequest = { subject: agentId, stakes, ...selectReserve(options) };
    const { status, value } = await this.#postJson(
      "/v1/check",
      request,
      this.#buildScoreReadOptions(options, agentId),
    );
    if (status !== 200 && status !== 403) throw createStatusError(status);
    const verdict = readCheck(value, request);
    if (changeCount === this.#changeCount) cache?.put(agentId, { stakes }, verdict, askedMs);
    return verdict;
  }

  /**
   * Scores both directions between two agents. A refusal is a verdict too, although it travels as
   * HTTP 403 (SPEC §7).
   * @throws TrustRankError when there is no verdict.
   */
  async handshake(
    initiator: string,
    counterparty: string,
    options: StakesOptions,
  ): Promise<HandshakeVerdict> {
    const { stakes } = options;
    const request: HandshakeRequest = {
      initiator,
      counterparty,
      stakes,
      ...selectReserve(options),
    };
    const stranger = counterparty === this.agentId ? initiator : counterparty;
    const { value } = await this.#postJson(
      "/v1/handshake",
      request,
      this.#buildScoreReadOptions(options, stranger),
    );
    return readHandshake(value, request);
  }

  /**
   * The policy verdict on one action (SPEC §2.3).
   * @throws TrustRankError when there is none.
   */
  async verify(request: VerifyRequest, options: RequestOptions = {}): Promise<VerifyResponse> {
    const call = this.#buildScoreReadOptions(options, request.agent_id);
    const { status, value } = await this.#postJson("/v1/trust/verify", request, call);
    if (status !== 200) throw createStatusError(status);
    return readVerify(value);
  }

  /** Up to 1,000 verdicts, one result or problem per request, in order (SPEC §4.9 "batch mode"). */
  async verifyBatch(
    requests: readonly VerifyRequest[],
    options: RequestOptions = {},
  ): Promise<VerifyBatchItem[]> {
    if (requests.length === 0) return [];
    if (requests.length > BATCH_ITEMS_MAX) {
      const detail = `a batch holds at most ${BATCH_ITEMS_MAX} requests`;
      throw new TrustRankError("invalid_argument", detail);
    }
    const body = { items: requests };
    const call = this.#buildSlowCallOptions(options, "read");
    const { status, value } = await this.#postJson("/v1/trust/verify/batch", body, call);
    if (status !== 200) throw createStatusError(status);
    return readVerifyBatch(value, requests.length);
  }

  /**
   * Like `check`, for verdicts that let the call through. `escalate` is returned: a person may
   * still approve.
   * @throws TrustGateError with the verdict when it is an enforced `refuse` (SPEC §4.7);
   *   TrustRankError on an outage.
   */
  async require(agentId: string, options: StakesOptions): Promise<CheckVerdict> {
    const verdict = await this.check(agentId, options);
    if (verdict.decision === "refuse" && !isShadowVerdict(verdict))
      throw createGateError(agentId, verdict);
    return verdict;
  }

  /**
   * Waits until a person has decided on the review that a held back verdict names: the review then,
   * or as it stands after `timeoutMs` (five minutes). Ask the question again: it is the verdict that
   * counts. The wait outlives restarts of the service.
   * @throws TrustRankError `not_found` when there is no such review (any more).
   */
  async awaitReview(id: string, options: RequestOptions = {}): Promise<Review> {
    const review = await awaitReview(id, options, (path, call) =>
      this.#transport.send("GET", path, undefined, { ...call, kind: "wait" }),
    );
    // What was answered before the decision does not hold after it.
    if (review.decision !== null) this.#cache?.clear(review.agent);
    return review;
  }

  /**
   * Follows the changes at the service that outdate verdicts, for a cache of the caller's own; a client with
   * `cache` and a TrustGateway follow by themselves. Reconnects by itself; keeps no process alive. Takes a key
   * of scope `score:read`.
   */
  followChanges(handlers: ChangeHandlers): ChangeFollower {
    return new ChangeFollower(this.#feed, handlers);
  }

  /** Ends the following of changes for the client's cache; questions are answered as before. */
  close(): void {
    this.#mayFollow = false;
    this.#follower?.close();
    this.#follower = undefined;
    this.#coverage.follower = undefined;
  }

  /**
   * Reports a settled outcome (SPEC §4.4); resolves once it is durable. An `id` makes a repeat
   * harmless.
   * @throws TrustRankError when it was not accepted.
   */
  async reportOutcome(
    outcome: OutcomeRequest,
    options: RequestOptions = {},
  ): Promise<OutcomeReceipt> {
    // The same node as for reads: whoever asks next about this agent finds the outcome.
    const call = this.#buildOutcomeOptions(options, outcome.id !== undefined, outcome.subject);
    const body = JSON.stringify(outcome);
    const { status, value } = await this.#postOutcomes("/v1/outcomes", body, call);
    if (status !== 200 && status !== 201) throw createStatusError(status);
    return readReceipt(value);
  }

  /**
   * Reports any number of outcomes, a thousand a request and under one signature each; one result
   * per outcome, in order. A refused outcome does not stop the others; when the service does not
   * answer, the rest is not sent and has the error as its result. An outcome with an `id` counts
   * once, also when `reportOutcome` sends it too. Outcomes signed by their reporters
   * (`signOutcome`) may be among them. Never rejects.
   */
  async reportOutcomes(
    outcomes: readonly (OutcomeRequest | SignedOutcome)[],
    options: RequestOptions = {},
  ): Promise<OutcomeResult[]> {
    const results: OutcomeResult[] = [];
    let outage: TrustRankError | undefined;
    for (const batch of splitOutcomesIntoBatches(outcomes, this.#signer !== undefined, results)) {
      const found =
        outage ?? (await this.#sendOutcomeBatch(batch, options).catch(convertToTrustRankError));
      const isFault = found instanceof TrustRankError;
      for (const [at, index] of batch.indexes.entries()) {
        results[index] = isFault ? { error: found } : (found[at] as OutcomeResult);
      }
      if (isFault && isOutage(found)) outage = found;
    }
    return results;
  }

  /**
   * Records the content and the sources of an agent's answer (SPEC §4.9); resolves once accepted.
   * For requests that must not wait there is ProvenanceQueue, and `TrustGateway.provenance`.
   * @throws TrustRankError when it was not accepted.
   */
  async recordProvenance(record: ProvenanceInput, options: RequestOptions = {}): Promise<void> {
    const body = await buildProvenanceRecord(record);
    const { status } = await this.#postJson(
      "/v1/provenance",
      body,
      this.#buildSlowCallOptions(options),
    );
    if (status !== 202) throw createStatusError(status);
  }

  /**
   * The `audience` of signatures.
   * @throws TrustRankError `not_found` when the service takes no signatures.
   */
  async serviceId(options: RequestOptions = {}): Promise<string> {
    const call = this.#buildSlowCallOptions(options, "read");
    const { value } = await this.#transport.send("GET", "/healthz", undefined, call);
    return readServiceId(value);
  }

  /**
   * Makes a key the signing key of an agent, with proof of possession; resolves with the signer for
   * reporting clients. Takes an API key of scope `keys:write`. The agent's other keys retire after
   * the overlap.
   * @throws TrustRankError `key_proof_invalid`, `key_conflict`, `namespace_not_owned` and others.
   */
  registerKey(registration: KeyRegistration, options: RequestOptions = {}): Promise<OutcomeSigner> {
    const agentId = registration.agentId ?? this.agentId;
    if (agentId === undefined) {
      const detail = "whose key it is: pass `agentId`, here or to the client";
      return Promise.reject(new TrustRankError("invalid_argument", detail));
    }
    return registerSigningKey({ ...registration, agentId }, (method, path, body) =>
      this.#transport.send(method, path, JSON.stringify(body), this.#buildSlowCallOptions(options)),
    );
  }

  #followForCache(): void {
    const cache = this.#cache;
    if (!this.#mayFollow || cache === undefined || this.#follower !== undefined) return;
    const drop = (isOutdated: (agentId: string) => boolean) => {
      this.#changeCount += 1;
      cache.clearWhere(isOutdated);
    };
    this.#follower = this.followChanges({
      onChange: (change) => drop((agentId) => isAffected(change, agentId)),
      onGap: () => drop(() => true),
      onStart: () => this.#coverage.startAt(readMonotonicMs()),
    });
    this.#coverage.follower = this.#follower;
  }

  async #sendOutcomeBatch(batch: OutcomeBatch, options: RequestOptions): Promise<OutcomeResult[]> {
    const { body, indexes, isSigned, isIdentified } = batch;
    const call = this.#buildOutcomeOptions(options, isIdentified);
    const sent = this.#postOutcomes("/v1/outcomes/batch", body, call, isSigned);
    const { status, value } = await sent;
    if (status !== 200) throw createStatusError(status);
    return readOutcomeBatch(value, indexes.length);
  }

  async #postOutcomes(path: string, body: string, options: SendOptions, isSigned = false) {
    const signature = isSigned ? undefined : await this.#signer?.sign(body);
    if (signature === undefined) return this.#transport.post(path, body, options);
    // A signature has an id of its own.
    const headers = { "X-JWS-Signature": signature };
    return this.#transport.post(path, body, { ...options, headers, kind: "identified" });
  }

  #postJson(path: string, body: unknown, call: SendOptions) {
    return this.#transport.post(path, JSON.stringify(body), call);
  }

  #buildScoreReadOptions(
    { timeoutMs = this.timeoutMs, signal }: RequestOptions,
    agentId: string,
  ): SendOptions {
    return { timeoutMs, signal, kind: "read", agentId };
  }

  #buildSlowCallOptions(options: RequestOptions, kind: CallKind = "write"): SendOptions {
    return { timeoutMs: options.timeoutMs ?? this.#slowTimeoutMs, signal: options.signal, kind };
  }

  #buildOutcomeOptions(
    options: RequestOptions,
    isIdentified: boolean,
    agentId?: string,
  ): SendOptions {
    return {
      ...this.#buildSlowCallOptions(options, isIdentified ? "identified" : "write"),
      agentId,
    };
  }
}

/** Whether a request that follows at once would fail in the same way. */
function isOutage(error: TrustRankError): boolean {
  return error.isTransient || error.code === "aborted";
}

function createStatusError(status: number): TrustRankError {
  return new TrustRankError("unexpected_status", `status ${status} is no answer`, { status });
}

/** Named only where it is not the default. */
function selectReserve({ reserve }: StakesOptions): { reserve?: boolean } {
  return reserve === false ? { reserve } : {};
}
