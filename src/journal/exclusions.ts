// Outcomes excluded from the fold because the key that signed them was revoked as compromised, or the
// namespace in which they were signed was taken back. A rule over the whole log, in order or not: an
// outcome is excluded when such a revocation stands anywhere in the journal and the outcome was
// recorded at or after the time that it names; of a namespace, and before another grant of it.
import { extractNamespace } from "../contract/namespaces.ts";
import { readOutcomeProofBytes, readOutcomeRecordedAtMs, readOutcomeReporter } from "./outcome.ts";
import { readProofKid } from "./proof.ts";

interface RevocationEvent {
  event?: unknown;
  at_ms?: unknown;
  namespace?: unknown;
  discount_since_ms?: unknown;
  kid?: unknown;
  compromised_since_ms?: unknown;
}

/** Epoch ms: from the first to before the second. */
type TimeSpan = readonly [sinceMs: number, untilMs: number];

export class OutcomeExclusions {
  /** kid -> epoch ms from which its outcomes do not count. */
  readonly #sinceMsByKid = new Map<string, number>();
  /** namespace -> spans in which what was signed there does not count. */
  readonly #spansByNamespace = new Map<string, TimeSpan[]>();

  /**
   * Folds an event of the reporters' registry (a record of kind `key` or `namespace`).
   * @returns whether outcomes that counted before may not count any more.
   */
  applyRegistryEvent(payload: Buffer): boolean {
    const revocation = JSON.parse(payload.toString()) as RevocationEvent;
    const { event, kid, compromised_since_ms: since } = revocation;
    if (typeof revocation.namespace === "string") {
      return this.#applyNamespaceEvent(revocation.namespace, revocation);
    }
    if (event !== "revoked" || typeof kid !== "string" || typeof since !== "number") return false;
    const known = this.#sinceMsByKid.get(kid);
    if (known !== undefined && known <= since) return false;
    this.#sinceMsByKid.set(kid, since);
    return true;
  }

  #applyNamespaceEvent(namespace: string, revocation: RevocationEvent): boolean {
    const { event, at_ms: atMs, discount_since_ms: since } = revocation;
    const spans = this.#spansByNamespace.get(namespace) ?? [];
    if (event === "namespace.revoked" && typeof since === "number") {
      this.#spansByNamespace.set(namespace, [...spans, [since, Number.POSITIVE_INFINITY]]);
      return true;
    }
    if (event === "namespace.granted" && typeof atMs === "number") {
      const ended = spans.map(([from, until]): TimeSpan => [from, Math.min(until, atMs)]);
      if (spans.length > 0) this.#spansByNamespace.set(namespace, ended);
    }
    return false;
  }

  /** Whether the outcome frame at `at` is excluded, as far as revocations are known by now. */
  isExcluded(bytes: Buffer, at: number): boolean {
    if (this.#sinceMsByKid.size === 0 && this.#spansByNamespace.size === 0) return false;
    const proof = readOutcomeProofBytes(bytes, at);
    if (proof === undefined) return false;
    const recordedAtMs = readOutcomeRecordedAtMs(bytes, at);
    const since = this.#sinceMsByKid.get(readProofKid(proof));
    if (since !== undefined && recordedAtMs >= since) return true;
    if (this.#spansByNamespace.size === 0) return false;
    const spans = this.#spansByNamespace.get(extractNamespace(readOutcomeReporter(bytes, at)));
    return spans?.some(([from, until]) => recordedAtMs >= from && recordedAtMs < until) ?? false;
  }
}
