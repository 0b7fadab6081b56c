// Messages of operators and analysts: API keys, SQL, usage, health; and the problem, which is the
// answer of every route that fails.
import { FAULTS } from "../faults.ts";
import { KEY_LABEL_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import { SCOPES } from "../vocabulary.ts";
import * as kind from "./kinds.ts";
import {
  defaulted,
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  optional,
  schemaOf,
  STRICT,
} from "./schema.ts";

const { flag, integer, number, text, texts, time, timeOrNull } = kind;

/** `POST /v1/keys`. */
export const KeyRequest = message(
  "KeyRequest",
  {
    tenant: kind.plainText(TENANT_LENGTH_MAX),
    scopes: list(oneOf(SCOPES), { minItems: 1, maxItems: SCOPES.length, "~noun": "scopes" }),
    /** Minimum internal score by tool level; levels left out keep the default. */
    minimum_scores: optional(
      object(kind.byToolLevel(optional(kind.internalScore)), {
        ...STRICT,
        "~unknown": "is not a tool level",
      }),
    ),
    is_shadow: optional(flag),
    label: optional(kind.plainText(KEY_LABEL_LENGTH_MAX)),
    expires_at: optional(kind.timeOrMs),
  },
  STRICT,
);
export type KeyRequest = MessageOf<typeof KeyRequest>;

/** A key as it is listed: never its secret. */
export const KeyDescription = message("KeyDescription", {
  key_id: text,
  tenant: text,
  scopes: list(oneOf(SCOPES)),
  minimum_scores: object(kind.byToolLevel(kind.internalScore)),
  is_shadow: flag,
  label: kind.textOrNull,
  created_at: time,
  expires_at: timeOrNull,
  revoked_at: timeOrNull,
});
export type KeyDescription = MessageOf<typeof KeyDescription>;

export const KeyCreated = message("KeyCreated", { key: text, ...KeyDescription.properties });
export const KeyList = message("KeyList", { keys: list(KeyDescription) });

/** `POST /v1/query`. */
export const QueryRequest = message(
  "QueryRequest",
  {
    sql: kind.textOfLength({ minLength: 1 }, (sql) => sql !== "", "must not be empty"),
    format: defaulted(oneOf(["json", "csv"]), "json"),
  },
  STRICT,
);

export const QueryResult = message("QueryResult", {
  columns: list(object({ name: text, type: text })),
  rows: list(schemaOf<unknown[]>({ type: "array" })),
  is_truncated: flag,
  elapsed_ms: number,
});

/** `GET /v1/usage`: SPEC §1, reading a score is paid, reporting is free. */
export const UsageReport = message("UsageReport", {
  /** Counting began here: counters live as long as the process. */
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
});
export type UsageReport = MessageOf<typeof UsageReport>;

export const Health = message("Health", {
  status: schemaOf<"ok">({ const: "ok" }),
  version: text,
  service_id: optional(text),
});
export const Readiness = message("Readiness", {
  ready: flag,
  reasons: texts,
  warnings: optional(texts),
});
export const OpenApi = schemaOf<object>({ type: "object", "~component": "OpenApi" });

/** What is wrong with one member, by its RFC 6901 pointer. */
export const FieldError = message("FieldError", { pointer: text, code: text, detail: text });

/** RFC 9457 problem details. */
export const Problem = message("Problem", {
  type: schemaOf<string>({ type: "string", format: "uri" }),
  title: text,
  status: integer,
  detail: text,
  instance: text,
  code: schemaOf<string>({ type: "string", enum: Object.keys(FAULTS) }),
  request_id: text,
  errors: optional(list(FieldError)),
});
