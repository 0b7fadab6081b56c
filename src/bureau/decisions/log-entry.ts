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
import type { ReviewCode } from "../../contract/vocabulary.ts";
import { DECISION, TOOL_LEVELS, VERDICT } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import { OVERTURNED } from "../../policy/rulings.ts";
import { computeLevelStakesMax, findLevelDecisionIndex } from "../../policy/standing.ts";
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
  mayRecord: () => false,
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
    subject: "",
    viewer: "",
    action: "",
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

/** Members common to every kind: the caller, and the engine's numbers. */
function fillCommonFields(
  { entry, call, nowMs }: VerdictContext,
  reading: AgentScore,
  isReserved: boolean,
): DecisionEntry {
  entry.requestId = call.requestId;
  entry.traceId = call.traceId ?? "";
  entry.principal = call.principal;
  entry.isReserved = isReserved;
  entry.isKnown = reading.isKnown;
  entry.tierIndex = reading.tierIndex;
  entry.regimeIndex = reading.regimeIndex;
  entry.failureProbability = reading.failureProbability;
  entry.failureOptimistic = reading.failureOptimistic;
  entry.failurePessimistic = reading.failurePessimistic;
  entry.scoreInternal = reading.scoreInternal;
  entry.scoreEffective = reading.scoreEffective;
  entry.evaluatedAtMs = nowMs;
  return entry;
}

/** Logs one verify. `context.rules` must be those of the requested level. */
export function logVerify(
  context: VerdictContext,
  request: VerifyRequest,
  response: VerifyResponse,
): void {
  const { services, ruling, reading, nowMs } = context;
  const isAllowed = ruling.verdictIndex === VERDICT.ALLOW;
  // An overturned request is always recorded.
  const mayBeSampled = isAllowed && !ruling.isFlagged && ruling !== OVERTURNED;
  if (mayBeSampled && !services.decisions.mayRecord(nowMs)) return;
  const entry = fillCommonFields(context, reading, context.reserved !== undefined);
  entry.kindIndex = KIND_VERIFY;
  entry.legIndex = LEG_FORWARD;
  entry.toolLevelIndex = TOOL_LEVELS.indexOf(request.tool_level);
  entry.verdictIndex = ruling.verdictIndex;
  entry.legDecisionIndex = findLevelDecisionIndex(context.rules);
  entry.decisionIndex = entry.legDecisionIndex;
  entry.stakesMax = computeLevelStakesMax(context.rules);
  entry.isEnforced = response.enforced;
  entry.isAllowed = isAllowed;
  // A quarantined request is pending review, as a flagged one is (SPEC §8.2).
  entry.isFlagged = ruling.isFlagged || ruling.verdictIndex === VERDICT.QUARANTINE;
  entry.subject = request.agent_id;
  entry.viewer = "";
  entry.action = request.action;
  entry.sessionSeconds = request.context.session_duration_sec ?? -1;
  entry.stakes = context.stakes;
  entry.scoreMinimum = context.rules.scoreMinimum;
  entry.logReason = ruling.logReason;
  entry.failureCode = selectFailureCode(context.finding);
  entry.reasonCodes = response.reason_codes;
  entry.configVersion = response.config_version;
  entry.policyVersion = response.policy_version;
  entry.inputs = services.engine.viewLegInputs(0);
  services.decisions.record(entry);
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
  /** Set where a review decision replaced the decision of the leg. */
  readonly reviewCode: ReviewCode | "";
}

/** Logs one leg of a check or a handshake. */
export function logLeg(context: VerdictContext, reading: AgentScore, leg: AnsweredLeg): void {
  const { services, nowMs } = context;
  const isOpen = leg.decisionIndex <= LAST_OPEN_DECISION_INDEX;
  const mayBeSampled = isOpen && leg.reviewCode === "";
  if (mayBeSampled && !services.decisions.mayRecord(nowMs)) return;
  const entry = fillCommonFields(context, reading, leg.isReserved);
  entry.kindIndex = leg.kindIndex;
  entry.legIndex = leg.legIndex;
  entry.toolLevelIndex = NOT_APPLICABLE;
  entry.verdictIndex = NOT_APPLICABLE;
  entry.decisionIndex = leg.decisionIndex;
  entry.legDecisionIndex = leg.measuredIndex;
  entry.stakesMax = leg.stakesMax;
  entry.isEnforced = leg.isEnforced;
  entry.isAllowed = isOpen;
  // SPEC §8.2: an escalated connection is pending review.
  entry.isFlagged = leg.decisionIndex === DECISION.escalate;
  entry.subject = leg.subject;
  entry.viewer = leg.viewer;
  entry.action = "";
  entry.sessionSeconds = -1;
  entry.stakes = leg.stakes;
  entry.scoreMinimum = 0;
  entry.logReason = leg.reviewCode;
  entry.failureCode = "";
  entry.reasonCodes = leg.reasonCodes;
  entry.configVersion = leg.configVersion;
  entry.policyVersion = leg.policyVersion;
  entry.inputs = services.engine.viewLegInputs(leg.legIndex === LEG_BACKWARD ? 1 : 0);
  services.decisions.record(entry);
}
