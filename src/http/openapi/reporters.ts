// JSON Schemas of reporters' keys and of batches of outcomes.
import {
  BATCH_ITEMS_MAX,
  KEY_OVERLAP_MS_MAX,
  OUTCOME_BODY_BYTES_MAX,
  SIGNATURE_LENGTH_MAX,
} from "../../contract/limits.ts";
import {
  integer,
  list,
  object,
  oneOf,
  ref,
  type Schema,
  text,
  time,
  time_or_ms,
  timeOrNull,
} from "./parts.ts";

const publicJwk = object({ kty: { const: "OKP" }, crv: { const: "Ed25519" }, x: text });
const overlap: Schema = { type: "integer", minimum: 0, maximum: KEY_OVERLAP_MS_MAX / 1000 };

export const REPORTER_SCHEMAS: Record<string, Schema> = {
  ReporterKeyNonce: object({ nonce: text, audience: text, expires_at: time }),
  ReporterKeyRequest: object(
    { jwk: publicJwk, proof: text },
    { not_before: time_or_ms, expires: time_or_ms, overlap_sec: overlap },
  ),
  ReporterKeyRevocation: object({ kid: text }, { compromised_since: time_or_ms }),
  ReporterKey: object({
    kid: text,
    jwk: publicJwk,
    state: oneOf(["pending", "active", "retiring", "retired", "revoked"]),
    tenant: text,
    registered_at: time,
    not_before: time,
    expires_at: timeOrNull,
    retires_at: timeOrNull,
    revoked_at: timeOrNull,
    compromised_since: timeOrNull,
  }),
  ReporterKeyList: object({ agent_id: text, keys: list(ref("ReporterKey")) }),
  SignedOutcome: {
    ...object({
      body: { type: "string", minLength: 1, maxLength: OUTCOME_BODY_BYTES_MAX },
      signature: { type: "string", minLength: 1, maxLength: SIGNATURE_LENGTH_MAX },
    }),
    description: [
      "An outcome with a signature of its own: `body` is the exact text of an `OutcomeRequest`,",
      "`signature` what `X-JWS-Signature` over these bytes would be. Only in a batch that carries",
      "no `X-JWS-Signature` itself, and only as JSON. Each item is checked and answered as if it",
      "came alone: its problem has the same code.",
    ].join(" "),
  },
  OutcomeBatchRequest: {
    ...list({ anyOf: [ref("OutcomeRequest"), ref("SignedOutcome")] }),
    minItems: 1,
    maxItems: BATCH_ITEMS_MAX,
  },
  OutcomeBatchResponse: object({
    items: list(
      object({ status: integer }, { result: ref("OutcomeReceipt"), problem: ref("Problem") }),
    ),
  }),
};
