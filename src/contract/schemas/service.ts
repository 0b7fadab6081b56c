// Messages of operators and analysts: API keys, SQL, usage, health; and the problem, which is the
// answer of every route that fails.
import { FAULT_CODES, FIELD_ERROR_CODES } from "../faults.ts";
import {
  KEY_LABEL_LENGTH_MAX,
  QUERY_ID_LENGTH_MAX,
  SECRET_OVERLAP_MS,
  TENANT_LENGTH_MAX,
} from "../limits.ts";
import { PAID_READS, USAGE_GROUPS } from "../usage.ts";
import { SCOPES, TOOL_LEVELS } from "../vocabulary.ts";
import { nullable } from "./nullable.ts";
import { Quota } from "./quotas.ts";
import { overlapSec } from "./reporter-keys.ts";
import * as t from "./schema.ts";
import { streamState } from "./series.ts";

const minimumScores = t.object(t.all(t.optional(t.internalScore), ...TOOL_LEVELS), {
  ...t.STRICT,
  "~unknown": "is not a tool level",
});
const scopes = t.list(t.defineChoice(SCOPES), {
  minItems: 1,
  maxItems: SCOPES.length,
  "~noun": "scopes",
});

/** `POST /v1/keys`. */
export const KeyRequest = t.strict("KeyRequest", {
  tenant: t.plainText(TENANT_LENGTH_MAX),
  scopes,
  /** Minimum internal score by tool level; levels left out keep the default. */
  minimum_scores: t.optional(minimumScores),
  is_shadow: t.optional(t.flag),
  first_party: t.optional(t.flag),
  label: t.optional(t.plainText(KEY_LABEL_LENGTH_MAX)),
  expires_at: t.optional(t.timeOrMs),
});
export type KeyRequest = t.MessageOf<typeof KeyRequest>;

/** A key as it is listed: never its secret. */
export const KeyDescription = t.message("KeyDescription", {
  key_id: t.text,
  tenant: t.text,
  scopes: t.list(t.defineChoice(SCOPES)),
  minimum_scores: t.object(t.all(t.internalScore, ...TOOL_LEVELS)),
  is_shadow: t.flag,
  /** Whether its unsigned reports count as those of the reporters that they name. */
  first_party: t.flag,
  label: t.textOrNull,
  created_at: t.time,
  expires_at: t.timeOrNull,
  revoked_at: t.timeOrNull,
  /** When its secret was last replaced. */
  rotated_at: t.timeOrNull,
  /** Until when an earlier secret works; null when only the newest does. */
  overlap_ends_at: t.timeOrNull,
});
export type KeyDescription = t.MessageOf<typeof KeyDescription>;

/** On how many nodes of a cluster a change is in force. */
export const Effective = t.message("Effective", {
  nodes: t.said(t.integer, "Nodes that have said within a second that it is in force there."),
  of: t.said(t.integer, "Nodes that have told of themselves in the last minute."),
});
export type Effective = t.MessageOf<typeof Effective>;

/** `DELETE /v1/keys/{id}`. */
export const KeyRevoked = t.message("KeyRevoked", {
  ...KeyDescription.properties,
  effective: t.optional(t.said(Effective, "Left out by a service that is alone.")),
});
export type KeyRevoked = t.MessageOf<typeof KeyRevoked>;

export const KeyCreated = t.message("KeyCreated", { key: t.text, ...KeyDescription.properties });

/** `PATCH /v1/keys/{id}`: members that are left out stay as they are. */
export const KeyPatch = t.strict(
  "KeyPatch",
  {
    label: t.optional(t.said(nullable(t.plainText(KEY_LABEL_LENGTH_MAX)), "null: none")),
    scopes: t.optional(t.said(scopes, "All of them: those that are left out are taken away.")),
    expires_at: t.optional(t.said(nullable(t.timeOrMs), "null: never")),
    minimum_scores: t.optional(t.said(minimumScores, "Levels that are left out stay as they are.")),
  },
  {
    minProperties: 1,
    "~refine": [
      {
        check: (value: unknown) => Object.keys(value as object).length > 0,
        error: () => "required must name something to change",
      },
    ],
  },
);
export type KeyPatch = t.MessageOf<typeof KeyPatch>;

/** `POST /v1/keys/{id}/rotate`. */
export const KeyRotation = t.strict("KeyRotation", {
  overlap_sec: t.defaulted(
    t.said(overlapSec, "How long the present secret works on; 0: it ends at once."),
    SECRET_OVERLAP_MS / 1000,
  ),
});
export type KeyRotation = t.MessageOf<typeof KeyRotation>;

export const KeyList = t.message("KeyList", {
  keys: t.list(
    t.object({
      ...KeyDescription.properties,
      /**
       * Last counted read or report of 90 days: to the second since the start of the service, the
       * beginning of the day before. null without one; left out while the store cannot say.
       */
      last_used_at: t.optional(t.timeOrNull),
    }),
  ),
});

/** `POST /v1/query`. */
export const QueryRequest = t.strict("QueryRequest", {
  sql: t.textOfLength({ minLength: 1 }, (sql) => sql !== "", "must not be empty"),
  format: t.defaulted(t.defineChoice(["json", "csv"]), "json"),
  /** The caller's own name for it, by which `DELETE /v1/query/{id}` ends it. */
  query_id: t.optional(t.plainText(QUERY_ID_LENGTH_MAX)),
});

/** `DELETE /v1/query/{id}`. */
export const QueryCancelled = t.message("QueryCancelled", { query_id: t.text });

export const QueryResult = t.message("QueryResult", {
  columns: t.list(t.object({ name: t.text, type: t.text })),
  rows: t.list(t.defineSchema<unknown[]>({ type: "array" })),
  is_truncated: t.flag,
  elapsed_ms: t.number,
  /** Position of the journal up to which its records are in the rows; when they were read. */
  as_of: t.object({ position: t.integer, time: t.time }),
});

/** `GET /v1/query/schema`: the documented views. */
export const QuerySchema = t.message("QuerySchema", {
  views: t.list(
    t.object({
      name: t.text,
      comment: t.text,
      columns: t.list(t.object(t.all(t.text, "name", "type", "comment"))),
    }),
  ),
  /** Zone of the columns that end in `_local`, by its IANA name. */
  time_zone: t.text,
});

/** What was read and reported. */
const counted = {
  paid_reads: t.integer,
  reads: t.object(t.all(t.integer, ...PAID_READS)),
  /** Reads about the reserved test agents: free. */
  test_reads: t.integer,
  outcomes_reported: t.integer,
};

/** `GET /v1/usage`: SPEC §1, reading a score is paid, reporting is free. */
export const UsageReport = t.message("UsageReport", {
  /** Whole days, UTC; `until` is the first moment that is no longer in them. */
  since: t.time,
  until: t.time,
  group_by: t.list(t.defineChoice(USAGE_GROUPS)),
  /** With the members that `group_by` names. */
  rows: t.list(
    t.object({ ...t.all(t.optional(t.text), "day", "month", "tenant", "key_id"), ...counted }),
  ),
  /** The caller's own quota of this month; left out without one. */
  quota: t.optional(Quota),
  /** Of all these days. */
  keys: t.list(t.object({ key_id: t.text, tenant: t.text, ...counted })),
});
export type UsageReport = t.MessageOf<typeof UsageReport>;

export const Health = t.message("Health", {
  status: t.defineSchema<"ok">({ const: "ok" }),
  version: t.text,
  service_id: t.optional(t.text),
});
/** What a probe is told without a key. */
export const PROBE_CODES = ["live", "ready", "not_ready", "draining"] as const;
export type ProbeCode = (typeof PROBE_CODES)[number];
export const Liveness = t.message("Liveness", { code: t.defineChoice(PROBE_CODES) });
export const Readiness = t.message("Readiness", {
  ready: t.flag,
  code: t.defineChoice(PROBE_CODES),
  reasons: t.optional(t.said(t.texts, "Why it is not ready; with the scope `metrics:read`.")),
  warnings: t.optional(t.said(t.texts, "What needs an operator; with the same scope.")),
  stream: t.optional(t.said(streamState, "In a cluster; with the same scope.")),
});
export const OpenApi = t.defineSchema<object>({ type: "object", "~component": "OpenApi" });

/** What is wrong with one member, by its RFC 6901 pointer. */
export const FieldError = t.message("FieldError", {
  pointer: t.text,
  // Open to callers: a later version may know more.
  code: t.defineSchema<string>({ type: "string", enum: [...FIELD_ERROR_CODES] }),
  detail: t.text,
});

/** RFC 9457 problem details. */
export const Problem = t.message("Problem", {
  type: t.defineSchema<string>({ type: "string", format: "uri" }),
  title: t.text,
  status: t.integer,
  detail: t.text,
  instance: t.text,
  code: t.defineSchema<string>({ type: "string", enum: [...FAULT_CODES] }),
  request_id: t.text,
  errors: t.optional(t.list(FieldError)),
});
export type Problem = t.MessageOf<typeof Problem>;

/** Answer to a batch: an entry per item, order kept, each a result or a problem. */
export const itemResults = <S extends t.TypedSchema>(result: S) =>
  t.list(t.object({ status: t.integer, result: t.optional(result), problem: t.optional(Problem) }));
