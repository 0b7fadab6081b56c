// Outcomes excluded from the fold because the key that signed them was revoked as compromised. A
// rule over the whole log, in order or not: an outcome is excluded when its key's revocation stands
// anywhere in the journal and it was recorded at or after the time the revocation names.
import { readOutcomeProofBytes, readOutcomeRecordedAtMs } from "./outcome.ts";
import { readProofKid } from "./proof.ts";

interface RevocationEvent {
  event?: unknown;
  kid?: unknown;
  compromised_since_ms?: unknown;
}

export class OutcomeExclusions {
  /** kid -> epoch ms from which its outcomes do not count. */
  readonly #sinceMsByKid = new Map<string, number>();

  /**
   * Folds an event of the reporters' registry (a record of kind `key`).
   * @returns whether outcomes that counted before may not count any more.
   */
  applyKeyEvent(payload: Buffer): boolean {
    const {
      event,
      kid,
      compromised_since_ms: since,
    } = JSON.parse(payload.toString()) as RevocationEvent;
    if (event !== "revoked" || typeof kid !== "string" || typeof since !== "number") return false;
    const known = this.#sinceMsByKid.get(kid);
    if (known !== undefined && known <= since) return false;
    this.#sinceMsByKid.set(kid, since);
    return true;
  }

  /** Whether the outcome frame at `at` is excluded, as far as revocations are known by now. */
  isExcluded(bytes: Buffer, at: number): boolean {
    if (this.#sinceMsByKid.size === 0) return false;
    const proof = readOutcomeProofBytes(bytes, at);
    if (proof === undefined) return false;
    const since = this.#sinceMsByKid.get(readProofKid(proof));
    return since !== undefined && readOutcomeRecordedAtMs(bytes, at) >= since;
  }
}
