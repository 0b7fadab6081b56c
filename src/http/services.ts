// Services of the HTTP layer: dependencies from the composition root, and their view for handlers.
import type { Bureau } from "../bureau/bureau.ts";
import type { Conditions } from "../bureau/conditions.ts";
import type { SignalReceiver } from "../bureau/signals.ts";
import type { TenantPolicies } from "../bureau/policies.ts";
import type { PolicyDiffs } from "../bureau/policy-diffs.ts";
import type { Namespaces } from "../bureau/reporters/namespaces.ts";
import type { ReporterKeys } from "../bureau/reporters/reporter-keys.ts";
import type { ReviewQueue } from "../bureau/reviews/queue.ts";
import type { NoteRecorder } from "../contract/notes.ts";
import type { SigningKeys } from "../contract/signing-keys.ts";
import type { EvidenceVault } from "../contract/sources.ts";
import type { Webhooks } from "../contract/webhooks/port.ts";
import type { JournalSegments } from "../contract/schemas/cluster/segments.ts";
import type { ClusterState } from "../contract/schemas/cluster/state.ts";
import type { ServiceStatus, StreamState } from "../contract/schemas/series.ts";
import type { Effective } from "../contract/schemas/service.ts";
import type { Store } from "../store/store.ts";
import type { Backtests, Credibility, DailyScores, Kaizen } from "../kaizen/kaizen.ts";
import type { RefusalCollector } from "./access/refusals.ts";
import type { BodyStream } from "./server/port.ts";
import type { Keyring } from "./access/keyring.ts";
import type { KaizenReportLinks, SharedReportLinks } from "./access/report-links.ts";
import type { ChangeFollowers } from "./changes/followers.ts";
import type { Console } from "./console/console.ts";
import type { MetricValues } from "./metrics/metric-values.ts";
import type { SeriesBuffer } from "./metrics/series.ts";
import type { RequestRecorder, ThreadCounts } from "./metrics/recorder.ts";
import type { AnswerTallies } from "./metrics/tallies.ts";
import type { RateBuckets, RateLimiter, RateLimits } from "./access/rate-limits.ts";
import type { RequestIdGenerator } from "./codec/request-id.ts";
import type { ApiDocumentation } from "./openapi/api-documentation.ts";
import type { RequestWatch } from "./request-watch.ts";
import type { RouteDescription } from "./route-description.ts";
import type { EventLoopYield } from "./event-loop-yield.ts";
import type { LagGuard } from "./access/lag-guard.ts";
import type { QuotaGuard, Quotas } from "./access/quotas.ts";
import type { UsageMeter } from "./access/usage.ts";
import type { ProcessUsage } from "./access/usage-report.ts";
import type { VerifyBatchResult, VerifyBatchTask } from "./codec/verify-batch.ts";

/** Log for details that a client must not see. */
export interface HttpLogger {
  /** Only there when such lines are wanted. */
  debug?(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Readiness for `/readyz`. */
export interface HealthProbe {
  /** Readiness of the service; `warnings` need an operator but do not prevent serving. */
  isReady(): {
    ready: boolean;
    reasons: string[];
    warnings?: string[];
    /** The node's place in its cluster; without one there is none. */
    stream?: StreamState | undefined;
  };
}

/** Scorer of large verify batches on other threads; without one they are scored in place. */
export interface BatchScorer {
  /** Bodies of at least this many bytes are sent to it. */
  readonly bytesMin: number;
  /** Rejects with ServiceFault, `overloaded` when too many wait. */
  score(task: VerifyBatchTask): Promise<VerifyBatchResult>;
}

/** Files of a node's journal. */
interface JournalSegmentSource {
  list(): Promise<JournalSegments>;
  /** Undefined when there is none of that name. */
  read(name: string): Promise<BodyStream | undefined>;
}

/** Dependencies of the HTTP layer on the rest of the service. */
export interface HttpDependencies {
  bureau: Bureau;
  keyring: Keyring;
  store: Store;
  /** Journals reviews, provenance told afterwards and changes of keys. */
  notes: NoteRecorder;
  /** Epoch milliseconds. */
  clock: () => number;
  logger: HttpLogger;
  health: HealthProbe;
  version: string;
  /** Figures of the rest of the service for `/metrics`. */
  figures?: () => MetricValues;
  /** The last minutes by the second; without them their route answers `not_found`. */
  series?: Pick<SeriesBuffer, "read">;
  /** The state of every part; without it its route answers `not_found`. */
  status?: () => Omit<ServiceStatus, "ready" | "reasons" | "warnings" | "stream">;
  /** The cluster as this node last saw it; without it, or before it has looked, its route answers `not_found`. */
  cluster?: () => ClusterState | undefined;
  /** On how many nodes of the cluster what was done is in force; without it there is none. */
  effect?: (() => Promise<Effective>) | undefined;
  /** The journal's files, for another node of the cluster; without it their routes answer `not_found`. */
  segments?: JournalSegmentSource;
  /** Monotonic milliseconds, for deadlines and `Server-Timing`. */
  monotonic?: () => number;
  /** CPU time of this thread, milliseconds. */
  cpuMs?: () => number;
  /** Limits by class of work; unlimited by default. */
  rateLimits?: RateLimits;
  /** Milliseconds that a round of the queue may take for long before requests are turned away. */
  queueMsMax?: number;
  /** Buckets shared by several threads; without them this thread has its own. */
  rateBuckets?: RateBuckets;
  /** Meter and tallies of another application, to count into. */
  usage?: UsageMeter;
  tallies?: AnswerTallies;
  /** Monthly quotas of tenants, as this thread asks them; without it nobody has one. */
  quotaGuard?: QuotaGuard;
  /** The same, to be set; without it their routes answer `not_found`. */
  quotas?: Quotas;
  /** Refuses keys while this node is cut off from its cluster; without it there is none. */
  lagGuard?: LagGuard | undefined;
  /** Usage of this process on all threads; without it this meter is all there is. */
  usageBook?: ProcessUsage;
  /** Counts of all threads that serve, in their order; without it this thread is the only one. */
  allCounts?: () => Promise<readonly ThreadCounts[]>;
  /** Scorer of large batches; without it they are scored in place. */
  scorer?: BatchScorer | undefined;
  /** Re-fits and promotions; without it their routes answer `not_found`. */
  kaizen?: Kaizen;
  /** Links to reports of kaizen; without them its answers have none. */
  reportLinks?: KaizenReportLinks;
  /** Links to reports on agents; without them nobody is given any. */
  sharedReports?: SharedReportLinks;
  /** Reporter credibility; without it its routes answer `not_found`. */
  credibility?: Credibility;
  /** Rebuilds of daily scores; without them their routes answer `not_found`. */
  dailyScores?: DailyScores;
  /** The review queue; without it its routes answer `not_found`. */
  reviews?: ReviewQueue;
  /** Policies of the tenants; without them their routes answer `not_found`. */
  policies?: TenantPolicies;
  /** Operators' conditions and stops; without them their routes answer `not_found`. */
  conditions?: Conditions;
  /** Security signals of pinned issuers. */
  signals?: SignalReceiver | undefined;
  /** Back-tests of policies; without them their routes answer `not_found`. */
  backtests?: Backtests;
  /** Comparisons of drafts with logged verdicts; without them their route answers `not_found`. */
  policyDiffs?: PolicyDiffs;
  /** Reporters' keys and signatures; without them their routes answer `not_found`. */
  reporters?: ReporterKeys;
  /** Owners of namespaces; without them their routes answer `not_found`. */
  namespaces?: Namespaces;
  /** The bureau's own signing keys; without them their routes answer `not_found`. */
  signingKeys?: SigningKeys;
  /** Receives refused authorisations, for the audit trail. */
  refusals?: RefusalCollector;
  /** Watches requests for the access log and for traces; without it none is watched. */
  watch?: RequestWatch | undefined;
  /** Endpoints that are told of events; without them their routes answer `not_found`. */
  webhooks?: Webhooks;
  /** Where people look; without it its paths answer `not_found`. */
  console?: Console;
  /** Followers of changes on this thread; without them their route answers `not_found`. */
  changes?: ChangeFollowers;
  /** The evidence vault; without it its routes answer `not_found`. */
  vault?: EvidenceVault;
}

/** Services that a process may run without, and the detail of the 404 that their routes then answer. */
export const MISSING_SERVICE_DETAILS = {
  changes: "this service has no change feed",
  backtests: "this service makes no back-tests",
  conditions: "this service keeps no conditions",
  signals: "this service has no file of signal issuers: see TRUSTRANK_SIGNALS_FILE",
  console: "no route has this path",
  credibility: "this service runs without credibility",
  dailyScores: "this service rebuilds no daily scores",
  kaizen: "this service runs without kaizen",
  namespaces: "this service keeps no namespaces",
  policies: "this service runs with the shipped policy alone",
  policyDiffs: "this service compares no policies",
  quotas: "this service keeps no quotas",
  reporters: "this service keeps no reporter keys",
  reviews: "this service keeps no reviews",
  segments: "this process is no node of a cluster",
  series: "this service keeps no series",
  sharedReports: "this service shares no reports",
  signingKeys: "this service has no signing key",
  status: "this service tells no status",
  vault: "this bureau keeps no evidence vault",
  webhooks: "this service tells no webhooks",
} as const satisfies Partial<Record<keyof HttpDependencies, string>>;
export type OptionalService = keyof typeof MISSING_SERVICE_DETAILS;

/** Services for handlers. */
export interface HttpServices extends HttpDependencies {
  readonly metrics: RequestRecorder;
  readonly tallies: AnswerTallies;
  readonly usage: UsageMeter;
  readonly limiter: RateLimiter;
  readonly requestIds: RequestIdGenerator;
  /** Of this thread: long answers are worked on in slices. */
  readonly turns: EventLoopYield;
  readonly routes: readonly RouteDescription[];
  readonly pages: ApiDocumentation;
  readonly isDraining: boolean;
  /** Asynchronous answers under way. */
  readonly pendingCount: number;
}
