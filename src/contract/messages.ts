// The shapes that cross the wire, in the specification's own (snake_case) words. Members marked
// optional-extension are ours: a caller that knows only the specification never needs them.
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
  /** The most sensitive tool level that the policy would allow the subject, as of now. */
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

/** `GET /v1/agents/{id}`: why the agent scores as it does. */
export interface AgentExplanation {
  agent_id: string;
  known: boolean;
  internal_score: number;
  score: number;
  effective_score: number;
  tier: Tier;
  regime?: Regime;
  failure_probability: { expected: number; optimistic: number; pessimistic: number };
  evidence: {
    outcomes: number;
    reported: number;
    successes_90d: number;
    failures_90d: number;
    successes_14d: number;
    failures_14d: number;
    first_seen_at: string | null;
    last_outcome_at: string | null;
    last_failure_at: string | null;
    max_proven_stakes: number;
  };
  /** What the agent's word counts as a reporter, and whose word its own record rests on. */
  standing: AgentStandingReport;
  features: { name: string; value: number; points: number }[];
  decisions: { stakes: number; decision: Decision; max_stakes: number | null }[];
  /** What would change the decision, one plain sentence each. */
  improvements: string[];
  reason_codes: ReasonCode[];
  config_version: string;
  evaluated_at: string;
}

/** An agent's standing as it is at present in the table. */
export interface AgentStandingReport {
  /** False: every reporter counts fully, whatever is said here. */
  in_force: boolean;
  /** What an outcome it signs counts now, 0 to 1, before pair, pool and cluster caps. */
  weight: number;
  /** rho, 0 to 1; null for a stranger. */
  credibility: number | null;
  /** The operator vouches for it. */
  is_seed: boolean;
  /** Reporters of one number are one voice; null for none. */
  cluster: number | null;
  /** It has a signing key: what is reported unsigned in its name counts as a stranger's. */
  signs: boolean;
  /** Most of what is reported of the agent itself comes from strangers. */
  discounted: boolean;
}

/** SPEC §4.9 "batch mode": one entry per item, order kept, each a verdict or a problem. */
export interface VerifyBatchResponse {
  items: ({ status: 200; result: VerifyResponse } | { status: number; problem: Problem })[];
}

/** `POST /v1/outcomes/import`: lines are counted from 1, blank lines included. */
export interface ImportReport {
  accepted: number;
  duplicates: number;
  rejected: { line: number; code: string; detail: string; errors: FieldError[] }[];
}

/** `POST /v1/query`. */
export interface QueryRequest {
  sql: string;
  format: "json" | "csv";
}

/** `POST /v1/keys`. */
export interface KeyRequest {
  tenant: string;
  scopes: Scope[];
  /** Minimum internal score by tool level; levels left out keep the default. */
  minimum_scores?: Partial<Record<ToolLevel, number>>;
  is_shadow?: boolean;
  first_party?: boolean;
  label?: string;
  /** Epoch milliseconds after parsing. */
  expires_at?: number;
}

/** A key as it is listed: never its secret. */
export interface KeyDescription {
  key_id: string;
  tenant: string;
  scopes: Scope[];
  minimum_scores: Record<ToolLevel, number>;
  is_shadow: boolean;
  /** Whether its unsigned reports count as the reporters' that they name. */
  first_party: boolean;
  label: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

/** `GET /v1/usage`: SPEC §1, reading a score is paid, reporting is free. */
export interface UsageReport {
  /** Counting began here: counters live as long as the process. */
  since: string;
  keys: {
    key_id: string;
    tenant: string;
    paid_reads: number;
    reads: { verify: number; check: number; handshake: number; explain: number };
    outcomes_reported: number;
  }[];
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
