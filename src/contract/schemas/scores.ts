// Messages of the routes that read scores: verify and its batch, check, handshake, explain.
import { AGENT_ID_BYTES_MAX, BATCH_ITEMS_MAX, CONTENT_TYPE_LENGTH_MAX } from "../limits.ts";
import { DECISIONS, REGIMES, RISK_LEVELS, TIERS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import * as kind from "./kinds.ts";
import {
  checked,
  defaulted,
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  optional,
  schemaOf,
  type Properties,
} from "./schema.ts";
import { Problem } from "./service.ts";

const { flag, integer, number, stakes, text, texts, time, timeOrNull } = kind;

/** `{items: [...]}` of 1 to 1,000. */
export function batchOf<S extends Properties[string]>(items: S): ReturnType<typeof list<S>> {
  return list(items, { minItems: 1, maxItems: BATCH_ITEMS_MAX });
}

const duration = checked<number>(
  { "~shown": { type: "integer", minimum: 0 } },
  (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0,
  (value: unknown) =>
    Number.isInteger(value)
      ? "range must be a non-negative number of seconds"
      : "type must be an integer",
);

const MEDIA_TYPE =
  "Media type. A parameter `kind=qa`, `summary`, `data`, `claim` or `dialogue` says " +
  "which thresholds the text is judged by; else that is inferred.";

/** SPEC §2.2. */
export const VerifyRequest = message("VerifyRequest", {
  agent_id: kind.plainText(AGENT_ID_BYTES_MAX),
  action: kind.action,
  tool_level: oneOf(TOOL_LEVELS),
  stakes: optional(stakes),
  // SPEC §2.2 lists `context` but a gateway may know none of its members: absent is empty.
  context: defaulted(
    object({
      content_hash: optional(kind.contentHash),
      cited_sources: optional(kind.citedSources),
      session_duration_sec: optional(duration),
      content: optional(text),
      content_type: optional(kind.plainText(CONTENT_TYPE_LENGTH_MAX, { description: MEDIA_TYPE })),
      question: optional(text),
    }),
    {},
  ),
});

/** SPEC §4.9 "batch mode". */
export const VerifyBatchRequest = message("VerifyBatchRequest", { items: batchOf(VerifyRequest) });

const stamp = { request_id: text, config_version: text, evaluated_at: time, expires_at: time };
const regime = optional(oneOf(REGIMES));
const maxStakes = kind.numberOrNull;

/** SPEC §2.3. */
export const VerifyResponse = message("VerifyResponse", {
  ...stamp,
  trust_evaluation: object({
    score: schemaOf<number>({ type: "integer", minimum: 0, maximum: 100 }),
    threshold_met: flag,
    risk_level: oneOf(RISK_LEVELS),
    internal_score: kind.internalScore,
    tier: oneOf(TIERS),
    regime,
    confidence: kind.share,
  }),
  provenance_data: object({
    is_hallucinated: flag,
    source_verified: flag,
    reason: text,
    sources: optional(list(object({ id: text, status: text }))),
  }),
  policy_action: object({ verdict: oneOf(VERDICTS), log_reason: text }),
  reason_codes: texts,
  enforced: flag,
});

/** One entry per item, order kept, each a verdict or a problem. */
export const VerifyBatchResponse = message("VerifyBatchResponse", {
  items: list(
    object({ status: integer, result: optional(VerifyResponse), problem: optional(Problem) }),
  ),
});
export type VerifyBatchResponse = MessageOf<typeof VerifyBatchResponse>;

/** SPEC §4.3 leaves the body open. */
export const CheckRequest = message("CheckRequest", { subject: kind.agentId, stakes });

/** SPEC §2.4. An agent may be asked about itself: the specification does not forbid it. */
export const HandshakeRequest = message("HandshakeRequest", {
  initiator: kind.agentId,
  counterparty: kind.agentId,
  stakes,
});

/** SPEC §2.5, leg object, with the extensions every leg carries. */
export const Leg = message("Leg", {
  subject: text,
  effective_score: number,
  tier: oneOf(TIERS),
  regime,
  decision: oneOf(DECISIONS),
  reasons: texts,
  reason_codes: kind.reasonCodes,
  max_stakes: maxStakes,
});

export const CheckResponse = message("CheckResponse", {
  ...Leg.properties,
  ...stamp,
  stakes: number,
  allowed: flag,
});

/** SPEC §2.5. */
export const HandshakeResponse = message("HandshakeResponse", {
  ...stamp,
  initiator: text,
  counterparty: text,
  stakes: number,
  a_to_b: Leg,
  b_to_a: Leg,
  decision: oneOf(DECISIONS),
  connected: flag,
  reasons: texts,
});

/** An agent's standing as it is at present in the table. */
const standing = object({
  /** False: every reporter counts fully, whatever is said here. */
  in_force: flag,
  /** What an outcome it signs counts now, before pair, pool and cluster caps. */
  weight: kind.share,
  /** rho, 0 to 1; null for a stranger. */
  credibility: kind.numberOrNull,
  /** The operator vouches for it. */
  is_seed: flag,
  /** Reporters of one number are one voice; null for none. */
  cluster: kind.integerOrNull,
  /** It has a signing key: what is reported unsigned in its name counts as a stranger's. */
  signs: flag,
  /** Most of what is reported of the agent itself comes from strangers. */
  discounted: flag,
});

/** `GET /v1/agents/{id}`: why the agent scores as it does. */
export const AgentExplanation = message("AgentExplanation", {
  agent_id: text,
  known: flag,
  internal_score: number,
  score: number,
  effective_score: number,
  tier: oneOf(TIERS),
  regime,
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
  /** What the agent's word counts as a reporter, and whose word its own record rests on. */
  standing,
  features: list(object({ name: text, value: number, points: number })),
  decisions: list(object({ stakes: number, decision: oneOf(DECISIONS), max_stakes: maxStakes })),
  /** What would change the decision, one plain sentence each. */
  improvements: texts,
  reason_codes: kind.reasonCodes,
  config_version: text,
  evaluated_at: time,
});
export type AgentExplanation = MessageOf<typeof AgentExplanation>;
