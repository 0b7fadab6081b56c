// Fills decision log entries, one for every leg of a response. One entry object is reused for all: the log
// copies what it keeps.
import {
  DECISION_KINDS,
  DECISION_LEGS,
  type DecisionEntry,
  type DecisionLog,
  NOT_APPLICABLE,
} from "../../contract/decisions.ts";
import type { Principal } from "../../contract/principal.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { DECISION, TOOL_LEVELS, VERDICT } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import { CLEARED, OVERTURNED, VOUCHED } from "../../policy/rulings.ts";
import { computeLevelStakesMax, findLevelDecisionIndex } from "../../policy/standing.ts";
import type { OverrideCode } from "../../contract/vocabulary.ts";
import { isHeldForPerson } from "./activity-limits.ts";
import { selectFailureCode } from "./provenance.ts";
import type { VerdictContext } from "./verdict-context.ts";

export const KIND_VERIFY = DECISION_KINDS.indexOf("verify");
export const KIND_CHECK = DECISION_KINDS.indexOf("check");
export const KIND_HANDSHAKE = DECISION_KINDS.indexOf("handshake");
export const LEG_FORWARD = DECISION_LEGS.indexOf("a_to_b");
export const LEG_BACKWARD = DECISION_LEGS.indexOf("b_to_a");
/** SPEC §3: the connection opens up to here; `escalate` waits for a human, `refuse` never opens. */
export const LAST_OPEN_DECISION_INDEX = DECISION.connect_with_verification;

/** Discards all decisions. */
export const discardingDecisionLog: DecisionLog = {
  admit: () => false,
  record: () => undefined,
};

const NO_PRINCIPAL: Principal = {
  keyId: "",
  tenant: "",
  scopes: new Set(),
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 0,
};

export function createDecisionEntry(): DecisionEntry {
  return {
    requestId: "",
    traceId: "",
    principal: NO_PRINCIPAL,
    kindIndex: 0,
    legIndex: 0,
    toolLevelIndex: NOT_APPLICABLE,
    verdictIndex: NOT_APPLICABLE,
    decisionIndex: 0,
    legDecisionIndex: 0,
    tierIndex: 0,
    regimeIndex: -1,
    isEnforced: true,
    isAllowed: false,
    isFlagged: false,
    isKnown: false,
    isReserved: false,
    isKeptFirst: false,
    weight: 1,
    subject: "",
    viewer: "",
    action: "",
    actionEntry: -1,
    sessionSeconds: -1,
    stakes: 0,
    failureProbability: 0,
    failureOptimistic: 0,
    failurePessimistic: 0,
    scoreInternal: 0,
    scoreEffective: 0,
    stakesMax: 0,
    scoreMinimum: 0,
    logReason: "",
    failureCode: "",
    reasonCodes: [],
    configVersion: "",
    policyVersion: "",
    evaluatedAtMs: 0,
    inputs: new Float64Array(0),
  };
}

/** The engine's numbers and marks, for a leg that is recorded. */
function fillReading(entry: DecisionEntry, reading: AgentScore): void {
  entry.isKnown = reading.isKnown;
  entry.tierIndex = reading.tierIndex;
  entry.regimeIndex = reading.regimeIndex;
  entry.failureProbability = reading.failureProbability;
  entry.failureOptimistic = reading.failureOptimistic;
  entry.failurePessimistic = reading.failurePessimistic;
  entry.scoreInternal = reading.scoreInternal;
  entry.scoreEffective = reading.scoreEffective;
}

/** Logs one verify. `context.rules` must be those of the requested level. */
export function logVerify(
  context: VerdictContext,
  request: VerifyRequest,
  response: VerifyResponse,
): void {
  const { services } = context;
  const entry = fillVerify(context, request, response);
  if (!services.decisions.admit(entry)) return;
  fillReading(entry, context.reading);
  entry.traceId = context.call.traceId ?? "";
  entry.isReserved = context.reserved !== undefined;
  entry.legDecisionIndex = findLevelDecisionIndex(context.rules);
  const isForPerson = isHeldForPerson(context, context.ruling);
  entry.decisionIndex = isForPerson ? DECISION.escalate : entry.legDecisionIndex;
  entry.stakesMax = computeLevelStakesMax(context.rules);
  entry.subject = request.agent_id;
  entry.viewer = "";
  entry.action = request.action;
  entry.actionEntry = context.actionDecision?.entry ?? -1;
  entry.sessionSeconds = request.context.session_duration_sec ?? -1;
  entry.scoreMinimum = context.rules.scoreMinimum;
  entry.failureCode = selectFailureCode(context.finding);
  entry.reasonCodes = response.reason_codes;
  entry.inputs = services.engine.viewLegInputs(0);
  services.decisions.record(entry);
}

/** What a verify is counted and sampled by. */
function fillVerify(
  { entry, call, ruling, stakes, nowMs, isWatched }: VerdictContext,
  request: VerifyRequest,
  response: VerifyResponse,
): DecisionEntry {
  const isAllowed = ruling.verdictIndex === VERDICT.ALLOW;
  entry.requestId = call.requestId;
  entry.principal = call.principal;
  entry.kindIndex = KIND_VERIFY;
  entry.legIndex = LEG_FORWARD;
  entry.toolLevelIndex = TOOL_LEVELS.indexOf(request.tool_level);
  entry.verdictIndex = ruling.verdictIndex;
  entry.isEnforced = response.enforced;
  entry.isAllowed = isAllowed;
  // A quarantined request is pending review, as a flagged one is (SPEC §8.2).
  entry.isFlagged = ruling.isFlagged || isWatched || ruling.verdictIndex === VERDICT.QUARANTINE;
  entry.isKeptFirst =
    !isAllowed ||
    ruling.isFlagged ||
    isWatched ||
    ruling === CLEARED ||
    ruling === OVERTURNED ||
    ruling === VOUCHED ||
    request.stakes !== undefined;
  entry.stakes = stakes;
  entry.logReason = ruling.logReason;
  entry.configVersion = response.config_version;
  entry.policyVersion = response.policy_version;
  entry.evaluatedAtMs = nowMs;
  return entry;
}

/** One leg of a check or a handshake, as in the response. */
export interface AnsweredLeg {
  readonly kindIndex: number;
  readonly legIndex: number;
  readonly subject: string;
  readonly viewer: string;
  readonly stakes: number;
  readonly reasonCodes: readonly string[];
  /** Of the combined response, not of this leg. */
  readonly decisionIndex: number;
  /** Of the leg, before a review: index into DECISIONS, and the largest stakes that it holds for. */
  readonly measuredIndex: number;
  readonly stakesMax: number;
  readonly configVersion: string;
  readonly policyVersion: string;
  readonly isEnforced: boolean;
  readonly isReserved: boolean;
  /** Set where a review or an operator's condition replaced, or marked, the decision of the leg. */
  readonly overrideCode: OverrideCode;
}

/** Logs one leg of a check or a handshake. */
export function logLeg(context: VerdictContext, reading: AgentScore, leg: AnsweredLeg): void {
  const { services } = context;
  const entry = fillLeg(context, leg);
  if (!services.decisions.admit(entry)) return;
  fillReading(entry, reading);
  entry.traceId = context.call.traceId ?? "";
  entry.isReserved = leg.isReserved;
  entry.legDecisionIndex = leg.measuredIndex;
  entry.stakesMax = leg.stakesMax;
  entry.subject = leg.subject;
  entry.viewer = leg.viewer;
  entry.action = "";
  entry.actionEntry = -1;
  entry.sessionSeconds = -1;
  entry.scoreMinimum = 0;
  entry.failureCode = "";
  entry.reasonCodes = leg.reasonCodes;
  entry.inputs = services.engine.viewLegInputs(leg.legIndex === LEG_BACKWARD ? 1 : 0);
  services.decisions.record(entry);
}

/** What a check or a handshake is counted and sampled by. Both name stakes. */
function fillLeg({ entry, call, nowMs }: VerdictContext, leg: AnsweredLeg): DecisionEntry {
  entry.requestId = call.requestId;
  entry.principal = call.principal;
  entry.kindIndex = leg.kindIndex;
  entry.legIndex = leg.legIndex;
  entry.toolLevelIndex = NOT_APPLICABLE;
  entry.verdictIndex = NOT_APPLICABLE;
  entry.decisionIndex = leg.decisionIndex;
  entry.isEnforced = leg.isEnforced;
  entry.isAllowed = leg.decisionIndex <= LAST_OPEN_DECISION_INDEX;
  // SPEC §8.2: an escalated connection is pending review.
  entry.isFlagged = leg.decisionIndex === DECISION.escalate || leg.overrideCode === "WATCHED";
  entry.isKeptFirst = true;
  entry.stakes = leg.stakes;
  entry.logReason = leg.overrideCode;
  entry.configVersion = leg.configVersion;
  entry.policyVersion = leg.policyVersion;
  entry.evaluatedAtMs = nowMs;
  return entry;
}
