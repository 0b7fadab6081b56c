// Use of the vault's entries by tenant: how many each has taken, which of them stand for revoked sources
// and may be taken again, and how many are promised to registrations that are being journaled. A
// registration that does not fit is refused before it is journaled; a replay refuses nothing.
import { ServiceFault } from "../../contract/faults.ts";
import { SOURCES_MAX, SOURCES_PER_TENANT } from "./catalogue.ts";
import type { SourceEvent } from "./events.ts";
import type { Held } from "./records.ts";

/** A revoked source that may be forgotten: its owner and its name in the vault. */
export interface Forgettable {
  readonly name: string;
  readonly held: Held;
}

export interface SourceLimits {
  /** Sources of one tenant, and of all; SOURCES_PER_TENANT and SOURCES_MAX when left out. */
  readonly sourcesPerTenant?: number | undefined;
  readonly sourcesMax?: number | undefined;
}

/** Figures for an operator, under the names of their metrics. */
export interface SourceGauges {
  vault_sources: number;
  vault_sources_max: number;
  vault_sources_revoked: number;
  vault_tenant_sources_highest: number;
  vault_sources_refused_total: number;
}

export class EntryUse {
  readonly #max: number;
  readonly #perTenant: number;
  /** Frees the entry of a revoked source, and calls `forget` and `add`. */
  readonly #release: (source: Forgettable) => void;
  readonly #used = new Map<string, number>();
  readonly #promised = new Map<string, number>();
  /** By owner, then by name, the longest revoked first. */
  readonly #revoked = new Map<string, Map<string, Held>>();
  #total = 0;
  #promisedTotal = 0;
  #revokedTotal = 0;
  #refused = 0;

  constructor(limits: SourceLimits, release: (source: Forgettable) => void) {
    this.#max = Math.min(limits.sourcesMax ?? SOURCES_MAX, SOURCES_MAX);
    this.#perTenant = limits.sourcesPerTenant ?? SOURCES_PER_TENANT;
    this.#release = release;
  }

  gauges(): SourceGauges {
    let highest = 0;
    for (const [owner, count] of this.#used) if (owner !== "") highest = Math.max(highest, count);
    return {
      vault_sources: this.#total,
      vault_sources_max: this.#max,
      vault_sources_revoked: this.#revokedTotal,
      vault_tenant_sources_highest: highest,
      vault_sources_refused_total: this.#refused,
    };
  }

  /**
   * Promises entries for these events of one tenant until the returned function is called. Where
   * there are too few, sources that were revoked are forgotten: the tenant's own for its quota, the
   * longest revoked of all for the vault.
   * @throws ServiceFault `source_quota_exceeded` or `vault_full`.
   */
  reserve(events: readonly SourceEvent[]): () => void {
    const owners = events.map(ownerOfHeld);
    for (const [owner, count] of countByOwner(owners)) {
      while (owner !== "" && this.#of(owner) + count > this.#perTenant) {
        const revoked = this.#longestRevoked(owner);
        if (revoked === undefined) {
          throw this.#refusal("source_quota_exceeded", `a tenant holds ${this.#perTenant} at most`);
        }
        this.#release(revoked);
      }
    }
    while (this.#total + this.#promisedTotal + owners.length > this.#max) {
      const revoked = this.#longestRevoked();
      if (revoked === undefined) {
        throw this.#refusal("vault_full", `the vault holds ${this.#max} sources, its limit`);
      }
      this.#release(revoked);
    }
    for (const owner of owners) this.#promise(owner, 1);
    return () => {
      for (const owner of owners) this.#promise(owner, -1);
    };
  }

  /** Makes room for an event of the journal as far as there are revoked sources. */
  makeRoom(): void {
    const revoked = this.#total < this.#max ? undefined : this.#longestRevoked();
    if (revoked !== undefined) this.#release(revoked);
  }

  #refusal(code: "source_quota_exceeded" | "vault_full", detail: string): ServiceFault {
    this.#refused++;
    return new ServiceFault(code, `${detail}; revoke some that are not needed`);
  }

  /** Entries of an owner, in use or promised. The owner of public sources is empty. */
  #of(owner: string): number {
    return (this.#used.get(owner) ?? 0) + (this.#promised.get(owner) ?? 0);
  }

  /** Books entries taken, or given back where negative. */
  add(owner: string, entries: number): void {
    this.#total += entries;
    book(this.#used, owner, entries);
  }

  #promise(owner: string, entries: number): void {
    this.#promisedTotal += entries;
    book(this.#promised, owner, entries);
  }

  /** The state of a source has changed; `held` is its newest record. */
  note(name: string, held: Held): void {
    this.forget(name, held);
    if (held.state !== "revoked") return;
    const owner = ownerOfHeld(held);
    const names = this.#revoked.get(owner) ?? new Map<string, Held>();
    this.#revoked.set(owner, names.set(name, held));
    this.#revokedTotal++;
  }

  /** The source is no longer one that could be forgotten. */
  forget(name: string, held: Held): void {
    const owner = ownerOfHeld(held);
    const names = this.#revoked.get(owner);
    if (names?.delete(name) !== true) return;
    this.#revokedTotal--;
    if (names.size === 0) this.#revoked.delete(owner);
  }

  /** The source of this owner, or of any, that was revoked first. */
  #longestRevoked(owner?: string): Forgettable | undefined {
    const tables = owner === undefined ? this.#revoked.values() : [this.#revoked.get(owner)];
    let oldest: Forgettable | undefined;
    for (const names of tables) {
      const first = names?.entries().next().value;
      if (first === undefined) continue;
      const [name, held] = first;
      if (oldest === undefined || held.index < oldest.held.index) oldest = { name, held };
    }
    return oldest;
  }
}

function countByOwner(owners: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const owner of owners) book(counts, owner, 1);
  return counts;
}

/** Owner of a source's entry: its tenant, none for a public source. */
export function ownerOfHeld({ visibility, tenant }: Pick<Held, "visibility" | "tenant">): string {
  return visibility === "public" ? "" : tenant;
}

function book(counts: Map<string, number>, owner: string, entries: number): void {
  const count = (counts.get(owner) ?? 0) + entries;
  if (count === 0) counts.delete(owner);
  else counts.set(owner, count);
}
