// Messages of reporters' signing keys: what registering, listing and revoking them carries.
import { KEY_OVERLAP_MS_MAX, SIGNATURE_LENGTH_MAX } from "../limits.ts";
import * as kind from "./kinds.ts";
import {
  checked,
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  optional,
  schemaOf,
  STRICT,
} from "./schema.ts";

const { text, time, timeOrMs, timeOrNull } = kind;
const REFUSING = { ...STRICT, "~unknown": "is not known" };
const OVERLAP_SEC_MAX = KEY_OVERLAP_MS_MAX / 1000;

const publicJwk = object({
  kty: schemaOf<"OKP">({ const: "OKP" }),
  crv: schemaOf<"Ed25519">({ const: "Ed25519" }),
  x: text,
});

const overlap = checked<number>(
  { "~shown": { type: "integer", minimum: 0, maximum: OVERLAP_SEC_MAX } },
  (value: unknown) =>
    typeof value === "number" &&
    Number.isSafeInteger(value * 1000) &&
    value >= 0 &&
    value <= OVERLAP_SEC_MAX,
  () => `range must be 0 to ${OVERLAP_SEC_MAX} whole seconds`,
);

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
const thumbprint = checked<string>(
  { "~shown": { type: "string", pattern: THUMBPRINT.source } },
  (value: unknown) => typeof value === "string" && THUMBPRINT.test(value),
  () => "format must be an RFC 7638 thumbprint",
);

export const ReporterKeyNonce = message("ReporterKeyNonce", {
  nonce: text,
  /** What `aud` must be, here and in every signature. */
  audience: text,
  expires_at: time,
});
export type KeyNonce = MessageOf<typeof ReporterKeyNonce>;

/** `PUT /v1/agents/{id}/keys`. */
export const ReporterKeyRequest = message(
  "ReporterKeyRequest",
  {
    /** Checked by `parsePublicKey`, which has a fault of its own for weak keys. */
    jwk: schemaOf<unknown>({ "~shown": publicJwk }),
    /** Compact JWS over the nonce, signed with the key itself. */
    proof: kind.textOfLength(
      { maxLength: SIGNATURE_LENGTH_MAX },
      ({ length }) => length <= SIGNATURE_LENGTH_MAX,
      "is too long",
    ),
    not_before: optional(timeOrMs),
    expires: optional(timeOrMs),
    overlap_sec: optional(overlap),
  },
  REFUSING,
);
export type ReporterKeyRequest = MessageOf<typeof ReporterKeyRequest>;

/** `POST /v1/agents/{id}/keys/revoke`. */
export const ReporterKeyRevocation = message(
  "ReporterKeyRevocation",
  { kid: thumbprint, compromised_since: optional(timeOrMs) },
  REFUSING,
);
export type ReporterKeyRevocation = MessageOf<typeof ReporterKeyRevocation>;

export const ReporterKey = message("ReporterKey", {
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
});
export type ReporterKeyDescription = MessageOf<typeof ReporterKey>;

export const ReporterKeyList = message("ReporterKeyList", {
  agent_id: text,
  keys: list(ReporterKey),
});
