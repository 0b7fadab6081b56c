// JSON Schemas (2020-12, as OpenAPI 3.1 takes them) of contract/messages.ts, with the bounds of
// contract/limits.ts and the value sets of contract/vocabulary.ts. A test holds them to the parser.
import { CREDIBILITY_SCHEMAS } from "./credibility.ts";
import { KAIZEN_SCHEMAS } from "./kaizen.ts";
import { FAULTS } from "../../contract/faults.ts";
import {
  AGENT_ID_BYTES_MAX,
  BATCH_ITEMS_MAX,
  CITED_SOURCES_MAX,
  CONTENT_TYPE_LENGTH_MAX,
  KEY_LABEL_LENGTH_MAX,
  OUTCOME_ID_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
  SOURCE_ID_LENGTH_MAX,
  TENANT_LENGTH_MAX,
} from "../../contract/limits.ts";
import {
  DECISIONS,
  GRADES,
  RISK_LEVELS,
  SCOPES,
  SIGNATURES,
  TIERS,
  TOOL_LEVELS,
  VERDICTS,
} from "../../contract/vocabulary.ts";
import { REPORTER_SCHEMAS } from "./reporters.ts";
import { AUTHZEN_SCHEMAS } from "./authzen.ts";
import { DECISION_SCHEMAS } from "./decisions.ts";
import { EVIDENCE_SCHEMAS } from "./sources.ts";
import {
  text,
  number,
  integer,
  flag,
  time,
  timeOrNull,
  stakes,
  stakesOrNull,
  texts,
  reasonCodes,
  agentId,
  action,
  stamp,
  leg,
  regime,
  minimumScores,
  key,
  time_or_ms,
  object,
  list,
  oneOf,
  ref,
  type Schema,
} from "./parts.ts";

const SCORE_SCHEMAS: Record<string, Schema> = {
  VerifyRequest: object(
    {
      agent_id: { type: "string", minLength: 1, maxLength: AGENT_ID_BYTES_MAX },
      action,
      tool_level: oneOf(TOOL_LEVELS),
    },
    {
      context: object(
        {},
        {
          content_hash: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" },
          cited_sources: {
            type: "array",
            maxItems: CITED_SOURCES_MAX,
            items: { type: "string", minLength: 1, maxLength: SOURCE_ID_LENGTH_MAX },
          },
          session_duration_sec: { type: "integer", minimum: 0 },
          content: text,
          content_type: {
            type: "string",
            maxLength: CONTENT_TYPE_LENGTH_MAX,
            description:
              "Media type. A parameter `kind=qa`, `summary`, `data`, `claim` or `dialogue` says " +
              "which thresholds the text is judged by; else that is inferred.",
          },
          question: text,
        },
      ),
      stakes,
    },
  ),
  VerifyBatchRequest: object({
    items: { ...list(ref("VerifyRequest")), minItems: 1, maxItems: BATCH_ITEMS_MAX },
  }),
  VerifyResponse: object({
    ...stamp,
    trust_evaluation: object(
      {
        score: { type: "integer", minimum: 0, maximum: 100 },
        threshold_met: flag,
        risk_level: oneOf(RISK_LEVELS),
        internal_score: { type: "number", minimum: 300, maximum: 850 },
        tier: oneOf(TIERS),
        confidence: { type: "number", minimum: 0, maximum: 1 },
      },
      regime,
    ),
    provenance_data: object(
      { is_hallucinated: flag, source_verified: flag, reason: text },
      { sources: list(object({ id: text, status: text })) },
    ),
    policy_action: object({ verdict: oneOf(VERDICTS), log_reason: text }),
    reason_codes: texts,
    enforced: flag,
  }),
  VerifyBatchResponse: object({
    items: list(
      object({ status: integer }, { result: ref("VerifyResponse"), problem: ref("Problem") }),
    ),
  }),
  CheckRequest: object({ subject: agentId, stakes }),
  CheckResponse: object({ ...leg, ...stamp, stakes: number, allowed: flag }, regime),
  HandshakeRequest: object({ initiator: agentId, counterparty: agentId, stakes }),
  Leg: object(leg, regime),
  HandshakeResponse: object({
    ...stamp,
    initiator: text,
    counterparty: text,
    stakes: number,
    a_to_b: ref("Leg"),
    b_to_a: ref("Leg"),
    decision: oneOf(DECISIONS),
    connected: flag,
    reasons: texts,
  }),
  AgentExplanation: object(
    {
      agent_id: text,
      known: flag,
      internal_score: number,
      score: number,
      effective_score: number,
      tier: oneOf(TIERS),
      failure_probability: object({ expected: number, optimistic: number, pessimistic: number }),
      evidence: object({
        outcomes: integer,
        reported: integer,
        successes_90d: number,
        failures_90d: number,
        successes_14d: number,
        failures_14d: number,
        first_seen_at: timeOrNull,
        last_outcome_at: timeOrNull,
        last_failure_at: timeOrNull,
        max_proven_stakes: number,
      }),
      standing: object({
        in_force: flag,
        weight: { type: "number", minimum: 0, maximum: 1 },
        credibility: { type: ["number", "null"] },
        is_seed: flag,
        cluster: { type: ["integer", "null"] },
        signs: flag,
        discounted: flag,
      }),
      features: list(object({ name: text, value: number, points: number })),
      decisions: list(
        object({ stakes: number, decision: oneOf(DECISIONS), max_stakes: stakesOrNull }),
      ),
      improvements: texts,
      reason_codes: reasonCodes,
      config_version: text,
      evaluated_at: time,
    },
    regime,
  ),
};

const OUTCOME_SCHEMAS: Record<string, Schema> = {
  OutcomeRequest: object(
    {
      subject: agentId,
      reporter: agentId,
      outcome: { enum: [0, 1] },
      stakes,
      grade: oneOf(GRADES),
    },
    {
      id: { type: "string", minLength: 1, maxLength: OUTCOME_ID_LENGTH_MAX },
      settled_at: time_or_ms,
      agent_fault: flag,
      action,
      request_id: { type: "string", minLength: 1, maxLength: REQUEST_ID_LENGTH_MAX },
    },
  ),
  OutcomeReceipt: object(
    {
      outcome_id: text,
      position: integer,
      recorded_at: time,
      duplicate: flag,
      signature: oneOf(SIGNATURES),
    },
    { evidence_id: text, evidence_index: integer },
  ),
  ImportReport: object({
    accepted: integer,
    duplicates: integer,
    rejected: list(
      object({ line: integer, code: text, detail: text, errors: list(ref("FieldError")) }),
    ),
  }),
};

const SERVICE_SCHEMAS: Record<string, Schema> = {
  KeyRequest: {
    ...object(
      {
        tenant: { type: "string", minLength: 1, maxLength: TENANT_LENGTH_MAX },
        scopes: { ...list(oneOf(SCOPES)), minItems: 1, maxItems: SCOPES.length },
      },
      {
        minimum_scores: minimumScores,
        is_shadow: flag,
        first_party: flag,
        label: { type: "string", minLength: 1, maxLength: KEY_LABEL_LENGTH_MAX },
        expires_at: time_or_ms,
      },
    ),
    additionalProperties: false,
  },
  KeyDescription: object(key),
  KeyCreated: object({ key: text, ...key }),
  KeyList: object({ keys: list(ref("KeyDescription")) }),
  QueryRequest: {
    ...object({ sql: { type: "string", minLength: 1 } }, { format: { enum: ["json", "csv"] } }),
    additionalProperties: false,
  },
  QueryResult: object({
    columns: list(object({ name: text, type: text })),
    rows: list({ type: "array" }),
    is_truncated: flag,
    elapsed_ms: number,
  }),
  UsageReport: object({
    since: time,
    keys: list(
      object({
        key_id: text,
        tenant: text,
        paid_reads: integer,
        reads: object({ verify: integer, check: integer, handshake: integer, explain: integer }),
        outcomes_reported: integer,
      }),
    ),
  }),
  Health: object({ status: { const: "ok" }, version: text }, { service_id: text }),
  Readiness: object({ ready: flag, reasons: texts }, { warnings: texts }),
  OpenApi: { type: "object" },
  FieldError: object({ pointer: text, code: text, detail: text }),
  Problem: object(
    {
      type: { type: "string", format: "uri" },
      title: text,
      status: integer,
      detail: text,
      instance: text,
      code: oneOf(Object.keys(FAULTS)),
      request_id: text,
    },
    { errors: list(ref("FieldError")) },
  ),
};

/** Every schema the document names. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...SCORE_SCHEMAS,
  ...AUTHZEN_SCHEMAS,
  ...REPORTER_SCHEMAS,
  ...EVIDENCE_SCHEMAS,
  ...OUTCOME_SCHEMAS,
  ...KAIZEN_SCHEMAS,
  ...CREDIBILITY_SCHEMAS,
  ...DECISION_SCHEMAS,
  ...SERVICE_SCHEMAS,
};
