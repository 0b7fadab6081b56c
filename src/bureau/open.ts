// Constructor of the `Bureau` port: binds the use cases to an engine and a ledger.
import { ServiceFault } from "../contract/faults.ts";
import { NO_OWNERS } from "../contract/namespaces.ts";
import type { Bureau } from "./bureau.ts";
import { shippedPolicies } from "../policy/active-policy.ts";
import { withoutAssessments } from "./decisions/assessments.ts";
import { DailyOnce } from "./decisions/daily-once.ts";
import { emptyEntry, withoutLog } from "./decisions/log-entry.ts";
import type { BureauOptions, BureauServices } from "./services.ts";
import { withoutReviews } from "./reviews/desk.ts";
import { explain } from "./decisions/explain.ts";
import { check } from "./decisions/check.ts";
import { handshake } from "./decisions/handshake.ts";
import { recordOutcomeBatch } from "./outcomes/record-batch.ts";
import { importOutcomes, recordOutcome } from "./outcomes/record.ts";
import { objectionsTo } from "./decisions/reasons.ts";
import { replay } from "./decisions/replay.ts";
import { trace } from "./decisions/trace.ts";
import { withoutVault } from "./decisions/provenance.ts";
import { VerdictTimes } from "./decisions/verdict-times.ts";
import { verify } from "./decisions/verify.ts";

/** For bureaus that only read, or that receive no signatures. */
const withoutEvents: BureauServices["events"] = {
  appendEvidence: () =>
    Promise.reject(new ServiceFault("journal_unavailable", "signed batches are not kept here")),
};

/** A bureau for one thread: it shares the engine's reused readings, so it is not re-entrant. */
export function openBureau(options: BureauOptions): Bureau {
  const services: BureauServices = {
    engine: options.engine,
    ledger: options.ledger,
    events: options.events ?? withoutEvents,
    clock: options.clock,
    environment: options.environment,
    provenance: options.provenance ?? withoutVault,
    policies: options.policies ?? shippedPolicies,
    assessments: options.assessments ?? withoutAssessments,
    owners: options.owners ?? NO_OWNERS,
    decisions: options.decisions ?? withoutLog,
    reviews: options.reviews ?? withoutReviews,
    flaggedToday: new DailyOnce(),
    auditedToday: new DailyOnce(),
    entry: emptyEntry(),
    nowMs: 0,
    times: new VerdictTimes(),
    outcomeIds: options.environment.outcomeIds,
  };
  return {
    verify: (request, call) => verify(services, request, call),
    check: (request, call) => check(services, request, call),
    handshake: (request, call) => handshake(services, request, call),
    recordOutcome: (request, call) => recordOutcome(services, request, call),
    recordOutcomeBatch: (rows, call) => recordOutcomeBatch(services, rows, call),
    importOutcomes: (requests, source, call) => importOutcomes(services, requests, source, call),
    explain: (agentId, call) => explain(services, agentId, call),
    objections: (explanation) => objectionsTo(explanation),
    replay: (legs, configVersion) => replay(services, legs, configVersion),
    trace: (legs, config) => trace(services, legs, config),
    holdsConfig: (version) => services.engine.holdsConfig(version),
  };
}
