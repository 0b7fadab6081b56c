// Collaborators of the verdict use cases and their environment (clock, timer, randomness), injected so that
// tests and replays can fix them.
import type { ActivitySource } from "../contract/activity/source.ts";
import type { DecisionLog } from "../contract/decisions.ts";
import type { ReporterRegistry } from "./reporters/key-registry.ts";
import type { EngineReader } from "../engine/reading.ts";
import type { EventLog, Ledger } from "../ledger/ledger.ts";
import type { PolicySource } from "../policy/active-policy.ts";
import type { AssessmentLog } from "../contract/assessments.ts";
import type { FirstOfDayTracker } from "./decisions/first-of-day.ts";
import type { ProvenanceAssessor } from "./decisions/provenance.ts";
import type { ConditionSource } from "../contract/conditions/book.ts";
import type { ReviewDecisionSource } from "./reviews/decision-cache.ts";

/** Ids of outcomes: UUIDv7, so that they sort by the time of recording. */
export interface OutcomeIdGenerator {
  /** A new id, stamped with `nowMs` (epoch ms). */
  next(nowMs: number): string;
}

/** Effects that use cases need. */
export interface BureauEnvironment {
  /** Resolves after `ms`; only the reserved agent `agent://test/slow` uses it. */
  delay(ms: number): Promise<void>;
  readonly outcomeIds: OutcomeIdGenerator;
  /** Whether the reserved test agents answer; false in production unless switched on. */
  readonly isReservedEnabled: boolean;
}

export interface BureauOptions {
  readonly engine: EngineReader;
  readonly ledger: Ledger;
  /** Records signed batches; defaults to a log that rejects them. */
  readonly events?: Pick<EventLog, "appendEvidence">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly environment: BureauEnvironment;
  /** Defaults to an assessor without registered sources. */
  readonly provenance?: ProvenanceAssessor;
  /** Active policies; defaults to the shipped one for every tenant. */
  readonly policies?: PolicySource;
  /** Log of certain findings on texts; by default they are discarded. */
  readonly assessments?: AssessmentLog;
  /** Reporters' keys and owners of namespaces; by default there are none. */
  readonly registry?: ReporterRegistry;
  /** Decision log; by default decisions are discarded. */
  readonly decisions?: DecisionLog;
  /** Review decisions on withheld agents; by default there are none. */
  readonly reviews?: ReviewDecisionSource;
  /** Operators' conditions and stops; by default there are none. */
  readonly conditions?: ConditionSource;
  /** Counts of calls and stakes held; by default nothing is counted and no limit is reached. */
  readonly activity?: ActivitySource;
}

/** The options with their defaults, and the daily trackers of one deciding thread. */
export interface BureauServices extends Required<BureauOptions> {
  readonly outcomeIds: OutcomeIdGenerator;
  readonly flaggedToday: FirstOfDayTracker;
  /** Agents whose first challenge of the day was eligible for audit sampling. */
  readonly auditedToday: FirstOfDayTracker;
}
