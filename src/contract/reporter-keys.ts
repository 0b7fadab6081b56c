// The wire of reporters' keys: what registering, listing and revoking them carries. Like the other
// operators' routes these refuse members they do not know.
import {
  asBody,
  broken,
  type FieldErrors,
  invalidRequest,
  note,
  typeFault,
} from "./parse/field-rules.ts";
import { KEY_OVERLAP_MS_MAX, SIGNATURE_LENGTH_MAX } from "./limits.ts";
import { isEpochMs, parseDateTime } from "./timestamps.ts";

/** `PUT /v1/agents/{id}/keys`; times are epoch ms after parsing. */
export interface ReporterKeyRequest {
  /** Checked by `parsePublicKey`. */
  jwk: unknown;
  /** Compact JWS over the nonce, signed with the key itself. */
  proof: string;
  not_before?: number;
  expires?: number;
  overlap_ms?: number;
}

/** `POST /v1/agents/{id}/keys/revoke`. */
export interface ReporterKeyRevocation {
  kid: string;
  compromised_since?: number;
}

export interface KeyNonce {
  nonce: string;
  /** What `aud` must be, here and in every signature. */
  audience: string;
  expires_at: string;
}

export interface ReporterKeyDescription {
  kid: string;
  jwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  state: "pending" | "active" | "retiring" | "retired" | "revoked";
  tenant: string;
  registered_at: string;
  not_before: string;
  expires_at: string | null;
  retires_at: string | null;
  revoked_at: string | null;
  compromised_since: string | null;
}

const REQUEST_MEMBERS = new Set(["jwk", "proof", "not_before", "expires", "overlap_sec"]);
const REVOCATION_MEMBERS = new Set(["kid", "compromised_since"]);
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

/** Throws ServiceFault `invalid_request` listing every fault. */
export function parseReporterKeyRequest(value: unknown): ReporterKeyRequest {
  const members = asBody(value);
  const { jwk, proof, not_before, expires, overlap_sec } = members;
  let errors = unknownMembers(members, REQUEST_MEMBERS);
  if (jwk === undefined) errors = note(errors, broken("/jwk", "required", "is required"));
  errors = note(errors, typeFault("/proof", proof, "string"));
  if (typeof proof === "string" && proof.length > SIGNATURE_LENGTH_MAX) {
    errors = note(errors, broken("/proof", "length", "is too long"));
  }
  errors = timeFault(errors, "/not_before", not_before);
  errors = timeFault(errors, "/expires", expires);
  const overlapMs = typeof overlap_sec === "number" ? overlap_sec * 1000 : undefined;
  if (overlap_sec !== undefined && !isOverlap(overlapMs)) {
    const detail = `must be 0 to ${KEY_OVERLAP_MS_MAX / 1000} whole seconds`;
    errors = note(errors, broken("/overlap_sec", "range", detail));
  }
  if (errors !== undefined) throw invalidRequest(errors);
  return {
    jwk,
    proof: proof as string,
    ...(not_before === undefined ? {} : { not_before: timeMs(not_before) as number }),
    ...(expires === undefined ? {} : { expires: timeMs(expires) as number }),
    ...(overlapMs === undefined ? {} : { overlap_ms: overlapMs }),
  };
}

/** Throws ServiceFault `invalid_request` listing every fault. */
export function parseReporterKeyRevocation(value: unknown): ReporterKeyRevocation {
  const members = asBody(value);
  const { kid, compromised_since } = members;
  let errors = unknownMembers(members, REVOCATION_MEMBERS);
  if (typeof kid !== "string" || !THUMBPRINT.test(kid)) {
    errors = note(errors, broken("/kid", "format", "must be an RFC 7638 thumbprint"));
  }
  errors = timeFault(errors, "/compromised_since", compromised_since);
  if (errors !== undefined) throw invalidRequest(errors);
  return {
    kid: kid as string,
    ...(compromised_since === undefined
      ? {}
      : { compromised_since: timeMs(compromised_since) as number }),
  };
}

function isOverlap(value: number | undefined): boolean {
  return (
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= KEY_OVERLAP_MS_MAX
  );
}

function unknownMembers(members: Record<string, unknown>, known: ReadonlySet<string>): FieldErrors {
  let errors: FieldErrors = undefined;
  for (const name of Object.keys(members)) {
    if (!known.has(name)) errors = note(errors, broken(`/${name}`, "unknown", "is not known"));
  }
  return errors;
}

function timeFault(errors: FieldErrors, pointer: string, value: unknown): FieldErrors {
  if (value === undefined || timeMs(value) !== undefined) return errors;
  const detail = "must be an RFC 3339 date-time or epoch milliseconds";
  return note(errors, broken(pointer, "format", detail));
}

function timeMs(value: unknown): number | undefined {
  const time = typeof value === "string" ? parseDateTime(value) : value;
  return isEpochMs(time) ? time : undefined;
}
