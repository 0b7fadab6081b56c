// Keeper of quotas: knows what each tenant may read in a month, keeps it in quotas.json, and tells the
// HTTP threads four times a second what is used. Once a month and tenant it warns at 80 % and at the end.
import { ServiceFault } from "../../contract/faults.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import { QuotaWriter, QUOTAS_MAX } from "../../http/access/quota-memory.ts";
import { type QuotaTable, readQuotaFile, writeQuotaFile } from "../../http/access/quota-file.ts";
import type { Quotas } from "../../http/access/quotas.ts";
import type { Log } from "../../platform/log.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

export const QUOTA_PUBLISH_INTERVAL_MS = 250;
/** Share of a quota from which its end is near. */
const QUOTA_WARNING_SHARE = 0.8;

export interface QuotaManagerOptions {
  readonly dataDir: string;
  readonly memory: SharedArrayBuffer;
  /** Has the reads of this moment counted. */
  readonly look: () => void;
  /** Paid reads of a tenant in a month (`2026-01`), by this process and those before it. */
  readonly paidIn: (month: string, tenant: string) => number;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly logger: Pick<Log, "warn">;
}

export class QuotaManager implements Quotas {
  readonly #options: QuotaManagerOptions;
  readonly #board: QuotaWriter;
  #quotas: QuotaTable;
  /** What was told in the log: month, tenant, what. */
  readonly #told = new Set<string>();
  #month = "";
  /** Of changes: two writers of one file would lose a quota. */
  readonly #changes = new SerialQueue();

  /** @private Use openQuotas. */
  constructor(options: QuotaManagerOptions, quotas: QuotaTable) {
    this.#options = options;
    this.#board = new QuotaWriter(options.memory);
    this.#quotas = quotas;
    this.tell();
  }

  list(): QuotaDescription[] {
    this.#options.look();
    const quotas = [...this.#quotas].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return quotas.map(([tenant, limit]) => this.#describe(tenant, limit));
  }

  find(tenant: string): QuotaDescription | undefined {
    const limit = this.#quotas.get(tenant);
    if (limit === undefined) return undefined;
    this.#options.look();
    return this.#describe(tenant, limit);
  }

  set(tenant: string, limit: number): Promise<QuotaDescription> {
    return this.#changes.run(async () => {
      const isTooMany = !this.#quotas.has(tenant) && this.#quotas.size >= QUOTAS_MAX;
      if (isTooMany || !this.#board.hasCapacityFor(tenant)) {
        const detail = `more than ${QUOTAS_MAX} tenants have had a quota since the start`;
        throw new ServiceFault("overloaded", detail);
      }
      await this.#keep(new Map(this.#quotas).set(tenant, limit));
      for (const told of this.#told) if (told.endsWith(` ${tenant}`)) this.#told.delete(told);
      this.tell();
      return this.#describe(tenant, limit);
    });
  }

  remove(tenant: string): Promise<QuotaDescription> {
    return this.#changes.run(async () => {
      const was = this.find(tenant);
      if (was === undefined) throw new ServiceFault("not_found", `\`${tenant}\` has no quota`);
      const quotas = new Map(this.#quotas);
      quotas.delete(tenant);
      await this.#keep(quotas);
      this.#board.write(tenant, undefined, 0);
      return was;
    });
  }

  /** Writes what is used where the threads look, and warns. */
  tell(): void {
    if (this.#quotas.size === 0) return;
    const { clock, look, paidIn } = this.#options;
    look();
    const { month, endMs } = computeMonth(clock());
    if (month !== this.#month) this.#told.clear();
    this.#month = month;
    this.#board.monthEndMs = endMs;
    for (const [tenant, limit] of this.#quotas) {
      const used = paidIn(month, tenant);
      this.#board.write(tenant, limit, used);
      if (used >= limit * QUOTA_WARNING_SHARE) this.#warn(tenant, used, limit);
    }
  }

  #warn(tenant: string, used: number, limit: number): void {
    const isOver = used >= limit;
    const name = `${isOver ? "over" : "near"} ${tenant}`;
    if (this.#told.has(name)) return;
    this.#told.add(name);
    const { logger } = this.#options;
    const facts = { tenant, used, paid_reads_per_month: limit };
    if (isOver) logger.warn("quota_used_up", facts);
    else logger.warn("quota_nearly_used", facts);
  }

  #describe(tenant: string, limit: number): QuotaDescription {
    const { month, endMs } = computeMonth(this.#options.clock());
    const used = this.#options.paidIn(month, tenant);
    return {
      tenant,
      paid_reads_per_month: limit,
      used,
      remaining: Math.max(0, limit - used),
      resets_at: new Date(endMs).toISOString(),
    };
  }

  async #keep(quotas: QuotaTable): Promise<void> {
    await writeQuotaFile(this.#options.dataDir, quotas);
    this.#quotas = quotas;
  }
}

/** @throws Error when quotas.json is none. */
export async function openQuotas(options: QuotaManagerOptions): Promise<QuotaManager> {
  return new QuotaManager(options, await readQuotaFile(options.dataDir));
}

function computeMonth(nowMs: number): { month: string; endMs: number } {
  const now = new Date(nowMs);
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  return { month: now.toISOString().slice(0, "2026-01".length), endMs };
}
