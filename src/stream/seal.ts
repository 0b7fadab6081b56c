// Seals of the cluster's log: HMAC-SHA-256 by a key that every node derives from the bureau key, so that a holder of
// the log's credentials alone can append nothing that counts.
import { createHmac, hash, hkdfSync, timingSafeEqual } from "node:crypto";
import type { OutgoingMessage } from "../ledger/ordered/message.ts";

/** Secret of a cluster, and the public key of its bureau. */
export interface ClusterSecret {
  /** Derived from the bureau key; at least 32 bytes. */
  readonly secret: Uint8Array;
  /** In hex. */
  readonly key: string;
}

const KEY_BYTES = 32;

/** Seals of one generation of one cluster's log. */
export class LogSeals {
  readonly #key: Buffer;

  /** The secret's seals of another cluster or generation are not valid here. */
  constructor({ secret }: ClusterSecret, cluster: string, generation: number) {
    const info = JSON.stringify(["trustrank log seal", cluster, generation]);
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", info, KEY_BYTES));
  }

  /** Seal of a message on that subject, in hex. */
  computeMessageSeal(subject: string, message: OutgoingMessage): string {
    return this.#compute(subject, message).toString("hex");
  }

  /** Whether `seal`, as it came in a header, is that of the message on that subject. */
  isMessageSealed(subject: string, message: OutgoingMessage, seal: string): boolean {
    const found = Buffer.from(seal, "hex");
    return (
      found.byteLength === KEY_BYTES && timingSafeEqual(found, this.#compute(subject, message))
    );
  }

  #compute(subject: string, message: OutgoingMessage): Buffer {
    const { origin, n, count, rules, after, frames } = message;
    const digest = hash("sha256", frames, "hex");
    const content = JSON.stringify(["message", subject, origin, n, count, rules, after, digest]);
    return createHmac("sha256", this.#key).update(content).digest();
  }
}
