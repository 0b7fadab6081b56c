// Agents without a good signing key: those whose newest key was revoked, until they register
// another. A fold over the events of the reporters' registry, so that a replay gives the same marks
// as the run that recorded them. What a former owner of a namespace did marks nobody there.
import {
  actAfter,
  isNamespaceEvent,
  type KeyAct,
  type NamespaceEvent,
  namespaceOf,
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
interface Key {
  readonly kid: string;
  readonly agent: string;
  registered: KeyAct | undefined;
  revoked: KeyAct | undefined;
}

const NONE: readonly KeyRevocationMark[] = [];

export class RevokedAgents {
  readonly #owners = new NamespaceOwners();
  readonly #keys = new Map<string, Key>();
  /** agent -> its keys, the newest last. */
  readonly #byAgent = new Map<string, Key[]>();
  readonly #marked = new Set<string>();

  /**
   * Folds the next event (the payload of a record of kind `key` or `namespace`).
   * @returns the agents whose marks it changed.
   */
  apply(payload: Buffer): readonly KeyRevocationMark[] {
    const event = JSON.parse(payload.toString()) as RegistryEvent;
    this.#owners.apply(event);
    if (isNamespaceEvent(event)) return this.#changeOwner(event);
    if (typeof event.kid !== "string") return NONE;
    if (event.event === "revoked") {
      const key = this.#keys.get(event.kid);
      if (key === undefined) return NONE;
      key.revoked ??= this.#owners.actOf(event, key.agent);
      return this.#look(key.agent);
    }
    if (event.event !== "registered" || typeof event.agent !== "string") return NONE;
    const { kid, agent } = event;
    const others = (this.#byAgent.get(agent) ?? []).filter((other) => other.kid !== kid);
    const registered = this.#owners.actOf(event, agent);
    const key: Key = { kid, agent, registered, revoked: undefined };
    this.#keys.set(kid, key);
    this.#byAgent.set(agent, [...others, key]);
    return this.#look(agent);
  }

  /** Rare: looks at every agent that has keys. */
  #changeOwner(event: NamespaceEvent): readonly KeyRevocationMark[] {
    return [...this.#byAgent].flatMap(([agent, keys]) => {
      if (namespaceOf(agent) !== event.namespace) return NONE;
      for (const key of keys) {
        key.registered &&= actAfter(key.registered, event);
        key.revoked &&= actAfter(key.revoked, event);
      }
      return this.#look(agent);
    });
  }

  /** A key that another has followed does not mark the agent any more. */
  #look(agent: string): readonly KeyRevocationMark[] {
    const keys = this.#byAgent.get(agent) ?? [];
    const newest = keys.findLast(({ registered }) => registered !== undefined);
    const isRevoked = newest?.revoked !== undefined;
    if (isRevoked === this.#marked.has(agent)) return NONE;
    if (isRevoked) this.#marked.add(agent);
    else this.#marked.delete(agent);
    return [{ agent, isRevoked }];
  }
}
