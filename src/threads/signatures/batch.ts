// Batch of Ed25519 verifications: three arrays that move between threads without copying.
import {
  type Ed25519Verifier,
  ED25519_KEY_BYTES,
  ED25519_SIGNATURE_BYTES,
} from "../../platform/ed25519.ts";

export interface SignatureTask {
  /** 32 bytes each. */
  keys: Uint8Array<ArrayBuffer>;
  /** 64 bytes each. */
  signatures: Uint8Array<ArrayBuffer>;
  /** Back to back; `ends` holds the end of each. */
  messages: Uint8Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
}

/** One byte per signature: 1 when it is valid. Malformed input is not. */
export function verifySignatureBatch(isValid: Ed25519Verifier, task: SignatureTask): Uint8Array {
  const results = new Uint8Array(task.ends.length);
  let start = 0;
  for (const [index, end] of task.ends.entries()) {
    const key = task.keys.subarray(index * ED25519_KEY_BYTES, (index + 1) * ED25519_KEY_BYTES);
    const at = index * ED25519_SIGNATURE_BYTES;
    const signature = task.signatures.subarray(at, at + ED25519_SIGNATURE_BYTES);
    results[index] = Number(isValid(key, signature, task.messages.subarray(start, end)));
    start = end;
  }
  return results;
}
