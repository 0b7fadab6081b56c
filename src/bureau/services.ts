// Collaborators of every use case in the bureau, and its environment (clock, timer, randomness),
// all injected so that a test or a replay can fix them.
import type { DecisionEntry, DecisionLog } from "../contract/decisions.ts";
import type { NamespaceReader } from "../contract/namespaces.ts";
import type { EngineReader } from "../engine/reading.ts";
import type { EventLog, Ledger } from "../ledger/ledger.ts";
import type { PolicySource } from "../policy/active-policy.ts";
import type { AssessmentLog } from "./decisions/assessments.ts";
import type { FirstOfDayTracker } from "./decisions/daily-once.ts";
import type { ProvenanceAssessor } from "./decisions/provenance.ts";
import type { ReviewDecisionSource } from "./reviews/desk.ts";
import type { VerdictTimes } from "./decisions/verdict-times.ts";

/** Ids of outcomes: UUIDv7, so that they sort by the time of recording. */
export interface OutcomeIdGenerator {
  /** A new id, stamped with `nowMs` (epoch ms). */
  next(nowMs: number): string;
}

/** The outside world as the bureau sees it. */
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
  /** Records signed batches; defaults to a log that refuses them. */
  readonly events?: Pick<EventLog, "appendEvidence">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly environment: BureauEnvironment;
  /** Defaults to the assessor of a bureau in which no source is registered. */
  readonly provenance?: ProvenanceAssessor;
  /** The policies in force; defaults to the shipped one for everyone. */
  readonly policies?: PolicySource;
  /** Where certain findings on texts go; defaults to nowhere. */
  readonly assessments?: AssessmentLog;
  /** Who owns which namespace; defaults to nobody. */
  readonly owners?: NamespaceReader;
  /** Where every answer is logged; defaults to nowhere. */
  readonly decisions?: DecisionLog;
  /** What people decide on agents that are held back; defaults to nobody. */
  readonly reviews?: ReviewDecisionSource;
}

/** The options with their defaults filled in, and the objects made once per bureau. */
export interface BureauServices extends Required<BureauOptions> {
  readonly times: VerdictTimes;
  readonly outcomeIds: OutcomeIdGenerator;
  readonly flaggedToday: FirstOfDayTracker;
  /** Agents whose first challenge of the day has taken part in the audit's lot. */
  readonly auditedToday: FirstOfDayTracker;
  /** The one entry that is filled for the decision log. */
  readonly entry: DecisionEntry;
  /** Epoch ms of the verdict in progress. */
  nowMs: number;
}

/** Fixes the times of one verdict and returns now, epoch ms. */
export function setVerdictTime(services: BureauServices): number {
  const nowMs = services.clock();
  services.nowMs = nowMs;
  services.times.set(nowMs);
  return nowMs;
}
