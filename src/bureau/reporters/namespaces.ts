// Use cases of namespaces: an administrator grants one to a tenant, transfers it, takes it back. A
// change is durable in the journal, and known to every thread, before it is answered.
import { ServiceFault } from "../../contract/faults.ts";
import { NAMESPACES_MAX } from "../../contract/limits.ts";
import type { NamespaceEvent, NamespaceOwner } from "../../contract/namespaces.ts";
import type { Principal } from "../../contract/principal.ts";
import type { NamespaceDescription } from "../../contract/schemas/namespaces.ts";
import type { EventLog } from "../../ledger/ledger.ts";
import type { SerialQueue } from "../../concurrency/serial-queue.ts";
import type { KeyRegistry } from "./key-registry.ts";

export interface NamespacesOptions {
  readonly events: Pick<EventLog, "appendNamespaceEvent">;
  /** Shared with the use cases of keys. */
  readonly registry: Pick<KeyRegistry, "apply" | "owners">;
  readonly changes: SerialQueue;
  /** Called with every change once it is durable and holds here. */
  readonly onEvent: (event: NamespaceEvent, payload: Uint8Array) => void;
  /** Epoch ms. */
  readonly clock: () => number;
}

/** What an administrator says of the owner; left out, it stays as it is. */
interface NamespaceMarks {
  readonly isVouched?: boolean | undefined;
  readonly isMediator?: boolean | undefined;
}

interface NamespaceChange extends NamespaceMarks {
  readonly namespace: string;
  readonly tenant: string;
  readonly keepsKeys?: boolean;
  /** Epoch ms. */
  readonly discountSinceMs?: number | undefined;
}

/** Changes resolve once durable, and reject with a ServiceFault. The caller has checked the scope. */
export class Namespaces {
  readonly #options: NamespacesOptions;

  constructor(options: NamespacesOptions) {
    this.#options = options;
  }

  /** By name. */
  list(): NamespaceDescription[] {
    return this.#options.registry.owners.list().map(describeNamespace);
  }

  /**
   * Makes a tenant the owner, vouched for and a mediator or not; left out, that stays as it is. Granting
   * it to its owner confirms an inherited namespace.
   * @throws ServiceFault `namespace_conflict` when another tenant owns it, or when one that has an
   * owner differs from it by case alone.
   */
  grant(
    namespace: string,
    { tenant, ...wanted }: { tenant: string } & NamespaceMarks,
    admin: Principal,
  ): Promise<NamespaceDescription> {
    return this.#options.changes.run(async () => {
      const { owners } = this.#options.registry;
      const known = owners.find(namespace);
      if (known !== undefined && known.tenant !== tenant) {
        const detail = `\`${namespace}\` belongs to \`${known.tenant}\`: transfer it`;
        throw new ServiceFault("namespace_conflict", detail);
      }
      const isVouched = wanted.isVouched ?? known?.isVouched ?? false;
      const isMediator = wanted.isMediator ?? known?.isMediator ?? false;
      const isSame = known?.isVouched === isVouched && known.isMediator === isMediator;
      if (isSame && known.state === "granted") return describeNamespace(known);
      const twin = known === undefined ? owners.findOtherCase(namespace) : undefined;
      if (twin !== undefined) {
        const detail = `\`${twin.namespace}\` of \`${twin.tenant}\` differs from it by case alone`;
        throw new ServiceFault("namespace_conflict", detail);
      }
      if (known === undefined && owners.count >= NAMESPACES_MAX) {
        const detail = `a service has at most ${NAMESPACES_MAX} namespaces with an owner`;
        throw new ServiceFault("namespace_conflict", detail);
      }
      await this.#record("namespace.granted", { namespace, tenant, isVouched, isMediator }, admin);
      return this.#describeCurrent(namespace);
    });
  }

  /**
   * Gives a namespace to another tenant. Keys of the former owner retire at once and its revocations
   * mark nobody any more, unless `keepsKeys`.
   * @throws ServiceFault `not_found` when nobody owns it.
   */
  transfer(
    namespace: string,
    { tenant, keepsKeys }: { tenant: string; keepsKeys: boolean },
    admin: Principal,
  ): Promise<NamespaceDescription> {
    return this.#options.changes.run(async () => {
      const known = this.#requireOwner(namespace);
      if (known.tenant === tenant && known.state === "granted") return describeNamespace(known);
      await this.#record("namespace.transferred", { namespace, tenant, keepsKeys }, admin);
      return this.#describeCurrent(namespace);
    });
  }

  /**
   * Takes a namespace back; keys of the owner retire at once, and what was signed there since
   * `discountSinceMs` (epoch ms) does not count any more. Resolves with what it was.
   * @throws ServiceFault `not_found` when nobody owns it.
   */
  revoke(
    namespace: string,
    { discountSinceMs }: { discountSinceMs?: number | undefined },
    admin: Principal,
  ): Promise<NamespaceDescription> {
    return this.#options.changes.run(async () => {
      const known = this.#requireOwner(namespace);
      const { tenant } = known;
      await this.#record("namespace.revoked", { namespace, tenant, discountSinceMs }, admin);
      return describeNamespace(known);
    });
  }

  #requireOwner(namespace: string): NamespaceOwner {
    const known = this.#options.registry.owners.find(namespace);
    if (known !== undefined) return known;
    throw new ServiceFault("not_found", `nobody owns the namespace \`${namespace}\``);
  }

  #describeCurrent(namespace: string): NamespaceDescription {
    return describeNamespace(this.#requireOwner(namespace));
  }

  async #record(
    event: NamespaceEvent["event"],
    {
      namespace,
      tenant,
      keepsKeys = false,
      isVouched,
      isMediator,
      discountSinceMs,
    }: NamespaceChange,
    admin: Principal,
  ): Promise<void> {
    const { events, registry, onEvent, clock } = this.#options;
    const change: NamespaceEvent = {
      event,
      at_ms: clock(),
      namespace,
      tenant,
      keeps_keys: keepsKeys,
      ...(isVouched === undefined ? {} : { vouched: isVouched }),
      ...(isMediator === true ? { mediator: true } : {}),
      ...(discountSinceMs === undefined ? {} : { discount_since_ms: discountSinceMs }),
      by: admin.keyId,
      ...(admin.via === undefined ? {} : { via: admin.via }),
    };
    const payload = Buffer.from(JSON.stringify(change));
    await events.appendNamespaceEvent(payload);
    registry.apply(change);
    // Before the change is answered: from here on every thread judges by it.
    onEvent(change, payload);
  }
}

function describeNamespace(owner: NamespaceOwner): NamespaceDescription {
  const { namespace, tenant, state, isVouched: vouched, isMediator: mediator, grantedBy } = owner;
  const since = new Date(owner.sinceMs).toISOString();
  return { namespace, tenant, state, vouched, mediator, since, granted_by: grantedBy };
}
