// Pieces the schemas of openapi-schemas.ts are put together from: builders, and the shapes that
// more than one message has.
import { ACTION_LENGTH_MAX, AGENT_ID_BYTES_MAX, STAKES_MAX } from "../../contract/limits.ts";
import {
  DECISIONS,
  REASON_CODES,
  REGIMES,
  SCOPES,
  TIERS,
  TOOL_LEVELS,
} from "../../contract/vocabulary.ts";

export type Schema = Record<string, unknown>;

export const text: Schema = { type: "string" };
export const number: Schema = { type: "number" };
export const integer: Schema = { type: "integer" };
export const flag: Schema = { type: "boolean" };
export const time: Schema = { type: "string", format: "date-time" };
export const timeOrNull: Schema = { type: ["string", "null"], format: "date-time" };
export const stakes: Schema = { type: "number", minimum: 0, maximum: STAKES_MAX };
export const stakesOrNull: Schema = { type: ["number", "null"] };
export const texts = list(text);
export const reasonCodes = list(oneOf(REASON_CODES));
export const agentId: Schema = {
  type: "string",
  maxLength: AGENT_ID_BYTES_MAX,
  pattern: "^agent://[A-Za-z0-9._~-]{1,128}(/[A-Za-z0-9._~-]{1,128})+$",
};
export const action: Schema = {
  type: "string",
  maxLength: ACTION_LENGTH_MAX,
  pattern: "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$",
};

export const stamp = {
  request_id: text,
  config_version: text,
  evaluated_at: time,
  expires_at: time,
};
export const leg = {
  subject: text,
  effective_score: number,
  tier: oneOf(TIERS),
  decision: oneOf(DECISIONS),
  reasons: texts,
  reason_codes: reasonCodes,
  max_stakes: stakesOrNull,
};
export const regime = { regime: oneOf(REGIMES) };
export const minimumScores: Schema = {
  type: "object",
  properties: Object.fromEntries(
    TOOL_LEVELS.map((level) => [level, { type: "number", minimum: 300, maximum: 850 }]),
  ),
};
export const key = {
  key_id: text,
  tenant: text,
  scopes: list(oneOf(SCOPES)),
  minimum_scores: minimumScores,
  is_shadow: flag,
  first_party: flag,
  label: { type: ["string", "null"] },
  created_at: time,
  expires_at: timeOrNull,
  revoked_at: timeOrNull,
};
export const time_or_ms: Schema = { anyOf: [time, { type: "integer", minimum: 0 }] };

/** An object with members that are always there and members that may be. */
export function object(
  required: Record<string, Schema>,
  optional: Record<string, Schema> = {},
): Schema {
  const schema: Schema = { type: "object", properties: { ...required, ...optional } };
  const names = Object.keys(required);
  return names.length === 0 ? schema : { ...schema, required: names };
}

export function list(items: Schema): Schema {
  return { type: "array", items };
}

export function oneOf(values: readonly string[]): Schema {
  return { type: "string", enum: [...values] };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
