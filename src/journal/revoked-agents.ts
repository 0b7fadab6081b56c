// Agents without a good signing key: those whose newest key was revoked, until they register
// another. A fold over the events of the reporters' registry, so that a replay gives the same marks
// as the run that recorded them. What a former owner of a namespace did marks nobody there.
import {
  transferKeyAuthority,
  isNamespaceEvent,
  type KeyAuthority,
  type NamespaceEvent,
  extractNamespace,
  NamespaceOwners,
  type RegistryEvent,
} from "../contract/namespaces.ts";
import { FRAME_KINDS } from "./format.ts";

/** Whether the reporters' registry is folded from frames of this kind. */
export function isRegistryKind(kind: number): boolean {
  return kind === FRAME_KINDS.key || kind === FRAME_KINDS.namespace;
}

/** An agent whose mark changed. */
export interface KeyRevocationMark {
  readonly agent: string;
  readonly isRevoked: boolean;
}

/** A key, by the acts that hold; no registration: a key of a former owner. */
interface AgentSigningKey {
  readonly kid: string;
  readonly agent: string;
  registered: KeyAuthority | undefined;
  revoked: KeyAuthority | undefined;
}

const NO_MARKS: readonly KeyRevocationMark[] = [];

export class RevokedAgents {
  readonly #owners = new NamespaceOwners();
  readonly #keys = new Map<string, AgentSigningKey>();
  /** agent -> its keys, the newest last. */
  readonly #byAgent = new Map<string, AgentSigningKey[]>();
  readonly #marked = new Set<string>();

  /**
   * Folds the next event (the payload of a record of kind `key` or `namespace`).
   * @returns the agents whose marks it changed.
   */
  applyRegistryEvent(payload: Buffer): readonly KeyRevocationMark[] {
    const event = JSON.parse(payload.toString()) as RegistryEvent;
    this.#owners.apply(event);
    if (isNamespaceEvent(event)) return this.#changeOwner(event);
    if (typeof event.kid !== "string") return NO_MARKS;
    if (event.event === "revoked") {
      const key = this.#keys.get(event.kid);
      if (key === undefined) return NO_MARKS;
      key.revoked ??= this.#owners.selectKeyAuthority(event, key.agent);
      return this.#updateMark(key.agent);
    }
    if (event.event !== "registered" || typeof event.agent !== "string") return NO_MARKS;
    const { kid, agent } = event;
    const others = (this.#byAgent.get(agent) ?? []).filter((other) => other.kid !== kid);
    const registered = this.#owners.selectKeyAuthority(event, agent);
    const key: AgentSigningKey = { kid, agent, registered, revoked: undefined };
    this.#keys.set(kid, key);
    this.#byAgent.set(agent, [...others, key]);
    return this.#updateMark(agent);
  }

  /** Rare: looks at every agent that has keys. */
  #changeOwner(event: NamespaceEvent): readonly KeyRevocationMark[] {
    return [...this.#byAgent].flatMap(([agent, keys]) => {
      if (extractNamespace(agent) !== event.namespace) return NO_MARKS;
      for (const key of keys) {
        key.registered &&= transferKeyAuthority(key.registered, event);
        key.revoked &&= transferKeyAuthority(key.revoked, event);
      }
      return this.#updateMark(agent);
    });
  }

  /** A key that another has followed does not mark the agent any more. */
  #updateMark(agent: string): readonly KeyRevocationMark[] {
    const keys = this.#byAgent.get(agent) ?? [];
    const newest = keys.findLast(({ registered }) => registered !== undefined);
    const isRevoked = newest?.revoked !== undefined;
    if (isRevoked === this.#marked.has(agent)) return NO_MARKS;
    if (isRevoked) this.#marked.add(agent);
    else this.#marked.delete(agent);
    return [{ agent, isRevoked }];
  }
}
