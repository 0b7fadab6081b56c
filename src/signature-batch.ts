// Many Ed25519 verifications as one task: three arrays that move between threads without copying.
// Plain `crypto.verify` only: its callback form would share libuv's four threads with every sync of
// the journal's neighbours.
import { createPublicKey, type KeyObject, verify } from "node:crypto";

export interface SignatureTask {
  /** 32 bytes each. */
  keys: Uint8Array<ArrayBuffer>;
  /** 64 bytes each. */
  signatures: Uint8Array<ArrayBuffer>;
  /** Back to back; `ends` says where each ends. */
  messages: Uint8Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
}

export const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;
/** Keys remembered as objects: making one costs about as much as a verification. */
const KEYS_MAX = 10_000;
/** DER prefix of an Ed25519 SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** Verifies tasks; one per thread. */
export class BatchVerifier {
  readonly #keys = new Map<string, KeyObject>();

  /** One byte per signature: 1 when it is valid. Anything malformed is not. */
  verify(task: SignatureTask): Uint8Array {
    const results = new Uint8Array(task.ends.length);
    let start = 0;
    for (const [index, end] of task.ends.entries()) {
      const key = task.keys.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES);
      const at = index * SIGNATURE_BYTES;
      const signature = task.signatures.subarray(at, at + SIGNATURE_BYTES);
      const isValid = this.isValid(key, task.messages.subarray(start, end), signature);
      results[index] = isValid ? 1 : 0;
      start = end;
    }
    return results;
  }

  /** `key` is 32 bytes, `signature` 64; anything malformed is not valid. */
  isValid(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
    try {
      return verify(null, message, this.#keyObject(key), signature);
    } catch {
      return false;
    }
  }

  #keyObject(raw: Uint8Array): KeyObject {
    const name = Buffer.from(raw).toString("latin1");
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const der = Buffer.concat([SPKI_PREFIX, raw]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    if (this.#keys.size >= KEYS_MAX) this.#keys.clear();
    this.#keys.set(name, key);
    return key;
  }
}
