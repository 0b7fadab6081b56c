// Messages as the published client shows them, without the packages of the service. Made from the
// schemas in src/contract/schemas by `npm run docs:reference`: change those.
import type {
  AnswerCode,
  Attester,
  Decision,
  Grade,
  LogReason,
  LegCode,
  Regime,
  RiskLevel,
  Signature,
  SourceStatus,
  Tier,
  ToolLevel,
  Verdict,
} from "../contract/vocabulary.ts";

export interface VerifyRequest {
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  agent_id: string;
  action: string;
  tool_level: ToolLevel;
  /**
   * The value at risk, in the tenant's unit, where it is known; else the level's assumed amount counts.
   */
  stakes?: number;
  /**
   * True: the answer also says what other tool levels would get.
   */
  levels?: boolean;
  /**
   * False: the question only looks. No call is counted, and its stakes do not count with later ones.
   */
  reserve?: boolean;
  /**
   * What the action is done to; read by a policy's `actions`.
   */
  resource?: {
    type?: string;
    id?: string;
    properties?: {
      [k: string]: unknown;
    };
  };
  context?: VerifyContext;
}
export interface VerifyContext {
  /**
   * Of the content as UTF-8; refused where it is of another.
   */
  content_hash?: string;
  cited_sources?: string[];
  session_duration_sec?: number;
  /**
   * The text itself.
   */
  content?: string;
  /**
   * Media type. A parameter `kind=qa`, `summary`, `data`, `claim` or `dialogue` says which thresholds the text is judged by; else that is inferred.
   */
  content_type?: string;
  /**
   * The question that the text answers.
   */
  question?: string;
}
export interface VerifyResponse {
  request_id: string;
  config_version: string;
  evaluated_at: string;
  expires_at: string;
  trust_evaluation: {
    score: number;
    threshold_met: boolean;
    risk_level: RiskLevel;
    internal_score: number;
    tier: Tier;
    regime?: Regime;
    /**
     * One minus the width of the uncertainty in probability.
     */
    confidence: number;
  };
  provenance_data: {
    is_hallucinated: boolean;
    /**
     * Whether every cited source is registered and active; says nothing about the content.
     */
    source_verified: boolean;
    reason: string;
    sources?: {
      id: string;
      status: SourceStatus;
    }[];
  };
  policy_action: {
    verdict: Verdict;
    log_reason: LogReason;
  };
  reason_codes: AnswerCode[];
  /**
   * The largest stakes that would be ALLOW; null for any.
   */
  max_stakes: number | null;
  /**
   * False in shadow mode: for the log, not to be applied.
   */
  enforced: boolean;
  /**
   * The policy that made the verdict, by its content.
   */
  policy_version: string;
  /**
   * By tool level, where asked for. One left out must be asked: its answer goes on record.
   */
  levels?: {
    L0?: LevelVerdict;
    L1?: LevelVerdict;
    L2?: LevelVerdict;
    L3?: LevelVerdict;
  };
  review?: ReviewPointer;
  /**
   * Only where the policy lists `actions`: the tool level that decided.
   */
  action_entry?: {
    /**
     * Entry of the policy that decided; null: the level of the request, or L3.
     */
    pointer: string | null;
    tool_level: ToolLevel;
    /**
     * Stakes that were decided on; 0: none are named.
     */
    stakes: number;
  };
}
export interface LevelVerdict {
  verdict: Verdict;
  log_reason: LogReason;
  threshold_met: boolean;
  reason_codes: AnswerCode[];
  max_stakes: number | null;
  /**
   * False in shadow mode: for the log, not to be applied.
   */
  enforced: boolean;
  /**
   * The smallest stakes at which the answer would be the same.
   */
  holds_from: number;
  /**
   * The largest stakes at which it would; null for any.
   */
  holds_to: number | null;
}
/**
 * The review that the call counts towards: it waits for a person.
 */
export interface ReviewPointer {
  id: string;
  /**
   * Path that answers once the review is decided, or after 30 seconds.
   */
  wait: string;
}
export interface CheckRequest {
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  subject: string;
  stakes: number;
  /**
   * False: the question only looks. No call is counted, and its stakes do not count with later ones.
   */
  reserve?: boolean;
}
export interface CheckResponse {
  subject: string;
  effective_score: number;
  tier: Tier;
  regime?: Regime;
  decision: Decision;
  reasons: string[];
  reason_codes: LegCode[];
  /**
   * The largest stakes at which the answer would be no stricter; for `escalate` the largest that would connect. 0: none is known; null: any.
   */
  max_stakes: number | null;
  /**
   * The most sensitive tool level that the policy would allow the subject at these stakes.
   */
  tool_level_max: ToolLevel;
  review?: ReviewPointer;
  request_id: string;
  config_version: string;
  evaluated_at: string;
  expires_at: string;
  stakes: number;
  allowed: boolean;
  /**
   * False in shadow mode: for the log, not to be applied.
   */
  enforced: boolean;
}
export interface HandshakeRequest {
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  initiator: string;
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  counterparty: string;
  stakes: number;
  /**
   * False: the question only looks. No call is counted, and its stakes do not count with later ones.
   */
  reserve?: boolean;
}
export interface HandshakeResponse {
  request_id: string;
  config_version: string;
  evaluated_at: string;
  expires_at: string;
  initiator: string;
  counterparty: string;
  stakes: number;
  a_to_b: Leg;
  b_to_a: Leg;
  decision: Decision;
  connected: boolean;
  reasons: string[];
  /**
   * False in shadow mode: for the log, not to be applied.
   */
  enforced: boolean;
}
export interface Leg {
  subject: string;
  effective_score: number;
  tier: Tier;
  regime?: Regime;
  decision: Decision;
  reasons: string[];
  reason_codes: LegCode[];
  /**
   * The largest stakes at which the answer would be no stricter; for `escalate` the largest that would connect. 0: none is known; null: any.
   */
  max_stakes: number | null;
  /**
   * The most sensitive tool level that the policy would allow the subject at these stakes.
   */
  tool_level_max: ToolLevel;
  review?: ReviewPointer;
}
export interface OutcomeRequest {
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  grade: Grade;
  /**
   * What makes a repeat the same outcome.
   */
  id?: string;
  settled_at?: number;
  /**
   * False: the tool or the network failed, not the agent. Stored, not counted.
   */
  agent_fault?: boolean;
  action?: string;
  /**
   * The verdict that it settles.
   */
  request_id?: string;
  /**
   * Failures of a subject under one name of the tenant count as those of one hour.
   */
  incident_id?: string;
  /**
   * Compact JWS (`typ` `transaction+jws`) over a `Transaction` by the owner of the subject's namespace or a named mediator; only beside the reporter's signature, with `settled_at`.
   */
  attestation?: string;
}
export interface OutcomeReceipt {
  outcome_id: string;
  /**
   * Position in the evidence journal.
   */
  position: number;
  recorded_at: string;
  duplicate: boolean;
  signature: Signature;
  /**
   * The grade as sent, where the outcome weighs as another: `counterparty` where nothing proves it, `mediator` where it is attested.
   */
  claimed_grade?: Grade;
  /**
   * Who signed the attestation; not of a repeat.
   */
  attested?: Attester;
  /**
   * The signed batch that it came in.
   */
  evidence_id?: string;
  /**
   * Its place there.
   */
  evidence_index?: number;
}
/**
 * Payload of the JWS in `attestation`: all members but `transaction_id` as in the outcome.
 */
export interface Transaction {
  transaction_id: string;
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  settled_at: number;
}
export interface ProvenanceRecord {
  /**
   * `agent://namespace/name` without a segment `.` or `..`, or any other line of text without control characters; what reads like an agent identifier in other letters, spacing or encoding must have its form
   */
  agent_id: string;
  action: string;
  content_hash: string;
  cited_sources: string[];
  request_id?: string;
}
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  request_id: string;
  errors?: FieldError[];
}
export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}
