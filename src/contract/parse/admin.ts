// Parsed values -> the requests of the operators' routes (keys, queries). Unlike the
// specification's routes these refuse members they do not know: a misspelt `expires_at` must not
// make an eternal key.
import {
  asBody,
  broken,
  enumFault,
  type FieldErrors,
  invalidRequest,
  isObject,
  note,
  plainTextFault,
  typeFault,
  unknownMembers,
} from "./field-rules.ts";
import { KEY_LABEL_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import type { KeyRequest, QueryRequest } from "../messages.ts";
import { pointerOf } from "./json-fault.ts";
import { isEpochMs, parseDateTime } from "../timestamps.ts";
import { type Scope, SCOPES, TOOL_LEVELS, type ToolLevel } from "../vocabulary.ts";

const KEY_MEMBERS = [
  "tenant",
  "scopes",
  "minimum_scores",
  "is_shadow",
  "first_party",
  "label",
  "expires_at",
];
const QUERY_MEMBERS = ["sql", "format"];
const QUERY_FORMATS = ["json", "csv"] as const;

/** Body of `POST /v1/keys`. Throws ServiceFault `invalid_request` listing every fault. */
export function parseKeyRequest(value: unknown): KeyRequest {
  const members = asBody(value);
  const { tenant, scopes, minimum_scores, is_shadow, first_party, label, expires_at } = members;
  let errors = unknownMembers(members, KEY_MEMBERS);
  errors = note(errors, plainTextFault("/tenant", tenant, TENANT_LENGTH_MAX));
  errors = scopesFaults(errors, scopes);
  if (minimum_scores !== undefined) errors = minimumScoresFaults(errors, minimum_scores);
  if (is_shadow !== undefined) errors = note(errors, typeFault("/is_shadow", is_shadow, "boolean"));
  if (first_party !== undefined) {
    errors = note(errors, typeFault("/first_party", first_party, "boolean"));
  }
  if (label !== undefined) {
    errors = note(errors, plainTextFault("/label", label, KEY_LABEL_LENGTH_MAX));
  }
  const expiresAtMs = typeof expires_at === "string" ? parseDateTime(expires_at) : expires_at;
  if (expires_at !== undefined && !isEpochMs(expiresAtMs)) {
    const detail = "must be an RFC 3339 date-time or epoch milliseconds";
    errors = note(errors, broken("/expires_at", "format", detail));
  }
  if (errors !== undefined) throw invalidRequest(errors);
  const request: KeyRequest = { tenant: tenant as string, scopes: scopes as Scope[] };
  if (minimum_scores !== undefined) {
    request.minimum_scores = minimum_scores as Partial<Record<ToolLevel, number>>;
  }
  if (is_shadow !== undefined) request.is_shadow = is_shadow as boolean;
  if (first_party !== undefined) request.first_party = first_party as boolean;
  if (label !== undefined) request.label = label as string;
  if (expires_at !== undefined) request.expires_at = expiresAtMs as number;
  return request;
}

/** Body of `POST /v1/query`. `format` is `json` unless said otherwise. */
export function parseQueryRequest(value: unknown): QueryRequest {
  const members = asBody(value);
  const { sql, format } = members;
  let errors = unknownMembers(members, QUERY_MEMBERS);
  errors = note(errors, typeFault("/sql", sql, "string"));
  if (sql === "") errors = note(errors, broken("/sql", "length", "must not be empty"));
  if (format !== undefined) errors = note(errors, enumFault("/format", format, QUERY_FORMATS));
  if (errors !== undefined) throw invalidRequest(errors);
  return { sql: sql as string, format: format === "csv" ? "csv" : "json" };
}

function scopesFaults(found: FieldErrors, scopes: unknown): FieldErrors {
  if (scopes === undefined) return note(found, broken("/scopes", "required", "is required"));
  if (!Array.isArray(scopes)) return note(found, broken("/scopes", "type", "must be an array"));
  if (scopes.length === 0 || scopes.length > SCOPES.length) {
    return note(found, broken("/scopes", "length", `must hold 1 to ${SCOPES.length} scopes`));
  }
  let errors = found;
  for (const [index, scope] of scopes.entries()) {
    errors = note(errors, enumFault(`/scopes/${index}`, scope, SCOPES));
  }
  return errors;
}

function minimumScoresFaults(found: FieldErrors, minimums: unknown): FieldErrors {
  const at = "/minimum_scores";
  if (!isObject(minimums)) return note(found, broken(at, "type", "must be an object"));
  let errors = found;
  for (const [level, score] of Object.entries(minimums)) {
    const pointer = pointerOf(["minimum_scores", level]);
    if (!(TOOL_LEVELS as readonly string[]).includes(level)) {
      errors = note(errors, broken(pointer, "unknown", "is not a tool level"));
    } else if (typeof score !== "number") {
      errors = note(errors, broken(pointer, "type", "must be a number"));
    } else if (!(score >= 300 && score <= 850)) {
      errors = note(errors, broken(pointer, "range", "must be 300 to 850"));
    }
  }
  return errors;
}
