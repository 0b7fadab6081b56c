// Bodies and parameters of the review queue -> claims, decisions, words of a query, seconds to wait.
import { type FieldError, invalidRequest, ServiceFault } from "../faults.ts";
import { REVIEW_WAIT_SEC_MAX } from "../reviews/events.ts";
import { DisputeRequest, ReportLinkRequest } from "../schemas/disputes.ts";
import { ReviewClaim, ReviewDecision, type ReviewDecisionRequest } from "../schemas/reviews.ts";
import { type Parser, createParser } from "./parser.ts";

export const parseReviewClaim = createParser(ReviewClaim);
export const parseReportLink = createParser(ReportLinkRequest);
const parseDisputeBody = createParser(DisputeRequest);
const parseDecisionBody = createParser(ReviewDecision);

/**
 * A decision: `overturned` needs an expiry and a bound of stakes, `upheld` takes no bound.
 * @throws ServiceFault `invalid_request`.
 */
export const parseReviewDecision: Parser<ReviewDecisionRequest> = (value) => {
  const request = parseDecisionBody(value);
  const { decision, until, max_stakes: stakes } = request;
  const faults: FieldError[] = [];
  if (decision === "overturned" && until === undefined) {
    const detail = "is required: what is let through has an end";
    faults.push({ pointer: "/until", code: "required", detail });
  }
  if (decision === "overturned" && stakes === undefined) {
    const detail = "is required: the largest stakes to let through, or `any`";
    faults.push({ pointer: "/max_stakes", code: "required", detail });
  }
  if (decision === "upheld" && stakes !== undefined) {
    const detail = "is allowed only when `decision` is `overturned`";
    faults.push({ pointer: "/max_stakes", code: "unknown", detail });
  }
  if (faults.length > 0) throw invalidRequest(faults);
  return request;
};

/**
 * A dispute: of a named agent, or of the one that its link is about.
 * @throws ServiceFault `invalid_request`.
 */
export const parseDispute: Parser<DisputeRequest> = (value) => {
  const request = parseDisputeBody(value);
  if (request.agent !== undefined || request.link !== undefined) return request;
  throw invalidRequest([{ pointer: "/agent", code: "required", detail: "is required" }]);
};

/** The same from a form of a page: what is left empty is left out. */
export function parseDisputeForm(text: string): DisputeRequest {
  const fields = [...new URLSearchParams(text)].map(
    ([name, value]) => [name, value.replaceAll("\r\n", "\n")] as const,
  );
  return parseDispute(Object.fromEntries(fields.filter(([, value]) => value !== "")));
}

/** `wait`: whole seconds that a reader waits for the decision; 0 when left out. */
export function parseWaitSec(text: string | null): number {
  if (text === null) return 0;
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= REVIEW_WAIT_SEC_MAX) return seconds;
  const detail = `\`wait\` must be whole seconds, 0 to ${REVIEW_WAIT_SEC_MAX}`;
  throw new ServiceFault("invalid_parameter", detail);
}
