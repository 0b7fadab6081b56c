// The report on one agent for one tenant: what the score says, what the tenant has refused, what its
// people make of it. Signed, so that whoever is shown it later can tell that it is the bureau's.
import type { CallContext } from "../../bureau/bureau.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { StoredReview } from "../../contract/reviews/book.ts";
import { describeReview } from "../../contract/reviews/description.ts";
import {
  DISPUTES_PER_AGENT_MAX,
  DISPUTES_PER_TENANT_MAX,
  STATEMENT_LENGTH_MAX,
} from "../../contract/reviews/disputes.ts";
import { formatReviewDay } from "../../contract/reviews/events.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { AgentReport, ReportBody } from "../../contract/schemas/disputes.ts";
import type { ReviewLevel } from "../../contract/vocabulary.ts";
import type { HttpServices } from "../services.ts";

/** `typ` of a signed report: no other signature of the bureau can pass for one. */
const REPORT_TYPE = "agent-report+jws";
const DENIALS_MAX = 20;
/** Decisions of which these are the denials. */
const DECISIONS_READ = 200;
const REVIEWS_MAX = 20;

type ReportServices = Pick<
  HttpServices,
  "bureau" | "store" | "reviews" | "signingKeys" | "reporters" | "clock"
>;

/** Whose report on whom. */
interface ReportSubject {
  readonly tenant: string;
  readonly agent: string;
}

/** @throws ServiceFault as the store; `not_found` for a service that cannot sign. */
export async function createSignedReport(
  services: ReportServices,
  asked: ReportSubject,
  call: CallContext,
): Promise<AgentReport> {
  const { signingKeys, clock } = services;
  if (signingKeys === undefined) {
    throw new ServiceFault("not_found", "this service has no signing key");
  }
  const body = await buildReportBody(services, asked, call);
  const { jws, kid } = signingKeys.sign(REPORT_TYPE, {
    iss: body.service_id,
    iat: Math.floor(clock() / 1000),
    ...body,
  });
  return { ...body, jws, kid };
}

/** Whether an answer let nothing through. */
export function isDeniedLeg({ effective }: ReplayableLeg): boolean {
  return effective === "deny";
}

/** What a decision was about, as reviews name it. */
export function selectReviewLevel({ tool_level: level }: ReplayableLeg): ReviewLevel {
  return level ?? "connect";
}

async function buildReportBody(
  { bureau, store, reviews, reporters, clock }: ReportServices,
  { tenant, agent }: ReportSubject,
  call: CallContext,
): Promise<ReportBody> {
  const filter = { tenant, agent, limit: DECISIONS_READ };
  const { legs, isComplete, isSampled } = await store.readDecisionPage(filter);
  const denied = legs.filter((leg) => leg.subject === agent && isDeniedLeg(leg));
  const explained = bureau.explainScore(agent, call);
  const nowMs = clock();
  const { evidence, known, score, tier, config_version } = explained;
  const { successes_90d, failures_90d, outcomes } = evidence;
  const { first_seen_at, last_outcome_at, last_failure_at } = evidence;
  return {
    agent_id: agent,
    tenant,
    evaluated_at: new Date(nowMs).toISOString(),
    known,
    score,
    tier,
    config_version,
    max_stakes: explained.decisions[0]?.max_stakes ?? null,
    against: bureau.listObjections(explained),
    evidence: {
      outcomes,
      successes_90d,
      failures_90d,
      first_seen_at,
      last_outcome_at,
      last_failure_at,
    },
    denials: denied.slice(0, DENIALS_MAX).map((leg) => ({
      request_id: leg.request_id,
      evaluated_at: leg.evaluated_at,
      level: selectReviewLevel(leg),
      stakes: leg.stakes,
      verdict: leg.verdict,
      decision: leg.decision,
      reason: leg.log_reason,
      reason_codes: leg.reason_codes,
    })),
    complete: isComplete && !isSampled,
    reviews: listReportReviews(reviews, { tenant, agent }, nowMs),
    dispute: {
      path: "/v1/disputes",
      statement_length_max: STATEMENT_LENGTH_MAX,
      left_today: countDisputesLeftToday(reviews, { tenant, agent }, nowMs),
    },
    service_id: reporters?.serviceId ?? "",
  };
}

function countDisputesLeftToday(
  queue: ReportServices["reviews"],
  { tenant, agent }: ReportSubject,
  nowMs: number,
): number {
  if (queue === undefined) return 0;
  const { ofAgent, ofTenant } = queue.book.countDisputes(formatReviewDay(nowMs), tenant, agent);
  return Math.max(
    0,
    Math.min(DISPUTES_PER_AGENT_MAX - ofAgent, DISPUTES_PER_TENANT_MAX - ofTenant),
  );
}

/** Without who decided, and what they noted: that is the tenant's own. */
function listReportReviews(
  queue: ReportServices["reviews"],
  { tenant, agent }: ReportSubject,
  nowMs: number,
): ReportBody["reviews"] {
  // The book itself: a copy of every review would cost whoever opens a link nothing, and us much.
  const own: StoredReview[] = [];
  for (const review of queue?.book.listReviews() ?? []) {
    if (review.agent === agent && review.tenant === tenant) own.push(review);
  }
  return own
    .slice(-REVIEWS_MAX)
    .toReversed()
    .map((review) => {
      const { kind, id, level, state, opened_at, decision, until } = describeReview(review, nowMs);
      return { kind, id, level, state, opened_at, decision, until };
    });
}
