// The detached JWS of `X-JWS-Signature` (RFC 7515 appendix F, RFC 7797 `b64:false`) and the compact
// JWS of an attestation and of a proof of possession of a key. Form only: one way to write each thing, a fixed set of
// members; whose key it is and whether the signature holds is decided elsewhere.
import { ServiceFault } from "./faults.ts";
import { isObject } from "./parse/json-object.ts";
import { ATTESTATION_LENGTH_MAX, AUDIENCE_LENGTH_MAX, SIGNATURE_LENGTH_MAX } from "./limits.ts";
import { parseJson } from "./parse/json.ts";

/** What a reporter signed, as far as the header tells. Times are epoch ms. */
export interface DetachedJws {
  /** The protected header exactly as received: what is signed begins with it. */
  readonly protectedText: string;
  /** 64 bytes. */
  readonly signature: Buffer;
  readonly kid: string;
  readonly audience: string;
  readonly issuedAtMs: number;
  /** Lower-case UUIDv7. */
  readonly jti: string;
  /** The time inside the jti. */
  readonly jtiMs: number;
}

export interface CompactJws {
  /** `<header>.<payload>`, the bytes that are signed. */
  readonly signingInput: string;
  readonly signature: Buffer;
  readonly kid: string;
  readonly audience: string;
  readonly payload: Buffer;
}

/** A transaction, signed by another party than the reporter. */
export interface AttestationJws extends CompactJws {
  /** Epoch ms. */
  readonly issuedAtMs: number;
}

/** RFC 9864 deprecates the second; libraries still write it. */
const ALGORITHMS: ReadonlySet<unknown> = new Set(["Ed25519", "EdDSA"]);
const OUTCOME_MEMBERS = ["alg", "aud", "b64", "crit", "iat", "jti", "kid", "typ"];
const PROOF_MEMBERS = ["alg", "aud", "kid", "typ"];
const ATTESTATION_MEMBERS = ["alg", "aud", "iat", "kid", "typ"];
const BASE64URL_PATTERN = /^[A-Za-z0-9_-]+$/;
const THUMBPRINT_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const UUID_V7_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SIGNATURE_BYTES = 64;
/** 32-bit seconds hold every time that can be meant until 2106. */
const SECONDS_MAX = 0xffff_ffff;

/** Throws ServiceFault `signature_malformed`, saying what is wrong. Quotes nothing it was given. */
export function parseDetachedJws(value: string): DetachedJws {
  if (value.length > SIGNATURE_LENGTH_MAX) {
    throw createMalformedSignatureFault(
      `the header is longer than ${SIGNATURE_LENGTH_MAX} characters`,
    );
  }
  const [protectedText = "", payload, signature = "", ...rest] = value.split(".");
  if (payload !== "" || rest.length > 0)
    throw createMalformedSignatureFault("it must be `<header>..<signature>`");
  return parseKnownHeader(protectedText, signature) ?? parseNewHeader(protectedText, signature);
}

/** What stays the same in the headers of one signer, and where the two values are that do not. */
interface HeaderShape {
  readonly kid: string;
  readonly audience: string;
}

/** Headers that were sound, without their `iat` and `jti`: a signer writes thousands alike. */
const KNOWN_HEADER_SHAPES = new Map<string, HeaderShape>();
const KNOWN_HEADER_SHAPES_MAX = 1024;
const IAT_PATTERN = /"iat":(0|[1-9][0-9]{0,9})(?=[,}])/;
const JTI_PATTERN = /"jti":"([0-9a-f-]{36})"/;

/**
 * A header that differs from a sound one only in two values of their own form: what a whole parse
 * would find is known but for these. Undefined for any other.
 */
function parseKnownHeader(protectedText: string, signature: string): DetachedJws | undefined {
  const text = decodeBase64url(protectedText, "the protected header").toString("latin1");
  const shape = KNOWN_HEADER_SHAPES.get(normalizeHeaderShape(text) ?? "");
  const issuedAt = Number(IAT_PATTERN.exec(text)?.[1]);
  const jti = JTI_PATTERN.exec(text)?.[1] ?? "";
  if (shape === undefined || issuedAt > SECONDS_MAX || !UUID_V7_PATTERN.test(jti)) return undefined;
  const { kid, audience } = shape;
  return {
    protectedText,
    signature: decodeSignature(signature),
    kid,
    audience,
    issuedAtMs: issuedAt * 1000,
    jti,
    jtiMs: readUuidTimeMs(jti),
  };
}

/**
 * The header without the two values. In a text without a backslash a quoted name before a colon is
 * a member's, never part of a string; in a flat object it is there once.
 */
function normalizeHeaderShape(text: string): string | undefined {
  if (text.includes("\\") || !IAT_PATTERN.test(text) || !JTI_PATTERN.test(text)) return undefined;
  return text.replace(IAT_PATTERN, '"iat":').replace(JTI_PATTERN, '"jti":');
}

function parseNewHeader(protectedText: string, signature: string): DetachedJws {
  const header = parseProtectedHeader(protectedText, OUTCOME_MEMBERS);
  const { typ, b64, crit, iat, jti } = header;
  if (!(Array.isArray(crit) && crit.length === 1 && crit[0] === "b64")) {
    throw createMalformedSignatureFault('`crit` must be `["b64"]`');
  }
  if (b64 !== false) throw createMalformedSignatureFault("`b64` must be `false`");
  if (typ !== "outcome+jws") throw createMalformedSignatureFault("`typ` must be `outcome+jws`");
  if (typeof jti !== "string" || !UUID_V7_PATTERN.test(jti)) {
    throw createMalformedSignatureFault("`jti` must be a lower-case UUIDv7");
  }
  const jws = {
    protectedText,
    signature: decodeSignature(signature),
    kid: header["kid"] as string,
    audience: header["aud"] as string,
    issuedAtMs: parseIssuedAtMs(iat),
    jti,
    jtiMs: readUuidTimeMs(jti),
  };
  const shape = normalizeHeaderShape(Buffer.from(protectedText, "base64url").toString("latin1"));
  if (shape !== undefined) {
    if (KNOWN_HEADER_SHAPES.size >= KNOWN_HEADER_SHAPES_MAX) KNOWN_HEADER_SHAPES.clear();
    KNOWN_HEADER_SHAPES.set(shape, { kid: jws.kid, audience: jws.audience });
  }
  return jws;
}

/** The time inside a UUIDv7, epoch ms. */
function readUuidTimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** @throws ServiceFault `signature_malformed` when `iat` is not whole seconds of 32 bits. */
function parseIssuedAtMs(iat: unknown): number {
  if (!Number.isInteger(iat) || (iat as number) < 0 || (iat as number) > SECONDS_MAX) {
    throw createMalformedSignatureFault("`iat` must be whole seconds since 1970");
  }
  return (iat as number) * 1000;
}

/** Throws ServiceFault `key_proof_invalid` for anything that is not such a proof. */
export function parseKeyProof(value: string): CompactJws {
  const form = { typ: "key-proof+jws", members: PROOF_MEMBERS, lengthMax: SIGNATURE_LENGTH_MAX };
  try {
    return parseCompactJws(value, form).jws;
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    throw new ServiceFault("key_proof_invalid", thrown.detail);
  }
}

/** Throws ServiceFault `signature_malformed` for anything that is no attestation by its form. */
export function parseAttestation(value: string): AttestationJws {
  const [typ, members] = ["transaction+jws", ATTESTATION_MEMBERS];
  const { jws, header } = parseCompactJws(value, {
    typ,
    members,
    lengthMax: ATTESTATION_LENGTH_MAX,
  });
  return { ...jws, issuedAtMs: parseIssuedAtMs(header["iat"]) };
}

interface CompactForm {
  readonly typ: string;
  readonly members: readonly string[];
  readonly lengthMax: number;
}

function parseCompactJws(
  value: string,
  { typ, members, lengthMax }: CompactForm,
): { jws: CompactJws; header: Record<string, unknown> } {
  const [protectedText = "", payload = "", signature = "", ...rest] = value.split(".");
  if (value.length > lengthMax || rest.length > 0) {
    throw createMalformedSignatureFault("it must be `<header>.<payload>.<signature>`");
  }
  const header = parseProtectedHeader(protectedText, members);
  if (header["typ"] !== typ) throw createMalformedSignatureFault(`\`typ\` must be \`${typ}\``);
  const jws = {
    signingInput: `${protectedText}.${payload}`,
    signature: decodeSignature(signature),
    kid: header["kid"] as string,
    audience: header["aud"] as string,
    payload: decodeBase64url(payload, "the payload"),
  };
  return { jws, header };
}

/** The header's members: exactly `members`, `alg`, `kid` and `aud` of their form. */
function parseProtectedHeader(text: string, members: readonly string[]): Record<string, unknown> {
  const header = parseHeaderObject(decodeBase64url(text, "the protected header"));
  const names = Object.keys(header).toSorted();
  if (names.length !== members.length || names.some((name, at) => name !== members[at])) {
    throw createMalformedSignatureFault(
      `the protected header must hold exactly \`${members.join("`, `")}\``,
    );
  }
  const { alg, kid, aud } = header;
  if (!ALGORITHMS.has(alg)) throw createMalformedSignatureFault("`alg` must be `Ed25519`");
  if (typeof kid !== "string" || !THUMBPRINT_PATTERN.test(kid)) {
    throw createMalformedSignatureFault("`kid` must be an RFC 7638 thumbprint");
  }
  if (typeof aud !== "string" || aud === "" || aud.length > AUDIENCE_LENGTH_MAX) {
    throw createMalformedSignatureFault(`\`aud\` must be 1 to ${AUDIENCE_LENGTH_MAX} characters`);
  }
  return header;
}

function parseHeaderObject(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    throw createMalformedSignatureFault("the protected header is not strict JSON");
  }
  if (!isObject(value))
    throw createMalformedSignatureFault("the protected header is not a JSON object");
  return value;
}

function decodeSignature(text: string): Buffer {
  const bytes = decodeBase64url(text, "the signature");
  if (bytes.byteLength !== SIGNATURE_BYTES)
    throw createMalformedSignatureFault("the signature must be 64 bytes");
  return bytes;
}

/** Base64url without padding, and only the one text that encodes these bytes. */
function decodeBase64url(text: string, what: string): Buffer {
  const bytes = BASE64URL_PATTERN.test(text) ? Buffer.from(text, "base64url") : undefined;
  if (bytes === undefined || bytes.toString("base64url") !== text) {
    throw createMalformedSignatureFault(`${what} is not base64url`);
  }
  return bytes;
}

function createMalformedSignatureFault(detail: string): ServiceFault {
  return new ServiceFault("signature_malformed", detail);
}
