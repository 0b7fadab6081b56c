// Nonces for proofs of possession: each good once, for one agent and tenant, for a few minutes.
// Bounded by tenant, so that none lapses another's, and in all: at a limit the oldest lapse, and their
// owners request new ones.

const NONCE_BYTES = 24;
/** Nonces of one tenant, and of all; over these the tenant with the most gives way. */
export const NONCES_PER_TENANT_MAX = 1000;
const NONCES_MAX = 50_000;
export const NONCE_TTL_MS = 5 * 60_000;

interface IssuedNonce {
  agent: string;
  expiresAtMs: number;
}

export class NonceStore {
  readonly #fillRandom: (bytes: Uint8Array) => void;
  /** By tenant, each in order of issue. */
  readonly #issued = new Map<string, Map<string, IssuedNonce>>();
  #count = 0;
  #evictedCount = 0;

  constructor(fillRandom: (bytes: Uint8Array) => void) {
    this.#fillRandom = fillRandom;
  }

  /** Nonces that may still be used, and those that lapsed for want of room. */
  gauges(): { nonces_outstanding: number; nonces_lapsed_total: number } {
    return { nonces_outstanding: this.#count, nonces_lapsed_total: this.#evictedCount };
  }

  issue(agent: string, tenant: string, nowMs: number): { nonce: string; expiresAtMs: number } {
    const bytes = Buffer.alloc(NONCE_BYTES);
    this.#fillRandom(bytes);
    const nonce = bytes.toString("base64url");
    const expiresAtMs = nowMs + NONCE_TTL_MS;
    const own = this.#issued.get(tenant) ?? new Map<string, IssuedNonce>();
    this.#issued.set(tenant, own);
    this.#dropExpired(tenant, own, nowMs);
    if (own.size >= NONCES_PER_TENANT_MAX) this.#dropOldest(tenant, own);
    if (this.#count >= NONCES_MAX) this.#evictOne(nowMs);
    this.#issued.set(tenant, own.set(nonce, { agent, expiresAtMs }));
    this.#count++;
    return { nonce, expiresAtMs };
  }

  /** Consumes a nonce. @returns whether it was valid for this agent and tenant now. */
  consume(nonce: string, agent: string, tenant: string, nowMs: number): boolean {
    const own = this.#issued.get(tenant);
    const issued = own?.get(nonce);
    if (own === undefined || issued?.agent !== agent) return false;
    this.#drop(tenant, own, nonce);
    return issued.expiresAtMs > nowMs;
  }

  #dropExpired(tenant: string, own: Map<string, IssuedNonce>, nowMs: number): void {
    for (const [nonce, { expiresAtMs }] of own) {
      if (expiresAtMs > nowMs) return;
      this.#drop(tenant, own, nonce);
    }
  }

  /** Drops all that have expired; where none has, the oldest of the tenant with the most. */
  #evictOne(nowMs: number): void {
    for (const [tenant, own] of this.#issued) this.#dropExpired(tenant, own, nowMs);
    if (this.#count < NONCES_MAX) return;
    let most: [string, Map<string, IssuedNonce>] | undefined;
    for (const entry of this.#issued) if (entry[1].size > (most?.[1].size ?? 0)) most = entry;
    if (most !== undefined) this.#dropOldest(...most);
  }

  #dropOldest(tenant: string, own: Map<string, IssuedNonce>): void {
    this.#evictedCount++;
    for (const nonce of own.keys()) {
      this.#drop(tenant, own, nonce);
      return;
    }
  }

  #drop(tenant: string, own: Map<string, IssuedNonce>, nonce: string): void {
    if (own.delete(nonce)) this.#count--;
    if (own.size === 0) this.#issued.delete(tenant);
  }
}
