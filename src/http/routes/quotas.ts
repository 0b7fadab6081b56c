// Routes of quotas, for operators: what a tenant may read in a month. The tenant is percent-encoded in
// the path.
import { ServiceFault } from "../../contract/faults.ts";
import { isPlainText } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX, TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import { parseQuotaRequest } from "../../contract/parse/requests.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const ONE_QUOTA_ROUTE = {
  path: "/v1/quotas/{tenant}",
  parameter: { description: "The tenant", example: "acme" },
  access: "admin",
} as const;

export const QUOTA_ROUTES: readonly Route[] = [
  {
    name: "list_quotas",
    method: "GET",
    path: "/v1/quotas",
    summary: "Every tenant with a monthly quota, and what it has used",
    access: "admin",
    responses: { 200: { description: "The quotas, by tenant", schema: "QuotaList" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, { quotas: exchange.require("quotas").list() }),
  },
  {
    ...ONE_QUOTA_ROUTE,
    name: "set_quota",
    method: "PUT",
    summary: "Sets how many paid reads a tenant may make in a month; holds at once",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "QuotaRequest" },
    responses: { 200: { description: "The quota as it is now", schema: "Quota" } },
    handle: setQuota,
  },
  {
    ...ONE_QUOTA_ROUTE,
    name: "remove_quota",
    method: "DELETE",
    summary: "Takes a tenant's quota away: its reads are counted and not limited",
    responses: { 200: { description: "The quota as it was", schema: "Quota" } },
    handle: removeQuota,
  },
];

async function setQuota(exchange: Exchange): Promise<Reply> {
  const tenant = parseTenantParameter(exchange);
  const { paid_reads_per_month: limit } = parseQuotaRequest(exchange.readDocument());
  const quota = await exchange.require("quotas").set(tenant, limit);
  await auditQuotaChange(exchange, "quota.set", quota);
  return exchange.document(200, quota);
}

async function removeQuota(exchange: Exchange): Promise<Reply> {
  const quota = await exchange.require("quotas").remove(parseTenantParameter(exchange));
  await auditQuotaChange(exchange, "quota.removed", quota);
  return exchange.document(200, quota);
}

/** Event of `audit_events`, durable before the change is answered. */
function auditQuotaChange(
  exchange: Exchange,
  event: string,
  { tenant, paid_reads_per_month }: QuotaDescription,
): Promise<void> {
  return exchange.recordAuditEvent(event, tenant, { paid_reads_per_month });
}

function parseTenantParameter(exchange: Exchange): string {
  const tenant = exchange.decodedParameter();
  if (isPlainText(tenant, TENANT_LENGTH_MAX)) return tenant;
  const detail = `a tenant is 1 to ${TENANT_LENGTH_MAX} bytes of plain text`;
  throw new ServiceFault("invalid_parameter", detail);
}
