// Routes of a tenant's policy and its back-tests. The tenant is the key's; an administrator may name another.
import { ServiceFault } from "../../contract/faults.ts";
import { isPlainText } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX, POLICY_REASON_LENGTH_MAX } from "../../contract/limits.ts";
import { parsePolicy, parsePolicyDiff } from "../../contract/parse/policy.ts";
import { resolveNamedTenant } from "./decisions.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { throwInvalidParameter } from "../../contract/parse/parameters.ts";
import { parseBacktest } from "../../contract/parse/policy.ts";
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
    handle: (exchange) => {
      const tenant = resolveNamedTenant(exchange);
      return exchange.document(200, exchange.require("policies").describePolicy(tenant));
    },
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
    handle: setPolicy,
  },
];

async function setPolicy(exchange: Exchange): Promise<Reply> {
  const tenant = resolveNamedTenant(exchange);
  const asked = exchange.query;
  const isDryRun = asked.has("dry_run");
  if (isDryRun && asked.get("dry_run") !== "1") {
    throwInvalidParameter("`dry_run` takes `1`, or is left out");
  }
  const reason = asked.get("reason") ?? undefined;
  if (reason !== undefined && !isPlainText(reason, POLICY_REASON_LENGTH_MAX)) {
    throwInvalidParameter(
      `\`reason\` must be 1 to ${POLICY_REASON_LENGTH_MAX} bytes of plain text`,
    );
  }
  const policy = parsePolicy(exchange.readDocument());
  const policies = exchange.require("policies");
  if (isDryRun) return exchange.document(200, policies.previewPolicy(tenant, policy));
  return exchange.document(
    200,
    await policies.setPolicy(tenant, policy, exchange.principal, reason),
  );
}

const DIFF_DEADLINE_MS = 60_000;

export const POLICY_DIFF_ROUTES: readonly Route[] = [
  {
    name: "policy_diff",
    method: "POST",
    path: "/v1/policy/diff",
    summary: "Judges the newest logged verdicts by a draft policy as well; changes nothing",
    access: "admin",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "PolicyDiffRequest" },
    query: { tenant: TENANT_PARAMETER },
    responses: { 200: { description: "The verdicts that it would change", schema: "PolicyDiff" } },
    deadlineMs: DIFF_DEADLINE_MS,
    handle: async (exchange) => {
      const tenant = resolveNamedTenant(exchange);
      const order = parsePolicyDiff(exchange.readDocument());
      const diffs = exchange.require("policyDiffs");
      return exchange.document(200, await diffs.compare({ tenant, ...order }));
    },
  },
];

// Back-tests replay the journal, which takes up to a minute on a large history; `wait: false` answers at once.
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
      200: { description: "What each policy would have allowed", schema: "Backtest" },
      202: { description: "In progress (`wait` false)", schema: "Backtest" },
    },
    deadlineMs: DEADLINE_MS,
    handle: handleBacktestStart,
  },
  {
    name: "policy_backtests",
    method: "GET",
    path: "/v1/policy/backtests",
    summary: "The back-test in progress and the newest 50, without their results",
    access: "admin",
    responses: { 200: { description: "Back-tests, newest first", schema: "BacktestList" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, exchange.require("backtests").list()),
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

async function handleBacktestStart(exchange: Exchange): Promise<Reply> {
  const tenant = resolveNamedTenant(exchange);
  const { waits, ...order } = parseBacktest(exchange.readDocument());
  const backtests = exchange.require("backtests");
  const started = backtests.start({ ...order, tenant, startedBy: exchange.principal.keyId });
  if (started === undefined) {
    throw new ServiceFault("backtest_running", "a back-test is under way; there is one at a time");
  }
  if (!waits) return exchange.document(202, backtests.find(started.id));
  const backtest = await started.done;
  // Its record holds the reason, too.
  if (backtest.state === "done") return exchange.document(200, backtest);
  throw new Error(`back-test ${backtest.backtest_id}: ${backtest.reason}`);
}

function handleBacktestRead(exchange: Exchange): Reply {
  const { accept } = exchange.head;
  const id = exchange.decodedParameter();
  const backtests = exchange.require("backtests");
  const isPage = prefersHtml(accept);
  if (!isPage) exchange.replyFormat = negotiateReplyFormat(accept);
  const found = isPage ? backtests.page(id) : backtests.find(id);
  if (found === undefined) throw new ServiceFault("not_found", "no such back-test");
  if (typeof found === "string")
    return exchange.text(200, `${HTML_MEDIA_TYPE}; charset=utf-8`, found);
  return exchange.document(200, found);
}
