// `trustrank quotas list | set | remove`: what a tenant may read in a month. In the file when no server
// holds the data directory; otherwise the server makes the change, at once.
import { isPlainText } from "../../contract/identifiers.ts";
import { QUOTA_MAX, TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import { readQuotaFile, writeQuotaFile } from "../../http/access/quota-file.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { print, printJson, printTable, type OutputFlags } from "../output.ts";

/** A quota; what is used of it is known where a server counts. */
type QuotaRow = Pick<QuotaDescription, "tenant" | "paid_reads_per_month"> &
  Partial<QuotaDescription>;

/** Every tenant that has a quota. */
export async function listQuotas(access: DataAccess, flags: OutputFlags): Promise<void> {
  const quotas = await runOnFilesOrServer<QuotaRow[]>(
    access,
    async (dataDir) =>
      [...(await readQuotaFile(dataDir))]
        .map(([tenant, limit]) => ({ tenant, paid_reads_per_month: limit }))
        .toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1)),
    async (client) =>
      (await client.sendJson<{ quotas: QuotaDescription[] }>("GET", "/v1/quotas")).quotas,
  );
  if (flags.json === true) return printJson(quotas);
  const cells = quotas.map(({ tenant, paid_reads_per_month: limit, used, remaining }) => [
    tenant,
    limit,
    used ?? "",
    remaining ?? "",
  ]);
  const columns = ["tenant", "paid reads a month", "used", "remaining"];
  printTable(columns, cells);
}

/** Sets a tenant's quota, for this month too. */
export async function setQuota(
  access: DataAccess,
  tenant: string,
  flags: OutputFlags & { readonly reads: number },
): Promise<void> {
  const limit = flags.reads;
  if (limit > QUOTA_MAX) throw new CommandFailure(`at most ${QUOTA_MAX} reads`, EXIT_USAGE);
  const body = { paid_reads_per_month: limit };
  const set = await runOnFilesOrServer<QuotaRow>(
    access,
    async (dataDir) => {
      const quotas = await readQuotaFile(dataDir);
      await writeQuotaFile(dataDir, quotas.set(requireTenantName(tenant), limit));
      return { tenant, ...body };
    },
    (client) => client.sendJson("PUT", buildQuotaRoute(tenant), body),
  );
  if (flags.json === true) printJson(set);
  else print(`${tenant} may make ${limit} paid reads a month`);
}

/** Takes a tenant's quota away. */
export async function removeQuota(
  access: DataAccess,
  tenant: string,
  flags: OutputFlags,
): Promise<void> {
  const was = await runOnFilesOrServer<QuotaRow>(
    access,
    async (dataDir) => {
      const quotas = await readQuotaFile(dataDir);
      const limit = quotas.get(tenant);
      if (limit === undefined) throw new CommandFailure(`\`${tenant}\` has no quota`);
      quotas.delete(tenant);
      await writeQuotaFile(dataDir, quotas);
      return { tenant, paid_reads_per_month: limit };
    },
    (client) => client.sendJson("DELETE", buildQuotaRoute(tenant)),
  );
  if (flags.json === true) printJson(was);
  else print(`${tenant} has no quota any more`);
}

function buildQuotaRoute(tenant: string): string {
  return `/v1/quotas/${encodeURIComponent(requireTenantName(tenant))}`;
}

function requireTenantName(tenant: string): string {
  if (isPlainText(tenant, TENANT_LENGTH_MAX)) return tenant;
  const detail = `a tenant is 1 to ${TENANT_LENGTH_MAX} bytes of plain text`;
  throw new CommandFailure(detail, EXIT_USAGE);
}
