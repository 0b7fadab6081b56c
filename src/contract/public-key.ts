// Acceptance rules for reporters' Ed25519 public keys, and the name a key goes by. Refuses keys that
// make a signature prove nothing: points of small order (any message verifies) and second spellings.
import { hash } from "node:crypto";
import { ServiceFault } from "./faults.ts";
import { isObject } from "./parse/json-object.ts";

/** A key that passed, raw and by its RFC 7638 thumbprint. */
export interface PublicKey {
  /** 32 bytes. */
  readonly raw: Buffer;
  /** The `x` member: base64url of `raw`. */
  readonly x: string;
  readonly kid: string;
}

const KEY_BYTES = 32;
const SIGN_BIT = 0x80;
/** 2^255 - 19, little-endian. */
const PRIME = Buffer.from(`ed${"ff".repeat(30)}7f`, "hex");
/**
 * The y of the eight points of small order (RFC 7748 §7 family, as libsodium lists them), the sign
 * bit cleared: orders 4, 1, 8, 8, 2. With either sign they are refused.
 */
const SMALL_ORDER_POINTS: ReadonlySet<string> = new Set([
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  `ec${"ff".repeat(30)}7f`,
]);

/** The key of a JWK. Throws ServiceFault `key_weak`; a private key is refused, never kept. */
export function parsePublicKey(jwk: unknown): PublicKey {
  if (!isObject(jwk)) throw createWeakKeyFault("`jwk` must be an object");
  if ("d" in jwk)
    throw createWeakKeyFault("`jwk` holds a private key: it is compromised now, make another");
  const { kty, crv, x } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519")
    throw createWeakKeyFault("`jwk` must be an Ed25519 key (`OKP`)");
  const raw = typeof x === "string" ? Buffer.from(x, "base64url") : undefined;
  if (raw === undefined || raw.byteLength !== KEY_BYTES || raw.toString("base64url") !== x) {
    throw createWeakKeyFault("`jwk.x` must be 32 bytes as base64url without padding");
  }
  const y = Buffer.from(raw);
  y[KEY_BYTES - 1] = (y[KEY_BYTES - 1] as number) & ~SIGN_BIT;
  if (!isBelowPrime(y)) throw createWeakKeyFault("`jwk.x` is not a canonical encoding");
  if (SMALL_ORDER_POINTS.has(y.toString("hex")))
    throw createWeakKeyFault("`jwk.x` is a point of small order");
  return { raw, x, kid: computeKeyThumbprint(x) };
}

/** RFC 7638 §3.2: the required members alone, in order, without white space. */
export function computeKeyThumbprint(x: string): string {
  return hash("sha256", `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, "base64url");
}

function isBelowPrime(y: Buffer): boolean {
  for (let index = KEY_BYTES - 1; index >= 0; index -= 1) {
    const difference = (y[index] as number) - (PRIME[index] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function createWeakKeyFault(detail: string): ServiceFault {
  return new ServiceFault("key_weak", detail);
}
