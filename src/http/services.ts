// What the HTTP room is given by the composition root, and what its handlers may use of it.
import type { Bureau } from "../bureau/bureau.ts";
import type { ReporterKeys } from "../bureau/reporters/reporter-keys.ts";
import type { EvidenceVault } from "../contract/sources.ts";
import type { Store } from "../store/store.ts";
import type { Kaizen } from "../kaizen/kaizen.ts";
import type { Credibility } from "../kaizen/credibility/credibility.ts";
import type { RefusalCounts } from "./access/refusals.ts";
import type { Keyring } from "./access/keyring.ts";
import type { Metrics, Vitals } from "./metrics.ts";
import type { RateBuckets, RateLimiter, RateLimits } from "./access/rate-limits.ts";
import type { RequestIds } from "./codec/request-id.ts";
import type { RouteDescription } from "./route-description.ts";
import type { ThreadCounts } from "./thread-counts.ts";
import type { UsageMeter } from "./access/usage.ts";
import type { VerifyBatchResult, VerifyBatchTask } from "./codec/verify-batch.ts";

/** Where the room reports what a client must not see. */
export interface HttpLogger {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface HealthProbe {
  /** `warnings` need an operator, and keep nothing from being served. */
  isReady(): { ready: boolean; reasons: string[]; warnings?: string[] };
}

/** Where large verify batches are scored; without one they are scored in place. */
export interface BatchScorer {
  /** Bodies of at least this many bytes are worth the hop. */
  readonly bytesMin: number;
  /** Rejects with ServiceFault, `overloaded` when too many wait. */
  score(task: VerifyBatchTask): Promise<VerifyBatchResult>;
}

/** Everything the HTTP room needs from the rest of the service. */
export interface HttpDependencies {
  bureau: Bureau;
  keyring: Keyring;
  store: Store;
  /** Epoch milliseconds. */
  clock: () => number;
  logger: HttpLogger;
  health: HealthProbe;
  version: string;
  /** Numbers for `/metrics` that only the composition root knows. */
  vitals?: () => Vitals;
  /** Milliseconds that never go back, for deadlines and `Server-Timing`. */
  monotonic?: () => number;
  rateLimits?: RateLimits;
  /** Where several threads keep one count of a limit; else each keeps its own. */
  rateBuckets?: RateBuckets;
  /** Another application's meter, to count into. */
  usage?: UsageMeter;
  /** What all threads that serve have counted, in their order; without it this one is alone. */
  allCounts?: () => Promise<readonly ThreadCounts[]>;
  scorer?: BatchScorer | undefined;
  /** Re-fits and promotions; without it their routes answer `not_found`. */
  kaizen?: Kaizen;
  /** Reporters' credibility; without it its routes answer `not_found`. */
  credibility?: Credibility;
  /** Reporters' keys and signatures; without it their routes answer `not_found`. */
  reporters?: ReporterKeys;
  /** Told of refused authorisations, for the audit trail. */
  denials?: RefusalCounts;
  /** The evidence vault, where there is one. */
  vault?: EvidenceVault;
}

/** What handlers may use. */
export interface Services extends HttpDependencies {
  readonly metrics: Metrics;
  readonly usage: UsageMeter;
  readonly limiter: RateLimiter;
  readonly requestIds: RequestIds;
  readonly routes: readonly RouteDescription[];
  readonly isDraining: boolean;
  /** Asynchronous answers under way. */
  readonly pendingCount: number;
}
