// Outcomes excluded from the fold because the key that signed them was revoked as compromised. A
// rule over the whole log, in order or not: an outcome is excluded when its key's revocation stands
// anywhere in the journal and it was recorded at or after the time the revocation names.
import { outcomeProofBytes, outcomeRecordedAtMs } from "./outcome.ts";
import { proofKid } from "./proof.ts";

interface KeyEvent {
  event?: unknown;
  kid?: unknown;
  compromised_since_ms?: unknown;
}

export class Exclusions {
  /** kid -> epoch ms from which its outcomes do not count. */
  readonly #since = new Map<string, number>();

  /**
   * Folds an event of the reporters' registry (a record of kind `key`).
   * @returns whether outcomes that counted before may not count any more.
   */
  apply(payload: Buffer): boolean {
    const { event, kid, compromised_since_ms: since } = JSON.parse(payload.toString()) as KeyEvent;
    if (event !== "revoked" || typeof kid !== "string" || typeof since !== "number") return false;
    const known = this.#since.get(kid);
    if (known !== undefined && known <= since) return false;
    this.#since.set(kid, since);
    return true;
  }

  /** Whether the outcome frame at `at` is excluded, as far as revocations are known by now. */
  excludes(bytes: Buffer, at: number): boolean {
    if (this.#since.size === 0) return false;
    const proof = outcomeProofBytes(bytes, at);
    if (proof === undefined) return false;
    const since = this.#since.get(proofKid(proof));
    return since !== undefined && outcomeRecordedAtMs(bytes, at) >= since;
  }
}
