// Options of the client and of its calls.
import type { OutcomeSigner } from "./reporting/sign.ts";
import type { FetchLike } from "./runtime.ts";
import type { ScoreCacheOptions } from "./score-cache.ts";

/** Address, identity and limits of a client. */
export interface TrustRankClientOptions {
  /**
   * Address of the service, with or without a trailing slash; or those of several nodes of one bureau,
   * among which the client fails over.
   */
  readonly baseUrl: string | readonly string[];
  /** `tr_live_...`; sent as `Authorization: Bearer`. */
  readonly apiKey?: string;
  /** Milliseconds for every read of a score; 100 by default (SPEC §8.1). */
  readonly timeoutMs?: number;
  /** Milliseconds for outcomes and batches (a disk, a thousand reads); default 5,000. */
  readonly slowTimeoutMs?: number;
  /**
   * Asks a second node when the first has not answered a read by then; the first good answer counts.
   * Off by default: both reads may be paid for. Takes several addresses.
   */
  readonly hedgeAfterMs?: number;
  /** In place of the platform's own: for proxies, instrumentation and tests. */
  readonly fetch?: FetchLike;
  /** Signs outcomes; see `createOutcomeSigner`. */
  readonly signer?: OutcomeSigner;
  /**
   * Caches verdicts of `check` for up to five minutes, and follows the service's change feed to drop what is
   * outdated (`close` ends that). Off by default; gateways have their own.
   */
  readonly cache?: ScoreCacheOptions;
  /** `false`: a client with `cache` does not follow the change feed. */
  readonly follow?: boolean;
  /** Default initiator of handshakes and reporter of outcomes. */
  readonly agentId?: string;
}

/** Stakes and limits of one read. */
export interface StakesOptions {
  /** The value at risk, 0 or more. */
  readonly stakes: number;
  /** `false`: only looks. The stakes do not count with later ones, and the answer is kept in no cache. */
  readonly reserve?: boolean;
  /** Ends the call with TrustRankError `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, in place of the client's own limit. */
  readonly timeoutMs?: number | undefined;
}

/** Limits of one call. */
export interface RequestOptions {
  /** Ends the call with TrustRankError `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, in place of the client's own limit. */
  readonly timeoutMs?: number | undefined;
}
