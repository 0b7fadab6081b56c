// Nonces for proofs of possession: each good once, for one agent and tenant, for a few minutes.
// Bounded: at the limit the oldest lapse, and their owners request new ones.

const NONCE_BYTES = 24;
const OUTSTANDING_MAX = 10_000;
export const NONCE_TTL_MS = 5 * 60_000;

interface Issued {
  scope: string;
  expiresAtMs: number;
}

export class Nonces {
  readonly #fillRandom: (bytes: Uint8Array) => void;
  /** In order of issue. */
  readonly #issued = new Map<string, Issued>();

  constructor(fillRandom: (bytes: Uint8Array) => void) {
    this.#fillRandom = fillRandom;
  }

  issue(agent: string, tenant: string, nowMs: number): { nonce: string; expiresAtMs: number } {
    const bytes = Buffer.alloc(NONCE_BYTES);
    this.#fillRandom(bytes);
    const nonce = bytes.toString("base64url");
    const expiresAtMs = nowMs + NONCE_TTL_MS;
    for (const [oldest, { expiresAtMs: end }] of this.#issued) {
      if (end > nowMs && this.#issued.size < OUTSTANDING_MAX) break;
      this.#issued.delete(oldest);
    }
    this.#issued.set(nonce, { scope: `${tenant}\n${agent}`, expiresAtMs });
    return { nonce, expiresAtMs };
  }

  /** Consumes a nonce. @returns whether it was valid for this agent and tenant now. */
  take(nonce: string, agent: string, tenant: string, nowMs: number): boolean {
    const issued = this.#issued.get(nonce);
    if (issued?.scope !== `${tenant}\n${agent}`) return false;
    this.#issued.delete(nonce);
    return issued.expiresAtMs > nowMs;
  }
}
