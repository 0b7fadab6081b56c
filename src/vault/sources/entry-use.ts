// Use of the vault's entries by tenant: how many each has taken, which of them stand for revoked sources
// and may be taken again, and how many are promised to registrations that are being journaled. A
// registration that does not fit is refused before it is journaled; a replay refuses nothing.
import { ServiceFault } from "../../contract/faults.ts";
import { SOURCES_MAX, SOURCES_PER_TENANT_DEFAULT } from "./catalogue.ts";
import type { SourceEvent } from "./events.ts";
import type { SourceVersion } from "./records.ts";

/** A revoked source that may be forgotten: its owner and its name in the vault. */
export interface EvictableSource {
  readonly name: string;
  readonly held: SourceVersion;
}

export interface SourceLimits {
  /** Sources of one tenant, and of all; SOURCES_PER_TENANT and SOURCES_MAX when left out. */
  readonly sourcesPerTenant?: number | undefined;
  readonly sourcesMax?: number | undefined;
}

/** Figures for an operator, under the names of their metrics. */
export interface SourceMetrics {
  vault_sources: number;
  vault_sources_max: number;
  vault_sources_revoked: number;
  vault_tenant_sources_highest: number;
  vault_sources_refused_total: number;
}

export class SourceQuota {
  readonly #max: number;
  readonly #perTenant: number;
  /** Frees the entry of a revoked source, and calls `forget` and `add`. */
  readonly #onEvict: (source: EvictableSource) => void;
  readonly #used = new Map<string, number>();
  readonly #reservedByOwner = new Map<string, number>();
  /** By owner, then by name, the longest revoked first. */
  readonly #revoked = new Map<string, Map<string, SourceVersion>>();
  #total = 0;
  #reservedTotal = 0;
  #revokedTotal = 0;
  #refused = 0;

  constructor(limits: SourceLimits, release: (source: EvictableSource) => void) {
    this.#max = Math.min(limits.sourcesMax ?? SOURCES_MAX, SOURCES_MAX);
    this.#perTenant = limits.sourcesPerTenant ?? SOURCES_PER_TENANT_DEFAULT;
    this.#onEvict = release;
  }

  gauges(): SourceMetrics {
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
    const owners = events.map(selectEntryOwner);
    for (const [owner, count] of countByOwner(owners)) {
      while (owner !== "" && this.#countEntries(owner) + count > this.#perTenant) {
        const revoked = this.#findLongestRevoked(owner);
        if (revoked === undefined) {
          throw this.#createQuotaFault(
            "source_quota_exceeded",
            `a tenant holds ${this.#perTenant} at most`,
          );
        }
        this.#onEvict(revoked);
      }
    }
    while (this.#total + this.#reservedTotal + owners.length > this.#max) {
      const revoked = this.#findLongestRevoked();
      if (revoked === undefined) {
        throw this.#createQuotaFault(
          "vault_full",
          `the vault holds ${this.#max} sources, its limit`,
        );
      }
      this.#onEvict(revoked);
    }
    for (const owner of owners) this.#addReserved(owner, 1);
    return () => {
      for (const owner of owners) this.#addReserved(owner, -1);
    };
  }

  /** Makes room for an event of the journal as far as there are revoked sources. */
  evictOneIfFull(): void {
    const revoked = this.#total < this.#max ? undefined : this.#findLongestRevoked();
    if (revoked !== undefined) this.#onEvict(revoked);
  }

  #createQuotaFault(code: "source_quota_exceeded" | "vault_full", detail: string): ServiceFault {
    this.#refused++;
    return new ServiceFault(code, `${detail}; revoke some that are not needed`);
  }

  /** Entries of an owner, in use or promised. The owner of public sources is empty. */
  #countEntries(owner: string): number {
    return (this.#used.get(owner) ?? 0) + (this.#reservedByOwner.get(owner) ?? 0);
  }

  /** Books entries taken, or given back where negative. */
  addEntries(owner: string, entries: number): void {
    this.#total += entries;
    addToCount(this.#used, owner, entries);
  }

  #addReserved(owner: string, entries: number): void {
    this.#reservedTotal += entries;
    addToCount(this.#reservedByOwner, owner, entries);
  }

  /** The state of a source has changed; `held` is its newest record. */
  trackState(name: string, held: SourceVersion): void {
    this.untrackRevoked(name, held);
    if (held.state !== "revoked") return;
    const owner = selectEntryOwner(held);
    const names = this.#revoked.get(owner) ?? new Map<string, SourceVersion>();
    this.#revoked.set(owner, names.set(name, held));
    this.#revokedTotal++;
  }

  /** The source is no longer one that could be forgotten. */
  untrackRevoked(name: string, held: SourceVersion): void {
    const owner = selectEntryOwner(held);
    const names = this.#revoked.get(owner);
    if (names?.delete(name) !== true) return;
    this.#revokedTotal--;
    if (names.size === 0) this.#revoked.delete(owner);
  }

  /** The source of this owner, or of any, that was revoked first. */
  #findLongestRevoked(owner?: string): EvictableSource | undefined {
    const tables = owner === undefined ? this.#revoked.values() : [this.#revoked.get(owner)];
    let oldest: EvictableSource | undefined;
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
  for (const owner of owners) addToCount(counts, owner, 1);
  return counts;
}

/** Owner of a source's entry: its tenant, none for a public source. */
export function selectEntryOwner({
  visibility,
  tenant,
}: Pick<SourceVersion, "visibility" | "tenant">): string {
  return visibility === "public" ? "" : tenant;
}

function addToCount(counts: Map<string, number>, owner: string, entries: number): void {
  const count = (counts.get(owner) ?? 0) + entries;
  if (count === 0) counts.delete(owner);
  else counts.set(owner, count);
}
