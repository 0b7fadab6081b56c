// Messages of reporters' signing keys: what registering, listing and revoking them carries.
import { KEY_OVERLAP_MS_MAX, SIGNATURE_LENGTH_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const UNKNOWN = { "~unknown": "is not known" };
const OVERLAP_SEC_MAX = KEY_OVERLAP_MS_MAX / 1000;

const publicJwk = t.defineObject({
  kty: t.defineSchema<"OKP">({ const: "OKP" }),
  crv: t.defineSchema<"Ed25519">({ const: "Ed25519" }),
  x: t.text,
});

/** How long a replaced key or secret works on, in whole seconds. */
export const overlapSec = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: 0, maximum: OVERLAP_SEC_MAX } },
  (value) =>
    typeof value === "number" &&
    Number.isSafeInteger(value * 1000) &&
    value >= 0 &&
    value <= OVERLAP_SEC_MAX,
  () => `range must be 0 to ${OVERLAP_SEC_MAX} whole seconds`,
);

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
const thumbprint = t.defineChecked<string>(
  { "~shown": { type: "string", pattern: THUMBPRINT.source } },
  (value) => typeof value === "string" && THUMBPRINT.test(value),
  () => "format must be an RFC 7638 thumbprint",
);

export const ReporterKeyNonce = t.defineMessage("ReporterKeyNonce", {
  nonce: t.text,
  /** What `aud` must be, here and in every signature. */
  audience: t.text,
  expires_at: t.time,
});
export type KeyNonce = t.MessageOf<typeof ReporterKeyNonce>;

/** `PUT /v1/agents/{id}/keys`. */
export const ReporterKeyRequest = t.defineStrictMessage(
  "ReporterKeyRequest",
  {
    /** Checked by `parsePublicKey`, which has a fault of its own for weak keys. */
    jwk: t.defineSchema<unknown>({ "~shown": publicJwk }),
    /** Compact JWS over the nonce, signed with the key itself. */
    proof: t.defineTextOfLength(
      { maxLength: SIGNATURE_LENGTH_MAX },
      ({ length }) => length <= SIGNATURE_LENGTH_MAX,
      "is too long",
    ),
    not_before: t.makeOptional(t.timeOrMs),
    expires: t.makeOptional(t.timeOrMs),
    overlap_sec: t.makeOptional(overlapSec),
  },
  UNKNOWN,
);
export type ReporterKeyRequest = t.MessageOf<typeof ReporterKeyRequest>;

/** `POST /v1/agents/{id}/keys/revoke`. */
export const ReporterKeyRevocation = t.defineStrictMessage(
  "ReporterKeyRevocation",
  { kid: thumbprint, compromised_since: t.makeOptional(t.timeOrMs) },
  UNKNOWN,
);
export type ReporterKeyRevocation = t.MessageOf<typeof ReporterKeyRevocation>;

export const ReporterKey = t.defineMessage("ReporterKey", {
  kid: t.text,
  jwk: publicJwk,
  state: t.defineChoice(["pending", "active", "retiring", "retired", "revoked"]),
  tenant: t.text,
  registered_at: t.time,
  not_before: t.time,
  ...t.repeatSchema(t.timeOrNull, "expires_at", "retires_at", "revoked_at", "compromised_since"),
});
export type ReporterKeyDescription = t.MessageOf<typeof ReporterKey>;

export const ReporterKeyList = t.defineMessage("ReporterKeyList", {
  agent_id: t.text,
  keys: t.defineList(ReporterKey),
});
