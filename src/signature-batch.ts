// Many Ed25519 verifications at once: three arrays that move between threads without copying, or
// whatever one batch of outcomes asks for. Plain `crypto.verify` for keys seen now and then (its
// callback form would share libuv's four threads with every sync of the journal's neighbours), the
// tables of signature-curve.ts for keys that sign by the dozen.
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { Curve, type SignedMessage } from "./signature-curve.ts";

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
/** Keys with tables: 10 MiB a thread. */
const TABLES_MAX = 64;
/** Signatures of a key before it gets a table, which costs some twenty verifications. */
const TABLE_FROM = 64;
/** DER prefix of an Ed25519 SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

interface Known {
  readonly object: KeyObject | undefined;
  /** Signatures seen without a table. */
  seen: number;
}

/** Verifies; one per thread. */
export class BatchVerifier {
  readonly #keys = new Map<string, Known>();
  readonly #tablesMax: number;
  #curve: Curve | undefined;
  /** What `verifyLater` has gathered, and the answers to come. */
  readonly #waiting: SignedMessage[] = [];
  #answers: Promise<boolean[]> | undefined;

  constructor(tablesMax = TABLES_MAX) {
    this.#tablesMax = tablesMax;
  }

  /** One byte per signature: 1 when it is valid. Anything malformed is not. */
  verify(task: SignatureTask): Uint8Array {
    const signed: SignedMessage[] = [];
    let start = 0;
    for (const [index, end] of task.ends.entries()) {
      const at = index * SIGNATURE_BYTES;
      signed.push({
        key: task.keys.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES),
        message: task.messages.subarray(start, end),
        signature: task.signatures.subarray(at, at + SIGNATURE_BYTES),
      });
      start = end;
    }
    return Uint8Array.from(this.verifyAll(signed), Number);
  }

  /** Gathers what is asked for before the next microtask into one batch. */
  verifyLater(key: Uint8Array, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
    const place = this.#waiting.push({ key, signature, message }) - 1;
    this.#answers ??= Promise.resolve().then(() => {
      this.#answers = undefined;
      return this.verifyAll(this.#waiting.splice(0));
    });
    return this.#answers.then((answers) => answers[place]!);
  }

  /** Whether each signature is valid. */
  verifyAll(signed: readonly SignedMessage[]): boolean[] {
    const answers: boolean[] = Array.from({ length: signed.length }, () => false);
    const places: number[] = [];
    const names: string[] = [];
    const all = signed.map(({ key }) => Buffer.from(key).toString("latin1"));
    // Tables first: one that is made may take the place of another that was about to be used.
    for (const name of all) this.#earnTable(name);
    for (const [index, name] of all.entries()) {
      if (this.#curve?.knows(name) === true) {
        places.push(index);
        names.push(name);
      } else answers[index] = this.#isValid(name, signed[index]!);
    }
    if (this.#curve === undefined || places.length === 0) return answers;
    const proved = this.#curve.verify(
      places.map((index) => signed[index]!),
      names,
    );
    for (const [at, index] of places.entries()) {
      // A refusal is OpenSSL's word: whatever went wrong with a table, nobody is refused by it.
      answers[index] = proved[at]! || this.#isValid(names[at]!, signed[index]!);
    }
    return answers;
  }

  #earnTable(name: string): void {
    if (this.#curve?.knows(name) === true) return;
    const known = this.#known(name);
    known.seen += 1;
    if (known.seen < TABLE_FROM || known.object === undefined) return;
    // Whoever loses its table to another earns the next one anew: with more signers than tables
    // they must not be made over and over.
    known.seen = 0;
    this.#curve ??= new Curve(this.#tablesMax);
    this.#curve.learn(name);
  }

  #isValid(name: string, { message, signature }: SignedMessage): boolean {
    const { object } = this.#known(name);
    return object !== undefined && verify(null, message, object, signature);
  }

  #known(name: string): Known {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const der = Buffer.concat([SPKI_PREFIX, Buffer.from(name, "latin1")]);
    const made: Known = { object: keyObject(der), seen: 0 };
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
