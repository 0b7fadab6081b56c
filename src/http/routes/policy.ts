// Routes of the policy: read the one in force for a tenant, set another. The tenant is the key's;
// an administrator may name any.
import type { TenantPolicies } from "../../bureau/policies.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { isPlainText } from "../../contract/identifiers.ts";
import {
  BODY_BYTES_MAX,
  POLICY_REASON_LENGTH_MAX,
  TENANT_LENGTH_MAX,
} from "../../contract/limits.ts";
import { parsePolicy } from "../../contract/parse/policy.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { parseBacktest } from "../../contract/parse/backtest.ts";
import type { Backtest } from "../../contract/schemas/backtest.ts";
import type { Backtests } from "../../kaizen/kaizen.ts";
import { HTML_MEDIA_TYPE, prefersHtml, negotiateReplyFormat } from "../codec/negotiation.ts";

export const TENANT_PARAMETER =
  "whose policy; another tenant than the key's for an administrator alone";

export const POLICY_ROUTES: readonly Route[] = [
  {
    name: "policy_show",
    method: "GET",
    path: "/v1/policy",
    summary: "The policy in force for the key's tenant",
    access: "score:read",
    query: { tenant: TENANT_PARAMETER },
    responses: { 200: { description: "The policy and its version", schema: "PolicyDocument" } },
    isSynchronous: true,
    handle: (exchange) =>
      exchange.document(
        200,
        requirePolicies(exchange).describePolicy(resolvePolicyTenant(exchange)),
      ),
  },
  {
    name: "policy_set",
    method: "PUT",
    path: "/v1/policy",
    summary: "Sets a tenant's policy: journaled, and in force on every thread before the answer",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "PolicyRequest" },
    query: {
      tenant: TENANT_PARAMETER,
      dry_run: {
        description: "Checks the document and answers the policy that it makes; sets nothing",
        values: ["1"],
      },
      reason: `Why, for the record: 1 to ${POLICY_REASON_LENGTH_MAX} bytes of plain text`,
    },
    responses: { 200: { description: "The policy as it is now", schema: "PolicyDocument" } },
    isSynchronous: false,
    handle: setPolicy,
  },
];

function requirePolicies(exchange: Exchange): TenantPolicies {
  const { policies } = exchange.services;
  if (policies !== undefined) return policies;
  throw new ServiceFault("not_found", "this service runs with the shipped policy alone");
}

/**
 * The tenant that the query names, by default the key's.
 * @throws ServiceFault `insufficient_scope` for another tenant's without `admin`.
 */
export function resolvePolicyTenant({ head, principal }: Exchange): string {
  const named = new URLSearchParams(head.query).get("tenant") ?? principal.tenant;
  if (named === principal.tenant) return named;
  if (!principal.scopes.has("admin")) {
    throw new ServiceFault("insufficient_scope", "another tenant's policy needs scope `admin`");
  }
  if (isPlainText(named, TENANT_LENGTH_MAX)) return named;
  const detail = `\`tenant\` must be 1 to ${TENANT_LENGTH_MAX} bytes without control characters`;
  throw new ServiceFault("invalid_parameter", detail);
}

async function setPolicy(exchange: Exchange): Promise<Reply> {
  const tenant = resolvePolicyTenant(exchange);
  const asked = new URLSearchParams(exchange.head.query);
  const isDryRun = asked.has("dry_run");
  if (isDryRun && asked.get("dry_run") !== "1") {
    throw new ServiceFault("invalid_parameter", "`dry_run` takes `1`, or is left out");
  }
  const reason = asked.get("reason") ?? undefined;
  if (reason !== undefined && !isPlainText(reason, POLICY_REASON_LENGTH_MAX)) {
    const detail = `\`reason\` must be 1 to ${POLICY_REASON_LENGTH_MAX} bytes of plain text`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  const policy = parsePolicy(exchange.readDocument());
  const policies = requirePolicies(exchange);
  if (isDryRun) return exchange.document(200, policies.previewPolicy(tenant, policy));
  const set = await policies.setPolicy(tenant, policy, exchange.principal, reason);
  return exchange.document(200, set);
}

// Routes of the back-test: try a policy on history, list what was tried, read one as data or as a
// page. It may take a minute on a large history: `wait` false answers at once with its id.
const DEADLINE_MS = 300_000;

export const BACKTEST_ROUTES: readonly Route[] = [
  {
    name: "policy_backtest",
    method: "POST",
    path: "/v1/policy/backtest",
    summary: "Tries a policy on the outcomes of the journal, beside the live one; changes nothing",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "BacktestRequest" },
    query: { tenant: TENANT_PARAMETER },
    responses: {
      200: { description: "What either policy would have let through", schema: "Backtest" },
      202: { description: "Under way (`wait` false)", schema: "Backtest" },
    },
    isSynchronous: false,
    deadlineMs: DEADLINE_MS,
    handle: handleBacktestStart,
  },
  {
    name: "policy_backtests",
    method: "GET",
    path: "/v1/policy/backtests",
    summary: "The back-test under way, and the newest 50, without their figures",
    access: "admin",
    responses: { 200: { description: "Back-tests, newest first", schema: "BacktestList" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, requireBacktests(exchange).list()),
  },
  {
    name: "policy_backtest_show",
    method: "GET",
    path: "/v1/policy/backtests/{id}",
    parameter: { description: "The back-test", example: "b-7" },
    summary: "One back-test: figures, or by `Accept: text/html` a page with plots",
    access: "admin",
    responses: {
      200: { description: "The back-test", schema: "Backtest", mediaType: HTML_MEDIA_TYPE },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleBacktestRead,
  },
];

function requireBacktests(exchange: Exchange): Backtests {
  const { backtests } = exchange.services;
  if (backtests !== undefined) return backtests;
  throw new ServiceFault("not_found", "this service makes no back-tests");
}

async function handleBacktestStart(exchange: Exchange): Promise<Reply> {
  const tenant = resolvePolicyTenant(exchange);
  const { waits, ...order } = parseBacktest(exchange.readDocument());
  const backtests = requireBacktests(exchange);
  const started = backtests.start({ ...order, tenant, startedBy: exchange.principal.keyId });
  if (started === undefined) {
    throw new ServiceFault("backtest_running", "a back-test is under way; there is one at a time");
  }
  if (!waits) return exchange.document(202, backtests.find(started.id));
  return exchange.document(200, await waitForBacktest(started.done));
}

/** A back-test that broke is a fault for who waits for it; its record says why. */
async function waitForBacktest(done: Promise<Backtest>): Promise<Backtest> {
  const backtest = await done;
  if (backtest.state === "done") return backtest;
  throw new Error(`back-test ${backtest.backtest_id}: ${backtest.reason}`);
}

function handleBacktestRead(exchange: Exchange): Reply {
  const { accept } = exchange.head;
  const id = exchange.decodedParameter();
  const backtests = requireBacktests(exchange);
  const isPage = prefersHtml(accept);
  if (!isPage) exchange.replyFormat = negotiateReplyFormat(accept);
  const found = isPage ? backtests.page(id) : backtests.find(id);
  if (found === undefined) throw new ServiceFault("not_found", "no such back-test");
  if (typeof found === "string")
    return exchange.text(200, `${HTML_MEDIA_TYPE}; charset=utf-8`, found);
  return exchange.document(200, found);
}
