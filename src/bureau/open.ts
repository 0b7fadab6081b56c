// Constructor of the `Bureau` port: binds the use cases to an engine and a ledger.
import { noActivity } from "../contract/activity/source.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { Bureau } from "./bureau.ts";
import { defaultPolicySource } from "../policy/active-policy.ts";
import { discardingAssessmentLog } from "./decisions/assessments.ts";
import { FirstOfDayTracker } from "./decisions/first-of-day.ts";
import { discardingDecisionLog } from "./decisions/log-entry.ts";
import type { BureauOptions, BureauServices } from "./services.ts";
import { KeyRegistry } from "./reporters/key-registry.ts";
import { noConditions } from "../contract/conditions/book.ts";
import { noReviewDecisions } from "./reviews/decision-cache.ts";
import { explainAgentScore } from "./decisions/explain.ts";
import { checkAgent } from "./decisions/check.ts";
import { decideHandshake } from "./decisions/handshake.ts";
import { recordOutcomeBatch } from "./outcomes/record-batch.ts";
import { importOutcomes, recordOutcome } from "./outcomes/record.ts";
import { listObjections } from "./decisions/reasons.ts";
import { replayLoggedDecision } from "./decisions/replay.ts";
import { traceLoggedDecision } from "./decisions/trace.ts";
import { emptyVaultAssessor } from "./decisions/provenance.ts";
import { VerdictContext } from "./decisions/verdict-context.ts";
import { verifyAgentAction } from "./decisions/verify.ts";

/** For bureaus that only read, or that receive no signatures. */
const rejectingEvidenceLog: BureauServices["events"] = {
  appendEvidence: () =>
    Promise.reject(new ServiceFault("journal_unavailable", "signed batches are not kept here")),
};

/** A bureau for one thread: it shares the engine's reused readings, so it is not re-entrant. */
export function openBureau(options: BureauOptions): Bureau {
  const services: BureauServices = {
    engine: options.engine,
    ledger: options.ledger,
    events: options.events ?? rejectingEvidenceLog,
    clock: options.clock,
    environment: options.environment,
    provenance: options.provenance ?? emptyVaultAssessor,
    policies: options.policies ?? defaultPolicySource,
    assessments: options.assessments ?? discardingAssessmentLog,
    registry: options.registry ?? new KeyRegistry(),
    decisions: options.decisions ?? discardingDecisionLog,
    reviews: options.reviews ?? noReviewDecisions,
    conditions: options.conditions ?? noConditions,
    activity: options.activity ?? noActivity,
    flaggedToday: new FirstOfDayTracker(),
    auditedToday: new FirstOfDayTracker(),
    outcomeIds: options.environment.outcomeIds,
  };
  const context = new VerdictContext(services);
  return {
    verify: (request, call) => verifyAgentAction(context, request, call),
    listsActions: (tenant) => services.policies.findActivePolicy(tenant).actions !== undefined,
    check: (request, call) => checkAgent(context, request, call),
    handshake: (request, call) => decideHandshake(context, request, call),
    recordOutcome: (request, call) => recordOutcome(services, request, call),
    recordOutcomeBatch: (rows, call) => recordOutcomeBatch(services, rows, call),
    importOutcomes: (requests, source, call) => importOutcomes(services, requests, source, call),
    explainScore: (agentId, call) => explainAgentScore(context, agentId, call),
    listObjections: (explanation) => listObjections(explanation),
    replayDecision: (legs, configVersion) => replayLoggedDecision(services, legs, configVersion),
    traceDecision: (legs, config) => traceLoggedDecision(services, legs, config),
    holdsConfig: (version) => services.engine.holdsConfig(version),
  };
}
