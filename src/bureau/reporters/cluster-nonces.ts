// Nonces for proofs of possession in a cluster: any node takes what any other has issued, without asking
// it. A nonce carries its end and a proof of origin; that it was used is told by the key that it made.
import { createHmac, timingSafeEqual } from "node:crypto";
import { NONCE_TTL_MS } from "./nonces.ts";

const RANDOM_BYTES = 18;
const MAC_BYTES = 24;
/** Nonces taken here that have not expired; beyond these none is taken until some have. */
const USED_NONCES_MAX = 50_000;
const NONCE_PATTERN = /^([0-9a-z]{1,11})\.([\w-]{24})\.([\w-]{32})$/;

export class ClusterNonces {
  readonly #secret: Uint8Array;
  readonly #fillRandom: (bytes: Uint8Array) => void;
  /** Whether a key was registered by a nonce, on whichever node. */
  readonly #isUsedOnAnyNode: (nonce: string) => boolean;
  /** By nonce, when it expires; in order of use. */
  readonly #usedNonces = new Map<string, number>();

  /** `secret`: the same on all nodes, and nobody else's. */
  constructor(
    secret: Uint8Array,
    fillRandom: (bytes: Uint8Array) => void,
    isSpent: (nonce: string) => boolean,
  ) {
    this.#secret = secret;
    this.#fillRandom = fillRandom;
    this.#isUsedOnAnyNode = isSpent;
  }

  /** None is kept, so none lapses. */
  gauges(): { nonces_outstanding: number; nonces_lapsed_total: number } {
    return { nonces_outstanding: 0, nonces_lapsed_total: 0 };
  }

  issue(agent: string, tenant: string, nowMs: number): { nonce: string; expiresAtMs: number } {
    const bytes = Buffer.alloc(RANDOM_BYTES);
    this.#fillRandom(bytes);
    const random = bytes.toString("base64url");
    const expiresAtMs = Math.floor(nowMs) + NONCE_TTL_MS;
    const mac = this.#computeMac(agent, tenant, expiresAtMs, random).toString("base64url");
    return { nonce: `${expiresAtMs.toString(36)}.${random}.${mac}`, expiresAtMs };
  }

  /** Consumes a nonce. @returns whether it was valid for this agent and tenant now. */
  consume(nonce: string, agent: string, tenant: string, nowMs: number): boolean {
    const [, end, random, mac] = NONCE_PATTERN.exec(nonce) ?? [];
    if (end === undefined || random === undefined || mac === undefined) return false;
    const expiresAtMs = Number.parseInt(end, 36);
    const expected = this.#computeMac(agent, tenant, expiresAtMs, random);
    if (!timingSafeEqual(expected, Buffer.from(mac, "base64url"))) return false;
    if (expiresAtMs <= nowMs || this.#usedNonces.has(nonce) || this.#isUsedOnAnyNode(nonce))
      return false;
    if (this.#usedNonces.size >= USED_NONCES_MAX) this.#dropExpired(nowMs);
    if (this.#usedNonces.size >= USED_NONCES_MAX) return false;
    this.#usedNonces.set(nonce, expiresAtMs);
    return true;
  }

  #dropExpired(nowMs: number): void {
    for (const [nonce, expiresAtMs] of this.#usedNonces) {
      if (expiresAtMs <= nowMs) this.#usedNonces.delete(nonce);
    }
  }

  #computeMac(agent: string, tenant: string, expiresAtMs: number, random: string): Buffer {
    const text = JSON.stringify([agent, tenant, expiresAtMs, random]);
    return createHmac("sha256", this.#secret).update(text).digest().subarray(0, MAC_BYTES);
  }
}
