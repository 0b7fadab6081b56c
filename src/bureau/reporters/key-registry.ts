// Registry of reporters' keys and of the tenants that may register them, as a fold over events: the
// same events in the same order give the same registry, so replaying the journal rebuilds it. Holds
// no clock and decides nothing about requests; reporters.ts does.
import { parsePublicKey } from "../../contract/public-key.ts";
import type { KeyEvent, KeyRegistered, KeyRevoked } from "../../contract/key-events.ts";

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
}

/** State of a key at `timeMs` (epoch ms). Only active and retiring keys verify. */
export function keyStateAt(key: ReporterKey, timeMs: number): KeyState {
  if (key.revokedAtMs !== null) return "revoked";
  if (key.expiresAtMs !== null && key.expiresAtMs <= timeMs) return "retired";
  if (key.retiresAtMs !== null) return key.retiresAtMs <= timeMs ? "retired" : "retiring";
  return key.notBeforeMs > timeMs ? "pending" : "active";
}

/** `agent://<namespace>/...` -> namespace. */
export function namespaceOf(agent: string): string {
  const start = "agent://".length;
  return agent.slice(start, agent.indexOf("/", start));
}

export class KeyRegistry {
  readonly #keys = new Map<string, ReporterKey>();
  readonly #byAgent = new Map<string, ReporterKey[]>();
  readonly #owners = new Map<string, string>();

  /**
   * Folds the next event. Events are written by this service: one that does not fit is a defect.
   */
  apply(event: KeyEvent): void {
    if (event.event === "registered") this.#register(event);
    else this.#revoke(event);
  }

  find(kid: string): ReporterKey | undefined {
    return this.#keys.get(kid);
  }

  /** In order of registration. */
  ofAgent(agent: string): readonly ReporterKey[] {
    return this.#byAgent.get(agent) ?? [];
  }

  /** The tenant that registered the first key in a namespace. */
  ownerOf(namespace: string): string | undefined {
    return this.#owners.get(namespace);
  }

  #register(event: KeyRegistered): void {
    const { agent, tenant, kid, x } = event;
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
    };
    this.#keys.set(kid, key);
    this.#byAgent.set(agent, [...others.filter((other) => other.kid !== kid), key]);
    const namespace = namespaceOf(agent);
    if (!this.#owners.has(namespace)) this.#owners.set(namespace, tenant);
  }

  #revoke(event: KeyRevoked): void {
    const key = this.#keys.get(event.kid);
    if (key === undefined) throw new Error("a key event revokes a key that was never registered");
    key.revokedAtMs ??= event.at_ms;
    if (event.compromised_since_ms === null) return;
    const since = key.compromisedSinceMs ?? event.compromised_since_ms;
    key.compromisedSinceMs = Math.min(since, event.compromised_since_ms);
  }
}
