// Registry of reporters' keys and of the tenants that may register them, as a fold over events: the
// same events in the same order give the same registry, so replaying the journal rebuilds it. Holds
// no clock and decides nothing about requests; reporters.ts and namespaces.ts do.
import { parsePublicKey } from "../../contract/public-key.ts";
import type { KeyRegisteredEvent, KeyRevokedEvent } from "../../contract/key-events.ts";
import {
  transferKeyAuthority,
  isNamespaceEvent,
  type KeyAuthority,
  type NamespaceEvent,
  extractNamespace,
  NamespaceOwners,
  type RegistryEvent,
} from "../../contract/namespaces.ts";
import { NONCE_TTL_MS } from "./nonces.ts";

/** How long a nonce is known to be used: twice as long as it is good, for nodes whose clocks differ. */
const USED_NONCE_MEMORY_MS = 2 * NONCE_TTL_MS;

export const KEY_STATES = ["pending", "active", "retiring", "retired", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

export interface ReporterKey {
  readonly kid: string;
  readonly agent: string;
  readonly tenant: string;
  readonly x: string;
  readonly raw: Buffer;
  readonly registeredAtMs: number;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number | null;
  retiresAtMs: number | null;
  revokedAtMs: number | null;
  compromisedSinceMs: number | null;
  /** In whose right it stands; undefined for a key of a former owner. */
  authority: KeyAuthority | undefined;
}

/** State of a key at `timeMs` (epoch ms). Only active and retiring keys verify. */
export function computeReporterKeyState(key: ReporterKey, timeMs: number): KeyState {
  if (key.revokedAtMs !== null) return "revoked";
  if (key.expiresAtMs !== null && key.expiresAtMs <= timeMs) return "retired";
  if (key.retiresAtMs !== null) return key.retiresAtMs <= timeMs ? "retired" : "retiring";
  return key.notBeforeMs > timeMs ? "pending" : "active";
}

/** Whose names unsigned outcomes may carry, as reports are judged. */
export type ReporterRegistry = Pick<KeyRegistry, "owners" | "isSignatureNeeded">;

/** The registry after its events so far: journal payloads, in order. */
export function foldKeyRegistry(payloads: readonly Uint8Array[]): KeyRegistry {
  const registry = new KeyRegistry();
  for (const payload of payloads) registry.applyPayload(payload);
  return registry;
}

export class KeyRegistry {
  readonly #keys = new Map<string, ReporterKey>();
  readonly #byAgent = new Map<string, ReporterKey[]>();
  readonly owners = new NamespaceOwners();
  /** By nonce of its proof, when a key was registered; in order of the events. */
  readonly #usedNonces = new Map<string, number>();

  /**
   * Folds the next event. Events are written by this service: one that does not fit is a defect.
   */
  apply(event: RegistryEvent): void {
    this.owners.apply(event);
    if (isNamespaceEvent(event)) this.#applyOwnerChange(event);
    else if (event.event === "registered") this.#register(event);
    else this.#revoke(event);
  }

  /** Folds the next event as the journal has it; returns the event. */
  applyPayload(payload: Uint8Array): RegistryEvent {
    const event = JSON.parse(Buffer.from(payload).toString()) as RegistryEvent;
    this.apply(event);
    return event;
  }

  find(kid: string): ReporterKey | undefined {
    return this.#keys.get(kid);
  }

  /** Whether a key was registered lately by a proof over this nonce. */
  isNonceUsed(nonce: string): boolean {
    return this.#usedNonces.has(nonce);
  }

  /** In order of registration. */
  listAgentKeys(agent: string): readonly ReporterKey[] {
    return this.#byAgent.get(agent) ?? [];
  }

  /**
   * Whether outcomes in the agent's name are taken only with its signature at `timeMs` (epoch ms):
   * while one of its keys verifies, and after the newest was revoked until another is registered, so
   * that revoking a key does not open its name to unsigned outcomes.
   */
  isSignatureNeeded(agent: string, timeMs: number): boolean {
    const keys = this.#byAgent.get(agent);
    if (keys === undefined) return false;
    const states = keys
      .filter(({ authority }) => authority !== undefined)
      .map((key) => computeReporterKeyState(key, timeMs));
    return (
      states.at(-1) === "revoked" ||
      states.some((state) => state === "active" || state === "retiring")
    );
  }

  /** Number of an agent's keys, past ones included; a former owner's take no place. */
  countOwnedKeys(agent: string): number {
    return this.listAgentKeys(agent).filter(({ authority }) => authority !== undefined).length;
  }

  #register(event: KeyRegisteredEvent): void {
    const { agent, tenant, kid, x } = event;
    this.#rememberNonce(event);
    const others = this.#byAgent.get(agent) ?? [];
    for (const other of others) {
      if (other.kid === kid || other.revokedAtMs !== null) continue;
      const retiresAtMs = other.retiresAtMs ?? event.others_retire_ms;
      other.retiresAtMs = Math.min(retiresAtMs, event.others_retire_ms);
    }
    const key: ReporterKey = {
      kid,
      agent,
      tenant,
      x,
      raw: parsePublicKey({ kty: "OKP", crv: "Ed25519", x }).raw,
      registeredAtMs: event.at_ms,
      notBeforeMs: event.not_before_ms,
      expiresAtMs: event.expires_ms,
      retiresAtMs: null,
      revokedAtMs: null,
      compromisedSinceMs: null,
      authority: this.owners.selectKeyAuthority(event, agent),
    };
    this.#keys.set(kid, key);
    this.#byAgent.set(agent, [...others.filter((other) => other.kid !== kid), key]);
  }

  #rememberNonce({ proof, at_ms: atMs }: KeyRegisteredEvent): void {
    for (const [nonce, spentMs] of this.#usedNonces) {
      if (spentMs + USED_NONCE_MEMORY_MS > atMs) break;
      this.#usedNonces.delete(nonce);
    }
    const [, payload = ""] = proof.split(".");
    this.#usedNonces.set(Buffer.from(payload, "base64url").toString("latin1"), atMs);
  }

  /** Keys of a former owner sign for nobody there any more. Rare: looks at every key. */
  #applyOwnerChange(event: NamespaceEvent): void {
    for (const key of this.#keys.values()) {
      if (key.authority === undefined || extractNamespace(key.agent) !== event.namespace) continue;
      key.authority = transferKeyAuthority(key.authority, event);
      if (key.authority !== undefined) continue;
      key.retiresAtMs = Math.min(key.retiresAtMs ?? event.at_ms, event.at_ms);
    }
  }

  #revoke(event: KeyRevokedEvent): void {
    const key = this.#keys.get(event.kid);
    if (key === undefined) throw new Error("a key event revokes a key that was never registered");
    key.revokedAtMs ??= event.at_ms;
    if (event.compromised_since_ms === null) return;
    const since = key.compromisedSinceMs ?? event.compromised_since_ms;
    key.compromisedSinceMs = Math.min(since, event.compromised_since_ms);
  }
}
