// JSON Schemas of the decision log's messages (contract/decisions.ts).
import { DECISION_KINDS, DECISION_LEGS, REVIEW_RESOLUTIONS } from "../../contract/decisions.ts";
import {
  AGENT_ID_BYTES_MAX,
  CITED_SOURCES_MAX,
  REQUEST_ID_LENGTH_MAX,
  SOURCE_ID_LENGTH_MAX,
} from "../../contract/limits.ts";
import { REVIEW_NOTE_BYTES_MAX } from "../../contract/parse/decisions.ts";
import { DECISIONS, TIERS } from "../../contract/vocabulary.ts";
import {
  action,
  flag,
  list,
  number,
  object,
  oneOf,
  type Schema,
  stakesOrNull,
  text,
  texts,
  time,
} from "./parts.ts";

const requestId = { type: "string", minLength: 1, maxLength: REQUEST_ID_LENGTH_MAX };
const textOrNull: Schema = { type: ["string", "null"] };

const loggedLeg = {
  request_id: text,
  kind: oneOf(DECISION_KINDS),
  leg: oneOf(DECISION_LEGS),
  tenant: text,
  key_id: text,
  subject: text,
  viewer: textOrNull,
  action: textOrNull,
  tool_level: textOrNull,
  stakes: number,
  verdict: textOrNull,
  decision: oneOf(DECISIONS),
  leg_decision: oneOf(DECISIONS),
  effective: oneOf(["allow", "deny"]),
  enforced: flag,
  flagged: flag,
  known: flag,
  is_test: flag,
  internal_score: number,
  effective_score: number,
  minimum_score: number,
  failure_probability: number,
  failure_optimistic: number,
  failure_pessimistic: number,
  tier: oneOf(TIERS),
  regime: textOrNull,
  max_stakes: stakesOrNull,
  log_reason: textOrNull,
  hard_failure: textOrNull,
  reason_codes: texts,
  config_version: text,
  evaluated_at: time,
} satisfies Record<string, Schema>;
/** Null where verify was not given it. */
const sessionOfLeg = { session_duration_sec: { type: ["integer", "null"] } } satisfies Record<
  string,
  Schema
>;

export const DECISION_SCHEMAS: Record<string, Schema> = {
  ProvenanceRecord: object(
    {
      agent_id: { type: "string", minLength: 1, maxLength: AGENT_ID_BYTES_MAX },
      action,
      content_hash: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" },
      cited_sources: {
        type: "array",
        maxItems: CITED_SOURCES_MAX,
        items: { type: "string", minLength: 1, maxLength: SOURCE_ID_LENGTH_MAX },
      },
    },
    { request_id: requestId },
  ),
  Accepted: object({ accepted: { const: true }, request_id: text }),
  DecisionList: object({ decisions: list(object(loggedLeg)) }),
  DecisionRecord: object({
    request_id: text,
    legs: list(object({ ...loggedLeg, inputs: list(number) }, sessionOfLeg)),
  }),
  ReplayRequest: { ...object({}, { config: requestId }), additionalProperties: false },
  DecisionReplay: object({
    request_id: text,
    recorded_config: text,
    replayed_config: text,
    identical: flag,
    differences: list(
      object({ leg: oneOf(DECISION_LEGS), member: text }, { recorded: {}, replayed: {} }),
    ),
  }),
  ReviewResolution: {
    ...object(
      { resolution: oneOf(REVIEW_RESOLUTIONS) },
      { note: { type: "string", minLength: 1, maxLength: REVIEW_NOTE_BYTES_MAX } },
    ),
    additionalProperties: false,
  },
  Review: object({
    request_id: text,
    resolution: oneOf(REVIEW_RESOLUTIONS),
    note: textOrNull,
    reviewer: text,
    recorded_at: time,
  }),
  ReviewList: object({ reviews: list({ type: "object" }) }),
  ExportDays: object({ days: texts }),
};
