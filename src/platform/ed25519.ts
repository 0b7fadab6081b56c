// Ed25519 verification for the pool threads: libsodium where it has a binary for this machine (half
// the time of OpenSSL, bench/RESULTS.md), else OpenSSL. No arithmetic of our own decides what is
// evidence; `doctor` verifies the journal's signatures again with OpenSSL.
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { createRequire } from "node:module";

export const ED25519_KEY_BYTES = 32;
export const ED25519_SIGNATURE_BYTES = 64;

/**
 * Whether `signature` is this raw key's over `message`; false for malformed input, never throws.
 */
export type Ed25519Verifier = (
  key: Uint8Array,
  signature: Uint8Array,
  message: Uint8Array,
) => boolean;

interface Sodium {
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean;
}

const require = createRequire(import.meta.url);

/** Keys remembered as objects: making one costs about as much as a verification. */
const KEYS_MAX = 10_000;
/** DER prefix of an Ed25519 SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** Opens libsodium's verifier where it can be loaded, else OpenSSL's; one per thread. */
export function openEd25519(): Ed25519Verifier {
  return openSodium() ?? openOpenssl();
}

/** Undefined where no binary fits (musl, say): the package brings its own, none is fetched. */
export function openSodium(): Ed25519Verifier | undefined {
  let sodium: Sodium;
  try {
    sodium = require("sodium-native") as Sodium;
  } catch {
    return undefined;
  }
  return (key, signature, message) =>
    key.byteLength === ED25519_KEY_BYTES &&
    signature.byteLength === ED25519_SIGNATURE_BYTES &&
    sodium.crypto_sign_verify_detached(signature, message, key);
}

/** Plain `crypto.verify`: its callback form shares libuv's threads with the journal's syncs. */
export function openOpenssl(): Ed25519Verifier {
  const keys = new Map<string, KeyObject | undefined>();
  const findKeyObject = (key: Uint8Array): KeyObject | undefined => {
    const name = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
    const known = keys.get(name);
    if (known !== undefined || keys.has(name)) return known;
    const made = createPublicKeyOrUndefined(Buffer.concat([SPKI_PREFIX, key]));
    if (keys.size >= KEYS_MAX) keys.clear();
    keys.set(name, made);
    return made;
  };
  return (key, signature, message) => {
    const object = key.byteLength === ED25519_KEY_BYTES ? findKeyObject(key) : undefined;
    return object !== undefined && verify(null, message, object, signature);
  };
}

function createPublicKeyOrUndefined(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}
