// One request body with its `X-JWS-Signature` (evidence 1.2): the checks in their order,
// cheap ones first, the signature itself last. Each refusal has a code of its own. What the replay
// guard knows of the signed id is asked behind all of them, in the ledger: only who proved that the
// reporter signed is told of an earlier receipt or puts a contradiction on record.
import { ServiceFault } from "../../contract/faults.ts";
import { type DetachedJws, parseDetachedJws } from "../../contract/jws.ts";
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import { bodyDigest, type SignedId, type SignedRecords } from "../../contract/signed-records.ts";
import type { EventLog } from "../../ledger/ledger.ts";
import { type KeyRegistry, keyStateAt, type ReporterKey } from "./key-registry.ts";
import type { SignatureVerifier } from "./reporters.ts";

/** What signatures are judged by. */
export interface SigningRules {
  /** What signatures must name as `aud`. */
  readonly serviceId: string;
  readonly registry: Pick<KeyRegistry, "find">;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Signed ids recorded since (epoch ms) are all known to the ledger; defaults to all. */
  readonly rememberedSinceMs?: (() => number) | undefined;
  readonly verify: SignatureVerifier;
  /**
   * What is on record under a signed id, everything counted that was acknowledged before the call.
   * Left out, what is older than the ledger knows is refused.
   */
  readonly findSigned?: ((id: SignedId) => Promise<SignedRecords>) | undefined;
  readonly events?: Pick<EventLog, "appendAudit"> | undefined;
}

export class SignedBody {
  readonly jws: DetachedJws;
  readonly body: Uint8Array;
  readonly #key: ReporterKey;
  readonly #rules: SigningRules;

  /**
   * Throws ServiceFault `signature_malformed`, `signature_audience`, `signature_key_unknown`,
   * `signature_key_revoked` or `signature_key_inactive`.
   */
  constructor(rules: SigningRules, header: string, body: Uint8Array) {
    const jws = parseDetachedJws(header);
    if (jws.audience !== rules.serviceId) {
      throw new ServiceFault("signature_audience", "`aud` is not this service");
    }
    const key = rules.registry.find(jws.kid);
    if (key === undefined) {
      throw new ServiceFault("signature_key_unknown", "no agent has registered the key `kid`");
    }
    assertInForce(key, jws.issuedAtMs, rules.clock());
    this.jws = jws;
    this.body = body;
    this.#key = key;
    this.#rules = rules;
  }

  /** Throws ServiceFault `signature_key_mismatch` when the key speaks for somebody else. */
  assertReporter(reporter: string): void {
    const fault = this.reporterFault(reporter);
    if (fault !== undefined) throw fault;
  }

  reporterFault(reporter: string): ServiceFault | undefined {
    if (reporter === this.#key.agent) return undefined;
    return new ServiceFault("signature_key_mismatch", "the key `kid` is not the reporter's");
  }

  /** Throws ServiceFault `signature_stale`. Both times are signed; the id keeps its own. */
  assertFresh(): void {
    const nowMs = this.#rules.clock();
    for (const timeMs of [this.jws.issuedAtMs, this.jws.jtiMs]) {
      if (timeMs > nowMs + OUTCOME_SKEW_MS_MAX) {
        throw new ServiceFault("signature_stale", "it was signed ahead of the clock");
      }
      if (nowMs - timeMs > OUTCOME_AGE_MS_MAX) {
        throw new ServiceFault("signature_stale", "it was signed more than 7 days ago");
      }
    }
    // What is older than the guard's memory may be a repeat, and counting it twice is worse than
    // not counting it.
    if (this.#rules.findSigned === undefined && this.mayBeForgotten) {
      throw new ServiceFault(
        "signature_stale",
        "`jti` is older than what can be told from repeats",
      );
    }
  }

  /** Whether the ledger may not know it again. Nothing is recorded before it is signed. */
  get mayBeForgotten(): boolean {
    const rememberedSinceMs = this.#rules.rememberedSinceMs?.() ?? 0;
    return this.jws.jtiMs - OUTCOME_SKEW_MS_MAX < rememberedSinceMs;
  }

  /**
   * For a signature that holds: what is on record under its id, where the ledger may have forgotten
   * it; undefined where the ledger itself knows. Rejects with ServiceFault `store_unavailable`.
   */
  async earlier(): Promise<SignedRecords | undefined> {
    const { findSigned } = this.#rules;
    return this.mayBeForgotten && findSigned !== undefined ? findSigned(this.jws) : undefined;
  }

  /** Puts on record that the signer has said two things under one id; `position` is the first's. */
  async contradiction(position: number): Promise<ServiceFault> {
    const { kid, jti } = this.jws;
    const event = { event: "signature.replayed", at_ms: this.#rules.clock(), kid, jti };
    const content = { content_sha256_16: bodyDigest(this.body) };
    await this.#rules.events?.appendAudit(Buffer.from(JSON.stringify({ ...event, ...content })));
    return new ServiceFault(
      "signature_replayed",
      `the signed id was used for the record at position ${position} with another body`,
    );
  }

  /** Rejects with ServiceFault `signature_invalid`, or `overloaded` when too many wait. */
  async prove(): Promise<void> {
    const { verify } = this.#rules;
    if (await verify(this.#key.raw, this.jws.signature, this.#message())) return;
    throw new ServiceFault("signature_invalid", "the signature is not valid for these bytes");
  }

  /** What was signed (RFC 7797 §3). */
  #message(): Buffer {
    const { protectedText } = this.jws;
    const start = protectedText.length + 1;
    const message = Buffer.allocUnsafe(start + this.body.byteLength);
    message.write(`${protectedText}.`, "latin1");
    message.set(this.body, start);
    return message;
  }
}

/** In force when it was used, and now: a retired key must not sign for the past. */
function assertInForce(key: ReporterKey, issuedAtMs: number, nowMs: number): void {
  const state = keyStateAt(key, nowMs);
  if (state === "revoked") {
    throw new ServiceFault("signature_key_revoked", "the key `kid` was revoked");
  }
  const isBefore = issuedAtMs < key.notBeforeMs - OUTCOME_SKEW_MS_MAX;
  if (state !== "retired" && state !== "pending" && !isBefore) return;
  const why = state === "retired" ? "has been retired" : "was not in force yet";
  throw new ServiceFault("signature_key_inactive", `the key \`kid\` ${why}`);
}
