// Decision log entries, one for every leg that the bureau answers with. One entry object per
// BureauServices is filled anew each time: the log copies what it keeps.
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
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { OVERTURNED, type Ruling } from "../../policy/rules.ts";

export const KIND_VERIFY = DECISION_KINDS.indexOf("verify");
export const KIND_CHECK = DECISION_KINDS.indexOf("check");
export const KIND_HANDSHAKE = DECISION_KINDS.indexOf("handshake");
export const LEG_FORWARD = DECISION_LEGS.indexOf("a_to_b");
export const LEG_BACKWARD = DECISION_LEGS.indexOf("b_to_a");
/** SPEC §3: the connection opens up to here; `escalate` waits for a human, `refuse` never opens. */
const LAST_OPEN_DECISION_INDEX = DECISIONS.indexOf("connect_with_verification");

/** Decision log of a bureau whose decisions are not kept. */
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
  services: BureauServices,
  call: CallContext,
  reading: AgentScore,
  isReserved: boolean,
): DecisionEntry {
  const { entry } = services;
  entry.requestId = call.requestId;
  entry.traceId = call.traceId ?? "";
  entry.principal = call.principal;
  entry.isReserved = isReserved;
  entry.isKnown = reading.isKnown;
  entry.legDecisionIndex = reading.decisionIndex;
  entry.tierIndex = reading.tierIndex;
  entry.regimeIndex = reading.regimeIndex;
  entry.failureProbability = reading.failureProbability;
  entry.failureOptimistic = reading.failureOptimistic;
  entry.failurePessimistic = reading.failurePessimistic;
  entry.scoreInternal = reading.scoreInternal;
  entry.scoreEffective = reading.scoreEffective;
  entry.stakesMax = reading.stakesMax;
  entry.evaluatedAtMs = services.nowMs;
  return entry;
}

/** Logs one verify. */
export function logVerify(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  reading: AgentScore,
  ruling: Ruling,
  hardFailureCode: string,
  scoreMinimum: number,
  response: VerifyResponse,
  isReserved: boolean,
): void {
  const isLetThrough = ruling.verdictIndex === 0;
  // What a person let through is always on record.
  const mayBeLeftOut = isLetThrough && !ruling.isFlagged && ruling !== OVERTURNED;
  if (mayBeLeftOut && !services.decisions.mayRecord(services.nowMs)) return;
  const entry = fillCommonFields(services, call, reading, isReserved);
  entry.kindIndex = KIND_VERIFY;
  entry.legIndex = LEG_FORWARD;
  entry.toolLevelIndex = TOOL_LEVELS.indexOf(request.tool_level);
  entry.verdictIndex = ruling.verdictIndex;
  entry.decisionIndex = reading.decisionIndex;
  entry.isEnforced = response.enforced;
  entry.isAllowed = isLetThrough;
  // A quarantined request waits for a person as much as a flagged one (SPEC §8.2).
  entry.isFlagged = ruling.isFlagged || VERDICTS[ruling.verdictIndex] === "QUARANTINE";
  entry.subject = request.agent_id;
  entry.viewer = "";
  entry.action = request.action;
  entry.sessionSeconds = request.context.session_duration_sec ?? -1;
  entry.stakes = request.stakes ?? 0;
  entry.scoreMinimum = scoreMinimum;
  entry.logReason = ruling.logReason;
  entry.failureCode = hardFailureCode;
  entry.reasonCodes = response.reason_codes;
  entry.configVersion = response.config_version;
  entry.policyVersion = response.policy_version;
  entry.inputs = services.engine.viewLegInputs(0);
  services.decisions.record(entry);
}

/** One leg of a check or a handshake, as it is answered. */
export interface AnsweredLeg {
  readonly kindIndex: number;
  readonly legIndex: number;
  readonly subject: string;
  readonly viewer: string;
  readonly stakes: number;
  readonly reasonCodes: readonly string[];
  /** Of the combined answer, not of this leg. */
  readonly decisionIndex: number;
  readonly configVersion: string;
  readonly policyVersion: string;
  readonly isEnforced: boolean;
  readonly isReserved: boolean;
  /** What a person made of the leg; empty where nobody did. */
  readonly reviewCode: ReviewCode | "";
}

/** Logs one leg of a check or a handshake. */
export function logLeg(
  services: BureauServices,
  call: CallContext,
  reading: AgentScore,
  leg: AnsweredLeg,
): void {
  const isLetThrough = leg.decisionIndex <= LAST_OPEN_DECISION_INDEX;
  const mayBeLeftOut = isLetThrough && leg.reviewCode === "";
  if (mayBeLeftOut && !services.decisions.mayRecord(services.nowMs)) return;
  const entry = fillCommonFields(services, call, reading, leg.isReserved);
  entry.kindIndex = leg.kindIndex;
  entry.legIndex = leg.legIndex;
  entry.toolLevelIndex = NOT_APPLICABLE;
  entry.verdictIndex = NOT_APPLICABLE;
  entry.decisionIndex = leg.decisionIndex;
  entry.isEnforced = leg.isEnforced;
  entry.isAllowed = isLetThrough;
  // SPEC §8.2: an escalated connection waits for a person's decision.
  entry.isFlagged = DECISIONS[leg.decisionIndex] === "escalate";
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
