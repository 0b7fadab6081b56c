// Paid reads of routes beside verify, check, handshake and explain: lists, histories, SQL and exports. Each
// counts what its answer gives; nothing is counted for an answer that came too late to be sent.
import { ServiceFault } from "../../contract/faults.ts";
import { isReservedAgent } from "../../contract/identifiers.ts";
import type { PaidRead } from "../../contract/usage.ts";
import { PAID_VIEWS, SCORED_VIEWS } from "../../contract/views.ts";
import type { Exchange } from "../exchange.ts";
import { enforceQuota } from "./quotas.ts";

/** Counts one read about each of these agents; reserved test agents are free. */
export function countAgentReads(
  { services, principal, hasFailed }: Exchange,
  kind: PaidRead,
  agents: readonly string[],
): void {
  if (hasFailed) return;
  services.usage.countReads(principal, kind, agents.length, agents.filter(isReservedAgent).length);
}

/** Counts one read that is about no single agent. */
export function countRequestRead(exchange: Exchange, kind: PaidRead): void {
  const { services, principal, hasFailed } = exchange;
  if (!hasFailed) services.usage.countReads(principal, kind, 1, 0);
}

/** @throws ServiceFault `quota_exceeded` when the tenant's quota is used up. */
export function assertQuotaLeft(exchange: Exchange): void {
  enforceQuota(exchange.services.quotaGuard, exchange);
}

/** Views that the key's scopes do not cover. */
export function listWithheldViews({ principal }: Exchange): readonly string[] {
  const mayRead = principal.scopes.has("score:read") || principal.scopes.has("admin");
  return mayRead ? [] : SCORED_VIEWS;
}

/**
 * Runs a caller's SQL; a query over a view of current scores is one paid read. The store's own parser
 * says which views a text reads, before any of it runs: the query is tried with those views withheld, and
 * if one is read, run under the tenant's quota. Its rejection counts too, since the message may quote values.
 * @throws ServiceFault as `run`; `quota_exceeded`.
 */
export async function runPaidQuery<Result>(
  exchange: Exchange,
  run: (withheld: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const withheld = listWithheldViews(exchange);
  if (withheld.length > 0) return run(withheld);
  try {
    return await run(PAID_VIEWS);
  } catch (error) {
    if (!(error instanceof ServiceFault) || error.code !== "insufficient_scope") throw error;
  }
  assertQuotaLeft(exchange);
  try {
    const result = await run([]);
    countRequestRead(exchange, "query");
    return result;
  } catch (error) {
    if (error instanceof ServiceFault && error.code === "query_rejected") {
      countRequestRead(exchange, "query");
    }
    throw error;
  }
}
