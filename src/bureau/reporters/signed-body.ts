// Checks one request body against its `X-JWS-Signature` (evidence 1.2): cheap checks first,
// the signature itself last, each refusal with its own code. The ledger's replay guard comes after
// all of them: only a caller with a valid signature learns of an earlier receipt or puts a
// contradiction on record.
import { ServiceFault } from "../../contract/faults.ts";
import { type DetachedJws, parseDetachedJws } from "../../contract/jws.ts";
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import {
  digestSignedBody,
  type SignedId,
  type SignedRecords,
} from "../../contract/signed-records.ts";
import type { EventLog } from "../../ledger/ledger.ts";
import { type KeyRegistry, computeReporterKeyState, type ReporterKey } from "./key-registry.ts";
import type { SignatureVerifier } from "./reporters.ts";

/** Rules that signatures are judged by. */
export interface SignatureRules {
  /** Required `aud` of signatures. */
  readonly serviceId: string;
  readonly registry: Pick<KeyRegistry, "find" | "owners">;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Every signed id recorded since then (epoch ms) is in the ledger; defaults to all. */
  readonly rememberedSinceMs?: (() => number) | undefined;
  readonly verify: SignatureVerifier;
  /**
   * Looks up the records of a signed id, including all that were acknowledged before the call. Left
   * out, an id older than the ledger's memory is refused.
   */
  readonly findSigned?: ((id: SignedId) => Promise<SignedRecords>) | undefined;
  readonly events?: Pick<EventLog, "appendAudit"> | undefined;
}

export class SignedBody {
  readonly jws: DetachedJws;
  readonly body: Uint8Array;
  readonly #key: ReporterKey;
  /** Rules that the body was judged by; an attestation in it is, too. */
  readonly rules: SignatureRules;

  /**
   * @throws ServiceFault `signature_malformed`, `signature_audience`, `signature_key_unknown`,
   *   `signature_key_revoked` or `signature_key_inactive` when that check fails.
   */
  constructor(rules: SignatureRules, header: string, body: Uint8Array) {
    const jws = parseDetachedJws(header);
    if (jws.audience !== rules.serviceId) {
      throw new ServiceFault("signature_audience", "`aud` is not this service");
    }
    const key = rules.registry.find(jws.kid);
    if (key === undefined) {
      throw new ServiceFault("signature_key_unknown", "no agent has registered the key `kid`");
    }
    assertKeyActive(key, jws.issuedAtMs, rules.clock());
    this.jws = jws;
    this.body = body;
    this.#key = key;
    this.rules = rules;
  }

  /** @throws ServiceFault `signature_key_mismatch` when the key belongs to another reporter. */
  assertReporter(reporter: string): void {
    const fault = this.findReporterFault(reporter);
    if (fault !== undefined) throw fault;
  }

  findReporterFault(reporter: string): ServiceFault | undefined {
    if (reporter === this.#key.agent) return undefined;
    return new ServiceFault("signature_key_mismatch", "the key `kid` is not the reporter's");
  }

  /**
   * Checks the age of the signature. Both times are signed; the id carries its own.
   * @throws ServiceFault `signature_stale` when one of them is out of range.
   */
  assertFresh(): void {
    const nowMs = this.rules.clock();
    for (const timeMs of [this.jws.issuedAtMs, this.jws.jtiMs]) {
      if (timeMs > nowMs + OUTCOME_SKEW_MS_MAX) {
        throw new ServiceFault("signature_stale", "it was signed ahead of the clock");
      }
      if (nowMs - timeMs > OUTCOME_AGE_MS_MAX) {
        throw new ServiceFault("signature_stale", "it was signed more than 7 days ago");
      }
    }
    // An id older than the guard's memory may be a repeat, and counting it twice is worse than not
    // counting it.
    if (this.rules.findSigned === undefined && this.mayBeForgotten) {
      throw new ServiceFault(
        "signature_stale",
        "`jti` is older than what can be told from repeats",
      );
    }
  }

  /** Whether the ledger may have forgotten the id. Nothing is recorded before it is signed. */
  get mayBeForgotten(): boolean {
    const rememberedSinceMs = this.rules.rememberedSinceMs?.() ?? 0;
    return this.jws.jtiMs - OUTCOME_SKEW_MS_MAX < rememberedSinceMs;
  }

  /**
   * Records under the signed id, where the ledger may have forgotten it; undefined where the ledger
   * itself remembers. Call it only after `prove`.
   * @throws ServiceFault `store_unavailable` when the look-up fails.
   */
  async findEarlierRecords(): Promise<SignedRecords | undefined> {
    const { findSigned } = this.rules;
    return this.mayBeForgotten && findSigned !== undefined ? findSigned(this.jws) : undefined;
  }

  /**
   * Puts on record that the signer used one id for two bodies; `position` is the first record's.
   */
  async recordContradiction(position: number): Promise<ServiceFault> {
    const { kid, jti } = this.jws;
    const event = { event: "signature.replayed", at_ms: this.rules.clock(), kid, jti };
    const content = { content_sha256_16: digestSignedBody(this.body) };
    await this.rules.events?.appendAudit(Buffer.from(JSON.stringify({ ...event, ...content })));
    return new ServiceFault(
      "signature_replayed",
      `the signed id was used for the record at position ${position} with another body`,
    );
  }

  /**
   * Verifies the signature.
   * @throws ServiceFault `signature_invalid` when it does not hold, `overloaded` when too many
   *   wait.
   */
  async verifySignature(): Promise<void> {
    const { verify } = this.rules;
    if (await verify(this.#key.raw, this.jws.signature, this.#buildSignedMessage())) return;
    throw new ServiceFault("signature_invalid", "the signature is not valid for these bytes");
  }

  /** The signed bytes (RFC 7797 §3). */
  #buildSignedMessage(): Buffer {
    const { protectedText } = this.jws;
    const start = protectedText.length + 1;
    const message = Buffer.allocUnsafe(start + this.body.byteLength);
    message.write(`${protectedText}.`, "latin1");
    message.set(this.body, start);
    return message;
  }
}

/**
 * In force when it was used, and now: a retired key must not sign for the past.
 * @throws ServiceFault `signature_key_revoked` or `signature_key_inactive`.
 */
export function assertKeyActive(key: ReporterKey, issuedAtMs: number, nowMs: number): void {
  const state = computeReporterKeyState(key, nowMs);
  if (state === "revoked") {
    throw new ServiceFault("signature_key_revoked", "the key `kid` was revoked");
  }
  const isBefore = issuedAtMs < key.notBeforeMs - OUTCOME_SKEW_MS_MAX;
  if (state !== "retired" && state !== "pending" && !isBefore) return;
  const why = state === "retired" ? "has been retired" : "was not in force yet";
  throw new ServiceFault("signature_key_inactive", `the key \`kid\` ${why}`);
}
