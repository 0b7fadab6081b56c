// Messages that the published client shows its users, in the specification's own (snake_case) words.
// Plain interfaces, because its types must not depend on typebox; a test holds each to its schema in
// schemas/, and all other messages have their types from there alone.
import type {
  Decision,
  Grade,
  ReasonCode,
  Regime,
  RiskLevel,
  Scope,
  Signature,
  Tier,
  ToolLevel,
  Verdict,
} from "./vocabulary.ts";

/** SPEC §2.2. */
export interface VerifyRequest {
  agent_id: string;
  action: string;
  tool_level: ToolLevel;
  context: VerifyContext;
  /** Extension: the value at risk, when known. */
  stakes?: number;
}

/** SPEC §2.2, the `context` object. Every member may be left out: metadata is not always known. */
export interface VerifyContext {
  content_hash?: string;
  cited_sources?: string[];
  session_duration_sec?: number;
  /** Extensions: the text itself, its kind, and the question it answers. */
  content?: string;
  content_type?: string;
  question?: string;
}

/** SPEC §2.3. */
export interface VerifyResponse {
  request_id: string;
  trust_evaluation: {
    /** 0 to 100 (SPEC §2.3). */
    score: number;
    threshold_met: boolean;
    risk_level: RiskLevel;
    /** 300 to 850 (SPEC §2.3). */
    internal_score: number;
    tier: Tier;
    regime?: Regime;
    /** 0 to 1: one minus the width of the uncertainty in probability. */
    confidence: number;
  };
  provenance_data: {
    is_hallucinated: boolean;
    source_verified: boolean;
    reason: string;
    sources?: { id: string; status: string }[];
  };
  policy_action: { verdict: Verdict; log_reason: string };
  reason_codes: string[];
  /** Largest stakes at which this would be ALLOW: null for any, 0 where it is not for any. */
  max_stakes: number | null;
  /** False in shadow mode (key or level): the verdict is for the log, not to be applied. */
  enforced: boolean;
  config_version: string;
  /** The policy that made the verdict, by its content. */
  policy_version: string;
  evaluated_at: string;
  expires_at: string;
}

/** SPEC §4.3 leaves the body open. */
export interface CheckRequest {
  subject: string;
  stakes: number;
}

/** SPEC §2.4. */
export interface HandshakeRequest {
  initiator: string;
  counterparty: string;
  stakes: number;
}

/** SPEC §2.5, leg object, with the extensions every leg carries. */
export interface Leg {
  subject: string;
  effective_score: number;
  tier: Tier;
  regime?: Regime;
  decision: Decision;
  reasons: string[];
  reason_codes: ReasonCode[];
  /** The largest stakes for which this leg's decision would be no stricter; null: any stakes. */
  max_stakes: number | null;
  /** The most sensitive tool level that the policy would allow the subject now, at these stakes. */
  tool_level_max: ToolLevel;
}

export interface VerdictStamp {
  request_id: string;
  config_version: string;
  evaluated_at: string;
  expires_at: string;
}

export interface CheckResponse extends Leg, VerdictStamp {
  stakes: number;
  allowed: boolean;
  /** False in shadow mode (key or policy): the decision is for the log, not to be applied. */
  enforced: boolean;
}

/** SPEC §2.5. */
export interface HandshakeResponse extends VerdictStamp {
  initiator: string;
  counterparty: string;
  stakes: number;
  a_to_b: Leg;
  b_to_a: Leg;
  decision: Decision;
  connected: boolean;
  reasons: string[];
  /** As in a check. A refusal in shadow mode has status 200. */
  enforced: boolean;
}

/** SPEC §2.6. */
export interface OutcomeRequest {
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  grade: Grade;
  /** Extensions. `id`: the caller's idempotency identity. `settled_at`: RFC 3339 or epoch ms. */
  id?: string;
  /** Epoch milliseconds after parsing. */
  settled_at?: number;
  /** False: the tool or the network failed, not the agent. Stored, not folded. */
  agent_fault?: boolean;
  action?: string;
  /** The verdict this outcome settles. */
  request_id?: string;
}

export interface OutcomeReceipt {
  outcome_id: string;
  /** Position in the evidence journal. */
  position: number;
  recorded_at: string;
  duplicate: boolean;
  signature: Signature;
  /** Row of a signed batch: the batch, and its place there. The view `outcomes` has both. */
  evidence_id?: string;
  evidence_index?: number;
}

/** RFC 9457 problem details; `errors` points at the offending members (RFC 6901 pointers). */
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

/** Body of `POST /v1/provenance`: which sources a text was written from, recorded afterwards. */
export interface ProvenanceRecord {
  agent_id: string;
  action: string;
  content_hash: string;
  cited_sources: string[];
  /** The verdict it belongs to. */
  request_id?: string;
}

/** Who asks: the authenticated API key. */
export interface Principal {
  keyId: string;
  tenant: string;
  scopes: ReadonlySet<Scope>;
  /** Minimum internal score (300-850) by tool level, SPEC §2.3 `threshold_met`. */
  minimumScores: Readonly<Record<ToolLevel, number>>;
  isShadow: boolean;
  /** Whether the operator vouches for what comes with the key. */
  isFirstParty: boolean;
  /** Number of the key as a voice (voiceOf). */
  voice: number;
}
