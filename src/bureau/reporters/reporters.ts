// Use case of reporters' keys (evidence 1.5): registration with proof of possession,
// rotation with overlap, revocation. Every change is durable in the journal before it holds.
import type { Principal } from "../../contract/principal.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { parseKeyProof } from "../../contract/jws.ts";
import { KEY_OVERLAP_MS, REPORTER_KEYS_MAX } from "../../contract/limits.ts";
import { parsePublicKey, type PublicKey } from "../../contract/public-key.ts";
import type {
  KeyNonce,
  ReporterKeyDescription,
  ReporterKeyRequest,
  ReporterKeyRevocation,
} from "../../contract/schemas/reporter-keys.ts";
import type { SignedId, SignedRecords } from "../../contract/signed-records.ts";
import type { EventLog } from "../../ledger/ledger.ts";
import { type KeyRegistry, computeReporterKeyState, type ReporterKey } from "./key-registry.ts";
import type { KeyEvent, KeyRight } from "../../contract/key-events.ts";
import { extractNamespace, type RegistryEvent } from "../../contract/namespaces.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";
import { NonceStore } from "./nonces.ts";
import { ClusterNonces } from "./cluster-nonces.ts";

/**
 * Verifies one Ed25519 signature on a pool thread.
 * @throws ServiceFault `overloaded` when too many wait.
 */
export type SignatureVerifier = (
  publicKey: Uint8Array,
  signature: Uint8Array,
  message: Uint8Array,
) => Promise<boolean> | boolean;

export interface ReporterKeyLifecycleOptions {
  /** Required `aud` of signatures. */
  readonly serviceId: string;
  readonly events: EventLog;
  /** After the registry's events so far (keys and namespaces); changed by every further one. */
  readonly registry: KeyRegistry;
  readonly verify: SignatureVerifier;
  /** Every signed id recorded since then (epoch ms) is in the ledger; defaults to all. */
  readonly rememberedSinceMs?: () => number;
  /** Looks up older signed ids, see SigningRules; left out, those are refused. */
  readonly findSigned?: ((id: SignedId) => Promise<SignedRecords>) | undefined;
  /** Called with every change of keys or owners once it is durable and holds here. */
  readonly onRegistryEvent?: (event: RegistryEvent, payload: Uint8Array) => void;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly fillRandom: (bytes: Uint8Array) => void;
  /** The same on all nodes of a cluster, which take one another's nonces; left out: this is all. */
  readonly nonceSecret?: Uint8Array | undefined;
  /** Unsigned outcomes are refused. */
  readonly isSignatureRequired?: boolean;
}

export class ReporterKeyLifecycle {
  readonly serviceId: string;
  readonly isSignatureRequired: boolean;
  readonly registry: KeyRegistry;
  readonly options: ReporterKeyLifecycleOptions;
  readonly #nonces: NonceStore | ClusterNonces;
  /** Of keys and of namespaces, each on the registry that the last one left. */
  readonly changes = new SerialQueue();

  constructor(options: ReporterKeyLifecycleOptions) {
    this.options = options;
    this.serviceId = options.serviceId;
    this.registry = options.registry;
    this.isSignatureRequired = options.isSignatureRequired ?? false;
    const { nonceSecret: secret, fillRandom } = options;
    const isSpent = (nonce: string) => this.registry.isNonceUsed(nonce);
    this.#nonces =
      secret === undefined
        ? new NonceStore(fillRandom)
        : new ClusterNonces(secret, fillRandom, isSpent);
  }

  /** Issues the nonce that the agent's next key must sign. */
  issueNonce(agent: string, principal: Principal): KeyNonce {
    this.#requireKeyRight(agent, principal);
    const issued = this.#nonces.issue(agent, principal.tenant, this.options.clock());
    return {
      nonce: issued.nonce,
      audience: this.serviceId,
      expires_at: new Date(issued.expiresAtMs).toISOString(),
    };
  }

  gauges(): Record<string, number> {
    return this.#nonces.gauges();
  }

  list(agent: string): ReporterKeyDescription[] {
    const nowMs = this.options.clock();
    return this.registry.listAgentKeys(agent).map((key) => describeReporterKey(key, nowMs));
  }

  /** Makes a key the agent's signing key; its other keys retire after the overlap. */
  register(
    agent: string,
    request: ReporterKeyRequest,
    principal: Principal,
  ): Promise<ReporterKeyDescription> {
    return this.changes.run(async () => {
      const key = parsePublicKey(request.jwk);
      const known = this.registry.find(key.kid);
      const by = this.#requireKeyRight(agent, principal);
      if (known !== undefined && known.agent !== agent) {
        throw new ServiceFault("key_conflict", "another agent has registered this key");
      }
      if (known !== undefined && known.revokedAtMs !== null) {
        throw new ServiceFault(
          "signature_key_revoked",
          "a revoked key stays revoked: make another",
        );
      }
      await this.#assertPossession(agent, request.proof, key, principal);
      if (this.registry.countOwnedKeys(agent) >= REPORTER_KEYS_MAX) {
        throw new ServiceFault("key_conflict", `an agent has at most ${REPORTER_KEYS_MAX} keys`);
      }
      const nowMs = this.options.clock();
      const { overlap_sec: overlapSec = KEY_OVERLAP_MS / 1000 } = request;
      await this.#record({
        event: "registered",
        at_ms: nowMs,
        tenant: principal.tenant,
        agent,
        kid: key.kid,
        x: key.x,
        not_before_ms: request.not_before ?? nowMs,
        expires_ms: request.expires ?? null,
        others_retire_ms: nowMs + overlapSec * 1000,
        proof: request.proof,
        by,
      });
      return describeReporterKey(this.registry.find(key.kid) as ReporterKey, nowMs);
    });
  }

  /**
   * Revokes for good. With `compromised_since` the outcomes it signed since are folded out again.
   */
  revoke(
    agent: string,
    request: ReporterKeyRevocation,
    principal: Principal,
  ): Promise<ReporterKeyDescription> {
    return this.changes.run(async () => {
      const by = this.#requireKeyRight(agent, principal);
      const key = this.registry.find(request.kid);
      if (key?.agent !== agent) throw new ServiceFault("not_found", "the agent has no such key");
      const nowMs = this.options.clock();
      const since = request.compromised_since ?? null;
      const known = key.compromisedSinceMs ?? Number.POSITIVE_INFINITY;
      // A repeat changes nothing, unless it moves the compromise to an earlier time.
      if (key.revokedAtMs === null || (since !== null && since < known)) {
        await this.#record({
          event: "revoked",
          at_ms: nowMs,
          tenant: principal.tenant,
          kid: key.kid,
          compromised_since_ms: since,
          by,
        });
      }
      return describeReporterKey(key, nowMs);
    });
  }

  /**
   * In whose right the caller changes the keys of an agent.
   * @throws ServiceFault `namespace_not_owned` when it is neither the owner nor an administrator.
   */
  #requireKeyRight(agent: string, principal: Principal): KeyRight {
    const namespace = extractNamespace(agent);
    if (this.registry.owners.findOwnerTenant(namespace) === principal.tenant) return "owner";
    if (principal.scopes.has("admin")) return "admin";
    const detail = `no administrator has granted \`${namespace}\` to the key's tenant`;
    throw new ServiceFault("namespace_not_owned", detail);
  }

  async #assertPossession(
    agent: string,
    text: string,
    key: PublicKey,
    principal: Principal,
  ): Promise<void> {
    const proof = parseKeyProof(text);
    const { nonce, audience, kid } = { ...proof, nonce: proof.payload.toString("latin1") };
    if (kid !== key.kid) throw createKeyProofFault("`kid` is not the thumbprint of `jwk`");
    if (audience !== this.serviceId) throw createKeyProofFault("`aud` is not this service");
    const nowMs = this.options.clock();
    if (!this.#nonces.consume(nonce, agent, principal.tenant, nowMs)) {
      throw createKeyProofFault("the payload is not a nonce that is good for this agent now");
    }
    const message = Buffer.from(proof.signingInput, "latin1");
    const isValid = await this.options.verify(key.raw, proof.signature, message);
    if (!isValid) throw createKeyProofFault("the signature is not valid");
  }

  async #record(event: KeyEvent): Promise<void> {
    const payload = Buffer.from(JSON.stringify(event));
    await this.options.events.appendKeyEvent(payload);
    this.registry.apply(event);
    // Before the change is answered: from here on every thread judges by it.
    this.options.onRegistryEvent?.(event, payload);
  }
}

function createKeyProofFault(detail: string): ServiceFault {
  return new ServiceFault("key_proof_invalid", detail);
}

function describeReporterKey(key: ReporterKey, nowMs: number): ReporterKeyDescription {
  return {
    kid: key.kid,
    jwk: { kty: "OKP", crv: "Ed25519", x: key.x },
    state: computeReporterKeyState(key, nowMs),
    tenant: key.tenant,
    registered_at: new Date(key.registeredAtMs).toISOString(),
    not_before: new Date(key.notBeforeMs).toISOString(),
    expires_at: formatIsoOrNull(key.expiresAtMs),
    retires_at: formatIsoOrNull(key.retiresAtMs),
    revoked_at: formatIsoOrNull(key.revokedAtMs),
    compromised_since: formatIsoOrNull(key.compromisedSinceMs),
  };
}

function formatIsoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}
