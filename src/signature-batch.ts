// Many Ed25519 verifications at once: three arrays that move between threads without copying, or
// one after the other as a batch of outcomes asks for them. Plain `crypto.verify`: its callback
// form would share libuv's four threads with every sync of the journal's neighbours.
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

/** Verifies; one per thread. */
export class BatchVerifier {
  readonly #keys = new Map<string, KeyObject | undefined>();

  /** One byte per signature: 1 when it is valid. Anything malformed is not. */
  verify(task: SignatureTask): Uint8Array {
    const results = new Uint8Array(task.ends.length);
    let start = 0;
    for (const [index, end] of task.ends.entries()) {
      const key = task.keys.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES);
      const at = index * SIGNATURE_BYTES;
      const signature = task.signatures.subarray(at, at + SIGNATURE_BYTES);
      results[index] = Number(this.isValid(key, signature, task.messages.subarray(start, end)));
      start = end;
    }
    return results;
  }

  /** Whether `signature` is this key's over `message`. */
  isValid(key: Uint8Array, signature: Uint8Array, message: Uint8Array): boolean {
    const object = this.#objectOf(key);
    return object !== undefined && verify(null, message, object, signature);
  }

  #objectOf(key: Uint8Array): KeyObject | undefined {
    const name = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
    const known = this.#keys.get(name);
    if (known !== undefined || this.#keys.has(name)) return known;
    const made = keyObject(Buffer.concat([SPKI_PREFIX, key]));
    if (this.#keys.size >= KEYS_MAX) this.#keys.clear();
    this.#keys.set(name, made);
    return made;
  }
}

function keyObject(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}
