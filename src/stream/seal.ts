// Seals of a cluster's log and of what stands beside it: HMAC-SHA-256 by a key that every node derives from the bureau
// key, so that a holder of the log's credentials alone can write nothing that counts.
import { createHmac, hash, hkdfSync, timingSafeEqual } from "node:crypto";
import { FIRST_RULES, type OutgoingMessage } from "../ledger/ordered/message.ts";

/** Secret of a cluster, and the public key of its bureau. */
export interface ClusterSecret {
  /** Derived from the bureau key; at least 32 bytes. */
  readonly secret: Uint8Array;
  /** In hex. */
  readonly key: string;
}

/** What a seal covers, beginning with its kind: no seal of one kind is valid for another. */
export type SealedContent = readonly [kind: string, ...parts: (string | number)[]];

const KEY_BYTES = 32;
/** In place of a generation: what a register or the stream of decisions holds outlives the generations of the log. */
const ALL_GENERATIONS = 0;

/** Seals of one generation of one cluster's log. */
export class LogSeals {
  readonly #key: Buffer;

  /** The secret's seals of another cluster or generation are not valid here. Generation left out: for all of them. */
  constructor({ secret }: ClusterSecret, cluster: string, generation = ALL_GENERATIONS) {
    const info = JSON.stringify(["trustrank log seal", cluster, generation]);
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", info, KEY_BYTES));
  }

  /** Seal of a message on that subject, in hex. */
  computeMessageSeal(subject: string, message: OutgoingMessage): string {
    return this.computeSeal(buildMessageContent(subject, message));
  }

  /** Whether `seal`, as it came in a header, is that of the message on that subject. */
  isMessageSealed(subject: string, message: OutgoingMessage, seal: string): boolean {
    return this.isSealed(buildMessageContent(subject, message), seal);
  }

  /** In hex. */
  computeSeal(content: SealedContent): string {
    return this.#compute(content).toString("hex");
  }

  /** Whether `seal`, as it was received, is that of the content. */
  isSealed(content: SealedContent, seal: string): boolean {
    const found = Buffer.from(seal, "hex");
    return found.byteLength === KEY_BYTES && timingSafeEqual(found, this.#compute(content));
  }

  #compute(content: SealedContent): Buffer {
    return createHmac("sha256", this.#key).update(JSON.stringify(content)).digest();
  }
}

function buildMessageContent(subject: string, message: OutgoingMessage): SealedContent {
  const { origin, n, count, rules = FIRST_RULES, after = 0, frames } = message;
  return ["message", subject, origin, n, count, rules, after, digest(frames)];
}

/** SHA-256 of bytes or a text, in hex: what a seal covers in their place. */
export function digest(content: Uint8Array | string): string {
  return hash("sha256", content, "hex");
}
