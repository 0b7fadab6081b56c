// Messages of operators and analysts: API keys, SQL, usage, health; and the problem, which is the
// answer of every route that fails.
import * as t from "./schema.ts";
import { FAULT_CODES, FIELD_ERROR_CODES } from "../faults.ts";
import {
  KEY_LABEL_LENGTH_MAX,
  QUERY_ID_LENGTH_MAX,
  QUERY_PARAMS_MAX,
  QUERY_SECONDS_MAX,
  SECRET_OVERLAP_MS,
  TENANT_LENGTH_MAX,
} from "../limits.ts";
import { PAID_READS, USAGE_GROUPS } from "../usage.ts";
import { SCOPES, TOOL_LEVELS } from "../vocabulary.ts";
import { Quota } from "./quotas.ts";
import { overlapSec } from "./reporter-keys.ts";
import { streamState } from "./series.ts";

/** What `schema` takes, or null; `schema` is one that is checked by a predicate. */
function defineNullableRequest<S extends t.TypedSchema>(schema: S) {
  const { type, "~refine": rules, "~read": read, "~shown": shown } = schema as t.Schema;
  const rule = rules?.[0];
  const isOfType = (value: unknown) => type === undefined || typeof value === type;
  const typed = type === undefined ? shown : { type, ...shown };
  return t.defineChecked<t.MessageOf<S> | null>(
    {
      "~shown": { anyOf: [typed, { type: "null" }] },
      "~read": (value: unknown) => (value === null || read === undefined ? value : read(value)),
    },
    (value) => value === null || (isOfType(value) && rule?.check(value) === true),
    (value) => (isOfType(value) ? rule!.error(value) : `type must be a ${String(type)} or null`),
  );
}

const minimumScores = t.defineObject(
  t.repeatSchema(t.makeOptional(t.internalScore), ...TOOL_LEVELS),
  {
    ...t.STRICT,
    "~unknown": "is not a tool level",
  },
);
const scopes = t.defineList(t.defineChoice(SCOPES), {
  minItems: 1,
  maxItems: SCOPES.length,
  "~noun": "scopes",
});

const querySecondsMax = t.defineNumberBetween(1, QUERY_SECONDS_MAX);

/** `POST /v1/keys`. */
export const KeyRequest = t.defineStrictMessage("KeyRequest", {
  tenant: t.definePlainText(TENANT_LENGTH_MAX),
  scopes,
  /** Minimum internal score by tool level, enforced at L2 and L3; 300, and a level left out: none. */
  minimum_scores: t.makeOptional(minimumScores),
  is_shadow: t.makeOptional(t.flag),
  first_party: t.makeOptional(t.flag),
  /** Whether properties in its requests may lower the level that the policy's `actions` give. */
  asserts_properties: t.makeOptional(t.flag),
  label: t.makeOptional(t.definePlainText(KEY_LABEL_LENGTH_MAX)),
  expires_at: t.makeOptional(t.timeOrMs),
  /** Seconds that the database may work on one query of the key; never longer than the service's own limits. */
  query_seconds_max: t.makeOptional(querySecondsMax),
});
export type KeyRequest = t.MessageOf<typeof KeyRequest>;

/** A key as it is listed: never its secret. */
const keyMembers = {
  key_id: t.text,
  tenant: t.text,
  scopes: t.defineList(t.defineChoice(SCOPES)),
  minimum_scores: t.defineObject(t.repeatSchema(t.internalScore, ...TOOL_LEVELS)),
  is_shadow: t.flag,
  /** Whether its unsigned reports count as those of the reporters that they name. */
  first_party: t.flag,
  /** Whether properties in its requests may lower the level that the policy's `actions` give. */
  asserts_properties: t.flag,
  label: t.textOrNull,
  /** Seconds that the database may work on one query of it; null: as long as for any key. */
  query_seconds_max: t.numberOrNull,
  created_at: t.time,
  expires_at: t.timeOrNull,
  revoked_at: t.timeOrNull,
  /** When its secret was last replaced. */
  rotated_at: t.timeOrNull,
  /** Until when an earlier secret works; null when only the newest does. */
  overlap_ends_at: t.timeOrNull,
};

/** On how many nodes of a cluster a change is in force. */
export const Effective = t.defineMessage("Effective", {
  nodes: t.withDescription(
    t.integer,
    "Nodes that have said within two seconds that it is in force there.",
  ),
  of: t.withDescription(
    t.integer,
    "Nodes that live: whose reports have changed in the last minute, and those that have answered.",
  ),
  missing: t.withDescription(
    t.texts,
    "Nodes that live and have not said so. They may be cut off, and act against it until `certain_at`.",
  ),
  certain_at: t.withDescription(
    t.time,
    "From then on no node acts against it: each has it in force, or has not heard of its cluster for so long that it refuses every key.",
  ),
});
export type Effective = t.MessageOf<typeof Effective>;

/** An API key; of `PATCH /v1/keys/{id}`, with the spread of the change. */
export const KeyDescription = t.defineMessage("KeyDescription", {
  ...keyMembers,
  effective: t.makeOptional(t.withDescription(Effective, "Left out by a service that is alone.")),
});
export type KeyDescription = t.MessageOf<typeof KeyDescription>;

/** `DELETE /v1/keys/{id}`. */
export const KeyRevoked = t.defineMessage("KeyRevoked", KeyDescription.properties);
export type KeyRevoked = t.MessageOf<typeof KeyRevoked>;

export const KeyCreated = t.defineMessage("KeyCreated", {
  key: t.text,
  ...KeyDescription.properties,
});

/** `PATCH /v1/keys/{id}`: members that are left out stay as they are. */
export const KeyPatch = t.defineStrictMessage(
  "KeyPatch",
  {
    label: t.makeOptional(
      t.withDescription(
        defineNullableRequest(t.definePlainText(KEY_LABEL_LENGTH_MAX)),
        "null: none",
      ),
    ),
    scopes: t.makeOptional(
      t.withDescription(scopes, "All of them: those that are left out are taken away."),
    ),
    expires_at: t.makeOptional(t.withDescription(defineNullableRequest(t.timeOrMs), "null: never")),
    minimum_scores: t.makeOptional(
      t.withDescription(minimumScores, "Levels that are left out stay as they are."),
    ),
    query_seconds_max: t.makeOptional(
      t.withDescription(defineNullableRequest(querySecondsMax), "null: none of its own"),
    ),
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
export const KeyRotation = t.defineStrictMessage("KeyRotation", {
  overlap_sec: t.withDefault(
    t.withDescription(overlapSec, "How long the present secret works on; 0: it ends at once."),
    SECRET_OVERLAP_MS / 1000,
  ),
});
export type KeyRotation = t.MessageOf<typeof KeyRotation>;

export const KeyList = t.defineMessage("KeyList", {
  keys: t.defineList(
    t.defineObject({
      ...keyMembers,
      /**
       * Last counted read or report of 90 days: to the second since the start of the service, the
       * beginning of the day before. null without one; left out while the store cannot say.
       */
      last_used_at: t.makeOptional(t.timeOrNull),
    }),
  ),
});

/** A value of SQL as JSON has it. */
export type QueryParameter = string | number | boolean | null;

/** `POST /v1/query`. */
export const QueryRequest = t.defineStrictMessage("QueryRequest", {
  sql: t.defineTextOfLength({ minLength: 1 }, (sql) => sql !== "", "must not be empty"),
  params: t.withDescription(
    t.withDefault(
      t.defineList(
        t.defineSchema<QueryParameter>({ type: ["string", "number", "boolean", "null"] }),
        {
          maxItems: QUERY_PARAMS_MAX,
        },
      ),
      [],
    ),
    "Values of `?` or `$1`, `$2`, ... in `sql`, in their order.",
  ),
  format: t.withDefault(t.defineChoice(["json", "csv"]), "json"),
  /** The caller's own name for it, by which `DELETE /v1/query/{id}` ends it. */
  query_id: t.makeOptional(t.definePlainText(QUERY_ID_LENGTH_MAX)),
});

/** `DELETE /v1/query/{id}`. */
export const QueryCancelled = t.defineMessage("QueryCancelled", { query_id: t.text });

export const QueryResult = t.defineMessage("QueryResult", {
  columns: t.defineList(t.defineObject({ name: t.text, type: t.text })),
  rows: t.defineList(t.defineSchema<unknown[]>({ type: "array" })),
  is_truncated: t.flag,
  elapsed_ms: t.number,
  /** Position of the journal up to which its records are in the rows; when they were read. */
  as_of: t.defineObject({ position: t.integer, time: t.time }),
});

/** `GET /v1/query/schema`: the documented views. */
export const QuerySchema = t.defineMessage("QuerySchema", {
  views: t.defineList(
    t.defineObject({
      name: t.text,
      comment: t.text,
      columns: t.defineList(t.defineObject(t.repeatSchema(t.text, "name", "type", "comment"))),
    }),
  ),
  /** Zone of the columns that end in `_local`, by its IANA name. */
  time_zone: t.text,
});

/** What was read and reported. */
const counted = {
  paid_reads: t.integer,
  reads: t.defineObject(t.repeatSchema(t.integer, ...PAID_READS)),
  /** Reads about the reserved test agents: free. */
  test_reads: t.integer,
  outcomes_reported: t.integer,
};

/** `GET /v1/usage`: SPEC §1, reading a score is paid, reporting is free. */
export const UsageReport = t.defineMessage("UsageReport", {
  /** Whole days, UTC; `until` is the first moment that is no longer in them. */
  since: t.time,
  until: t.time,
  group_by: t.defineList(t.defineChoice(USAGE_GROUPS)),
  /** With the members that `group_by` names. */
  rows: t.defineList(
    t.defineObject({
      ...t.repeatSchema(t.makeOptional(t.text), "day", "month", "tenant", "key_id"),
      ...counted,
    }),
  ),
  /** The caller's own quota of this month; left out without one. */
  quota: t.makeOptional(Quota),
  /** Of all these days. */
  keys: t.defineList(t.defineObject({ key_id: t.text, tenant: t.text, ...counted })),
});
export type UsageReport = t.MessageOf<typeof UsageReport>;

export const Health = t.defineMessage("Health", {
  status: t.defineSchema<"ok">({ const: "ok" }),
  version: t.text,
  service_id: t.makeOptional(t.text),
});
/** Answer of `GET /`: paths of this service. */
export const ServiceIndex = t.defineMessage("ServiceIndex", {
  name: t.text,
  version: t.text,
  links: t.defineObject({
    console: t.makeOptional(t.withDescription(t.text, "Where it is served under this host.")),
    docs: t.text,
    openapi: t.text,
    readyz: t.text,
  }),
});
/** What a probe is told without a key. */
export const PROBE_CODES = ["live", "ready", "not_ready", "draining"] as const;
export type ProbeCode = (typeof PROBE_CODES)[number];
export const Liveness = t.defineMessage("Liveness", { code: t.defineChoice(PROBE_CODES) });
export const Readiness = t.defineMessage("Readiness", {
  ready: t.flag,
  code: t.defineChoice(PROBE_CODES),
  reasons: t.makeOptional(
    t.withDescription(t.texts, "Why it is not ready; with the scope `metrics:read`."),
  ),
  warnings: t.makeOptional(
    t.withDescription(t.texts, "What needs an operator; with the same scope."),
  ),
  stream: t.makeOptional(t.withDescription(streamState, "In a cluster; with the same scope.")),
});
export const OpenApi = t.defineSchema<object>({ type: "object", "~component": "OpenApi" });

/** What is wrong with one member, by its RFC 6901 pointer. */
export const FieldError = t.defineMessage("FieldError", {
  pointer: t.text,
  // Open to callers: a later version may know more.
  code: t.defineSchema<string>({ type: "string", enum: [...FIELD_ERROR_CODES] }),
  detail: t.text,
});

/** RFC 9457 problem details. */
export const Problem = t.defineMessage("Problem", {
  type: t.defineSchema<string>({ type: "string", format: "uri" }),
  title: t.text,
  status: t.integer,
  detail: t.text,
  instance: t.text,
  code: t.defineSchema<string>({ type: "string", enum: [...FAULT_CODES] }),
  request_id: t.text,
  errors: t.makeOptional(t.defineList(FieldError)),
});
export type Problem = t.MessageOf<typeof Problem>;

/** Answer to a batch: an entry per item, order kept, each a result or a problem. */
export const defineItemResults = <S extends t.TypedSchema>(result: S) =>
  t.defineList(
    t.defineObject({
      status: t.integer,
      result: t.makeOptional(result),
      problem: t.makeOptional(Problem),
    }),
  );
