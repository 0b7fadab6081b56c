// Owners of agents' namespaces, as a fold over the events of the reporters' registry: an admin grants
// a namespace to a tenant. Every thread folds the same events in the journal's order, so all agree on
// who may register keys and report there.
import type { KeyEvent, KeyRight } from "./key-events.ts";

/** Journal payload of a record of kind `namespace`, as JSON. Times are epoch ms. */
export interface NamespaceEvent {
  event: "namespace.granted" | "namespace.transferred" | "namespace.revoked";
  at_ms: number;
  namespace: string;
  /** The owner from now on; of a revocation the one that was. */
  tenant: string;
  /** Whether keys and revocations of the former owner go on to hold. */
  keeps_keys: boolean;
  /** Whether each reporter that signs there answers for itself; left out: the owner does for all. */
  vouched?: boolean;
  /** Whether keys registered there attest transactions of others; left out: they do not. */
  mediator?: boolean;
  /** Of a revocation, epoch ms: what was signed there since then does not count any more. */
  discount_since_ms?: number;
  /** Id of the admin's API key. */
  by: string;
  /** `console:` and the beginning of the session; left out where it came by the API. */
  via?: string;
}

/** Events of the reporters' registry, in the order of the journal. */
export type RegistryEvent = KeyEvent | NamespaceEvent;

/**
 * `inherited`: the tenant registered the first key there before ownership was granted, and no admin
 * has confirmed it yet. It holds like a grant.
 */
export const NAMESPACE_STATES = ["inherited", "granted"] as const;
export type NamespaceState = (typeof NAMESPACE_STATES)[number];

export interface NamespaceOwner {
  readonly namespace: string;
  readonly tenant: string;
  readonly state: NamespaceState;
  /** Whether an administrator vouches for the owner: each reporter that signs there is one voice. */
  readonly isVouched: boolean;
  /** Whether an administrator named it a mediator between the owners of other namespaces. */
  readonly isMediator: boolean;
  /** Epoch ms. */
  readonly sinceMs: number;
  /** Id of the admin's API key; null for an inherited one. */
  readonly grantedBy: string | null;
}

/** `agent://<namespace>/...` -> namespace. */
export function extractNamespace(agent: string): string {
  const start = "agent://".length;
  return agent.slice(start, agent.indexOf("/", start));
}

/** Whether the event is about a namespace, not about a key. */
export function isNamespaceEvent(event: { event?: unknown }): event is NamespaceEvent {
  return typeof event.event === "string" && event.event.startsWith("namespace.");
}

function sortByName(owners: readonly NamespaceOwner[]): NamespaceOwner[] {
  return owners.toSorted((a, b) => (a.namespace < b.namespace ? -1 : 1));
}

/** Who registered or revoked a key, and in whose right. */
export interface KeyAuthority {
  readonly right: KeyRight;
  readonly tenant: string;
}

/**
 * What is left of an owner's act on a key after a change of ownership: the same, the new owner's
 * where keys are kept, or undefined where it no longer holds. An admin's acts stand.
 */
export function transferKeyAuthority(
  act: KeyAuthority,
  change: NamespaceEvent,
): KeyAuthority | undefined {
  const isRevocation = change.event === "namespace.revoked";
  if (act.right === "admin" || (!isRevocation && act.tenant === change.tenant)) return act;
  if (isRevocation || !change.keeps_keys) return undefined;
  return { right: "owner", tenant: change.tenant };
}

export class NamespaceOwners {
  readonly #owners = new Map<string, NamespaceOwner>();
  /** Namespaces in which a key was ever registered. */
  readonly #signing = new Set<string>();

  get count(): number {
    return this.#owners.size;
  }

  /** The owner's tenant; undefined for a namespace without an owner. */
  findOwnerTenant(namespace: string): string | undefined {
    return this.#owners.get(namespace)?.tenant;
  }

  find(namespace: string): NamespaceOwner | undefined {
    return this.#owners.get(namespace);
  }

  /** An owned namespace of the same letters in another case. */
  findOtherCase(namespace: string): NamespaceOwner | undefined {
    const folded = namespace.toLowerCase();
    for (const owner of this.#owners.values()) {
      const { namespace: other } = owner;
      if (other !== namespace && other.toLowerCase() === folded) return owner;
    }
    return undefined;
  }

  /** Whether an administrator vouches for any owner. */
  hasVouched(): boolean {
    return [...this.#owners.values()].some(({ isVouched }) => isVouched);
  }

  /** By name. */
  list(): NamespaceOwner[] {
    return sortByName([...this.#owners.values()]);
  }

  /** Those that no administrator vouches for, in whose namespaces agents have registered keys; by name. */
  listUnvouched(): NamespaceOwner[] {
    const owners = [...this.#owners.values()];
    return sortByName(
      owners.filter(({ namespace, isVouched }) => !isVouched && this.#signing.has(namespace)),
    );
  }

  /**
   * The act that a key event records, for a key of `agent`. Events of the old kind were refused
   * unless they were the owner's or an admin's. Call it after `apply`.
   */
  selectKeyAuthority({ by, tenant }: KeyEvent, agent: string): KeyAuthority {
    const isOwners = this.findOwnerTenant(extractNamespace(agent)) === tenant;
    return { right: by ?? (isOwners ? "owner" : "admin"), tenant };
  }

  /** Folds the next event. A registration claims a namespace only where it is of the old kind. */
  apply(event: RegistryEvent): void {
    if (isNamespaceEvent(event)) this.#applyNamespaceEvent(event);
    // A record of kind `key` that names no agent is no event of ours.
    else if (event.event === "registered" && typeof event.agent === "string") {
      const namespace = extractNamespace(event.agent);
      this.#signing.add(namespace);
      if (event.by !== undefined || this.#owners.has(namespace)) return;
      const { tenant, at_ms: sinceMs } = event;
      const marks = { isVouched: false, isMediator: false, grantedBy: null };
      this.#owners.set(namespace, { namespace, tenant, state: "inherited", sinceMs, ...marks });
    }
  }

  #applyNamespaceEvent({
    event,
    namespace,
    tenant,
    at_ms: sinceMs,
    by: grantedBy,
    vouched: isVouched = false,
    mediator: isMediator = false,
  }: NamespaceEvent): void {
    if (event === "namespace.revoked") {
      this.#owners.delete(namespace);
      return;
    }
    const marks = { isVouched, isMediator, grantedBy };
    this.#owners.set(namespace, { namespace, tenant, state: "granted", sinceMs, ...marks });
  }
}
