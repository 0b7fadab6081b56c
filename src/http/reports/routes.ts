// Routes for those who were refused: the report on one agent, signed, as data or as a page; the link
// that shares it; and the dispute, which joins the queue of reviews. A report holds what one tenant
// knows from its own decisions, and the score, which is the same for all.
import { invalidRequest, ServiceFault } from "../../contract/faults.ts";
import { isScoredId, parseRecordedId, parseScoredId } from "../../contract/identifiers.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import { parseDispute, parseDisputeForm, parseReportLink } from "../../contract/parse/reviews.ts";
import { describeReview } from "../../contract/reviews/description.ts";
import { REPORT_LINK_SEC_DEFAULT } from "../../contract/reviews/disputes.ts";
import type { StoredReview } from "../../contract/reviews/book.ts";
import type { DisputeReceipt, DisputeRequest } from "../../contract/schemas/disputes.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { Principal } from "../../contract/principal.ts";
import { HTML_MEDIA_TYPE, prefersHtml, negotiateReplyFormat } from "../codec/negotiation.ts";
import { assertDecidedKey } from "../access/lag-guard.ts";
import { countAgentReads } from "../access/paid-reads.ts";
import type { Exchange } from "../exchange.ts";
import { PAGE_HEADERS } from "../openapi/headers.ts";
import { isDeniedLeg, selectReviewLevel, createSignedReport } from "./report.ts";
import {
  renderDisputeReceiptPage,
  REPORT_PAGE_HEADER_LINES,
  renderAgentReportPage,
} from "./page.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { DECISION_TENANT_QUERY } from "../routes/decisions.ts";

const DEADLINE_MS = 10_000;
/** Legs of one decision, and of earlier ones under the same caller's id. */
const LEGS_READ = 10;
const FORM = "application/x-www-form-urlencoded";
const FORMATS = ["json", "html"] as const;
const FORMAT = {
  description: "Instead of `Accept`: data or the page",
  values: FORMATS,
} as const;
const PAGE = { mediaType: HTML_MEDIA_TYPE, headers: PAGE_HEADERS } as const;
const SHARED = { deadlineMs: DEADLINE_MS, isFixedFormat: true } as const;

export const REPORT_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "agent_report",
    method: "GET",
    path: "/v1/agents/{id}/report",
    summary:
      "What counts against an agent, what would help and how to dispute, signed by the bureau: " +
      "data, or by `Accept: text/html` a page",
    access: "score:read",
    rateClass: "score",
    query: { ...DECISION_TENANT_QUERY, format: FORMAT },
    responses: { 200: { description: "The report", schema: "AgentReport", ...PAGE } },
    handle: readAgentReport,
  },
  {
    name: "share_agent_report",
    method: "POST",
    path: "/v1/agents/{id}/report/links",
    summary:
      "Makes a link that opens the report without a key, for a while; a paid read, opening it is free",
    access: "reviews:decide",
    isPaidRead: true,
    query: DECISION_TENANT_QUERY,
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "ReportLinkRequest" },
    responses: { 201: { description: "The link", schema: "ReportLink" } },
    handle: shareReport,
  },
  {
    ...SHARED,
    name: "shared_agent_report",
    method: "GET",
    path: "/v1/shared-reports",
    summary: "The report by such a link: a page, or by `Accept: application/json` data; no key",
    access: "none",
    query: { token: { description: "As the link has it", isRequired: true }, format: FORMAT },
    responses: { 200: { description: "The report", schema: "AgentReport", ...PAGE } },
    handle: readSharedReport,
  },
  {
    ...SHARED,
    name: "dispute",
    method: "POST",
    path: "/v1/disputes",
    summary:
      "Asks a person to look at a refusal: by any API key of the tenant, or with the `link` of a " +
      "shared report in its place; a page's form is taken too",
    access: "none",
    isKeyOptional: true,
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "DisputeRequest" },
    responses: {
      201: { description: "Durable, and in the queue", schema: "DisputeReceipt", ...PAGE },
    },
    handle: handleDispute,
  },
];

/** Whose report it is, and under which principal the score is read. */
interface ReportRequest {
  readonly tenant: string;
  readonly agent: string;
  readonly link: string | undefined;
}

async function readAgentReport(exchange: Exchange): Promise<Reply> {
  const agent = parseReportedAgent(exchange);
  const tenant = resolveReportTenant(exchange);
  const asked = { tenant, agent, link: undefined };
  const reply = await buildReportReply(exchange, asked, exchange.principal);
  countAgentReads(exchange, "explain", [agent]);
  return reply;
}

/** @throws ServiceFault `invalid_parameter` for a name without an agent's form that has no record. */
function parseReportedAgent(exchange: Exchange): string {
  const agent = parseRecordedId(exchange.decodedParameter());
  const isRecorded = () => exchange.services.bureau.explainScore(agent, exchange.call()).known;
  return isScoredId(agent) || isRecorded() ? agent : parseScoredId(agent);
}

function readSharedReport(exchange: Exchange): Promise<Reply> {
  const token = exchange.query.get("token") ?? "";
  const { tenant, agent } = verifySharedLink(exchange, token);
  const asked = { tenant, agent, link: token };
  const principal = { ...exchange.principal, tenant };
  return exchange
    .require("sharedReports")
    .runLimited(() => buildReportReply(exchange, asked, principal));
}

async function buildReportReply(
  exchange: Exchange,
  asked: ReportRequest,
  principal: Principal,
): Promise<Reply> {
  const { link } = asked;
  // A browser that follows a link names the page first; one that names nothing wants the page, too.
  const isPage = wantsPage(exchange, link !== undefined);
  const report = await createSignedReport(exchange.services, asked, {
    ...exchange.call(),
    principal,
  });
  return isPage
    ? buildHtmlReply(exchange, 200, renderAgentReportPage(report, link))
    : buildDataReply(exchange, 200, report);
}

function shareReport(exchange: Exchange): Reply {
  const { valid_sec: validSec = REPORT_LINK_SEC_DEFAULT } = parseReportLink(
    exchange.readDocument(),
  );
  const agent = parseReportedAgent(exchange);
  const tenant = resolveReportTenant(exchange);
  const { keyId } = exchange.principal;
  const { token, expiresMs } = exchange
    .require("sharedReports")
    .createToken({ tenant, agent, keyId }, validSec);
  countAgentReads(exchange, "explain", [agent]);
  const url = `/v1/shared-reports?token=${token}`;
  const expires_at = new Date(expiresMs).toISOString();
  return exchange.document(201, { url, token, expires_at, tenant });
}

async function handleDispute(exchange: Exchange): Promise<Reply> {
  const { contentType = "", authorization } = exchange.head;
  if (contentType === "" && authorization === undefined)
    throw createMissingCredentialsFault(exchange);
  const isKnown = () => exchange.services.keyring.authenticate(authorization) !== undefined;
  // A key that is none is said before anything of the body.
  if (authorization !== undefined && !isKnown()) throw createMissingCredentialsFault(exchange);
  const isForm = contentType.split(";")[0]!.trim().toLowerCase() === FORM;
  const request = isForm
    ? parseDisputeForm(exchange.body.toString())
    : parseDispute(exchange.readDocument());
  const isPage = wantsPage(exchange, isForm);
  const { tenant, agent, keyId } = authenticateDisputeSender(exchange, request);
  const leg = await findDisputedLeg(exchange, tenant, agent, request);
  const { level = leg === undefined ? "connect" : selectReviewLevel(leg) } = request;
  const about = {
    tenant,
    agent,
    level,
    requestId: leg?.request_id ?? exchange.requestId,
    stakes: leg?.stakes ?? 0,
    reason: leg?.log_reason ?? leg?.reason_codes[0] ?? "",
  };
  const review = await exchange.require("reviews").openDispute(about, {
    statement: request.statement,
    contact: request.contact ?? null,
    request_id: request.decision ?? null,
    actor: keyId,
    by_link: request.link !== undefined,
  });
  const receipt = createDisputeReceipt(review, exchange.services.clock());
  return isPage
    ? buildHtmlReply(exchange, 201, renderDisputeReceiptPage(receipt))
    : buildDataReply(exchange, 201, receipt);
}

/** Who may: the holder of a link about its agent, and any key of a tenant. */
function authenticateDisputeSender(exchange: Exchange, { link, agent }: DisputeRequest) {
  if (link !== undefined) {
    const shared = verifySharedLink(exchange, link);
    if (agent === undefined || agent === shared.agent) return shared;
    const detail = "is not the agent of the link";
    throw invalidRequest([{ pointer: "/agent", code: "mismatch", detail }]);
  }
  const principal = exchange.services.keyring.authenticate(exchange.head.authorization);
  if (principal === undefined) throw createMissingCredentialsFault(exchange);
  exchange.extraHeaders = exchange.services.lagGuard?.assertCurrent(principal, undefined);
  exchange.principal = principal;
  return { tenant: principal.tenant, agent: agent!, keyId: principal.keyId };
}

/** @throws ServiceFault `node_behind` where another node may know the key. */
function createMissingCredentialsFault({ services, head }: Exchange): ServiceFault {
  const detail = "send `Authorization: Bearer` and a valid key, or the `link` of a report";
  assertDecidedKey(services, head.authorization);
  return new ServiceFault("unauthenticated", detail);
}

/**
 * The decision that is disputed; without one the agent's newest denial, which says what it asked for.
 * @throws ServiceFault `invalid_request` when the tenant has no such decision about the agent.
 */
async function findDisputedLeg(
  { services: { store } }: Exchange,
  tenant: string,
  agent: string,
  { decision, level }: DisputeRequest,
): Promise<ReplayableLeg | undefined> {
  if (decision === undefined) {
    if (level !== undefined) return undefined;
    const { legs } = await store.readDecisionPage({ tenant, agent, limit: LEGS_READ });
    return legs.find((leg) => leg.subject === agent && isDeniedLeg(leg));
  }
  const about = { tenant, requestId: decision, limit: LEGS_READ };
  const { legs, isComplete } = await store.readDecisionPage(about);
  const leg = legs.find(({ subject }) => subject === agent);
  if (leg !== undefined) return leg;
  if (!isComplete) {
    throw new ServiceFault("store_behind", "many decisions are being stored: send it again");
  }
  const detail = "no decision about the agent has this id";
  throw invalidRequest([{ pointer: "/decision", code: "not_found", detail }]);
}

function verifySharedLink(exchange: Exchange, token: string) {
  const shared = exchange.require("sharedReports").verifyToken(token);
  if (shared !== undefined) return shared;
  // Not 401: no key would help.
  const detail = "the link has expired, was taken back, or is not one of this service";
  throw new ServiceFault("not_found", detail);
}

/** The key's tenant; an administrator may name another. */
function resolveReportTenant({ head, principal }: Exchange): string {
  const named = new URLSearchParams(head.query).get("tenant");
  return (principal.scopes.has("admin") ? named : null) ?? principal.tenant;
}

/** By `format`, else by `Accept`. @throws ServiceFault `invalid_parameter`. */
function wantsPage({ head: { query, accept } }: Exchange, isPageUsual: boolean): boolean {
  const format = new URLSearchParams(query).get("format");
  if (format === null) {
    return prefersHtml(accept) || (isPageUsual && (accept === undefined || accept === "*/*"));
  }
  if (format === "json" || format === "html") return format === "html";
  throw new ServiceFault("invalid_parameter", "`format` must be one of json, html");
}

function buildHtmlReply(exchange: Exchange, status: number, page: string): Reply {
  exchange.extraHeaders = [...(exchange.extraHeaders ?? []), ...REPORT_PAGE_HEADER_LINES];
  return exchange.text(status, `${HTML_MEDIA_TYPE}; charset=utf-8`, page);
}

function buildDataReply(exchange: Exchange, status: number, value: unknown): Reply {
  const { query, accept } = exchange.head;
  // What the query names goes before what a browser accepts.
  if (new URLSearchParams(query).get("format") === null)
    exchange.replyFormat = negotiateReplyFormat(accept);
  return exchange.document(status, value);
}

function createDisputeReceipt(review: StoredReview, nowMs: number): DisputeReceipt {
  const { id, agent, level, state, opened_at, decision, until } = describeReview(review, nowMs);
  const request_id = review.dispute?.request_id ?? null;
  return { id, agent, level, state, opened_at, decision, until, request_id };
}
