// Decodes events of the review queue into store rows: the queue's own, and audit events of what people
// did. Openings by calls and counts are no audit events: nobody did them.
import { extractNamespace } from "../contract/namespaces.ts";
import type {
  ReviewCountedEvent,
  ReviewEvent,
  ReviewOpenedEvent,
} from "../contract/reviews/events.ts";
import type { AuditRow, JournalRows } from "../store/rows/journal.ts";
import type { ReviewCallRow, ReviewEventRow } from "../store/rows/review-queue.ts";

/** The rows that a record of the kind `reviewEvent` adds. */
export function decodeReviewRows(payload: Buffer, recordedAtMs: number): Partial<JournalRows> {
  const event = JSON.parse(payload.toString()) as ReviewEvent;
  if (event.event === "review.counted") {
    return { reviewCalls: event.reviews.map(buildReviewCallRow) };
  }
  const key = {
    event: event.event,
    reviewId: event.id,
    tenant: event.tenant,
    agent: event.agent,
    level: event.level,
  };
  if (event.event === "review.opened") {
    const row = { ...EMPTY_REVIEW_EVENT, ...key, ...describeReviewOpening(event) };
    const { dispute } = event;
    const rows = { reviewEvents: [row], reviewCalls: [buildReviewCallRow(event)] };
    if (dispute === undefined) return rows;
    const { id, tenant, agent, level } = event;
    const { actor, by_link } = dispute;
    const detail = JSON.stringify({
      event: "review.disputed",
      id,
      tenant,
      agent,
      level,
      actor,
      by_link,
    });
    return { ...rows, audits: [buildReviewAudit("review.disputed", event, detail, recordedAtMs)] };
  }
  const { who, actor, until_ms: untilMs } = event;
  const act = { ...EMPTY_REVIEW_EVENT, ...key, atMs: event.at_ms, who, actor, untilMs };
  const row =
    event.event === "review.decided"
      ? { ...act, decision: event.decision, note: event.note, maxStakes: event.max_stakes }
      : act;
  const audit = buildReviewAudit(event.event, event, payload.toString(), recordedAtMs);
  return { reviewEvents: [row], audits: [audit] };
}

function buildReviewCallRow(each: ReviewCountedEvent["reviews"][number]): ReviewCallRow {
  return {
    reviewId: each.id,
    calls: each.count,
    lastRequestId: each.last_request_id,
    lastMs: each.last_ms,
    stakesMax: each.stakes_max,
  };
}

const EMPTY_REVIEW_EVENT = {
  who: null,
  actor: null,
  untilMs: null,
  decision: null,
  note: null,
  maxStakes: null,
  kind: null,
  day: null,
  reason: null,
  requestId: null,
  stakes: null,
  statement: null,
  contact: null,
  disputedRequestId: null,
} as const;

function describeReviewOpening({
  dispute,
  ...event
}: ReviewOpenedEvent): Partial<ReviewEventRow> & { atMs: number } {
  return {
    atMs: event.first_ms,
    kind: dispute === undefined ? "held" : "dispute",
    day: event.day,
    reason: event.reason,
    requestId: event.first_request_id,
    stakes: event.first_stakes,
    actor: dispute?.actor ?? null,
    statement: dispute?.statement ?? null,
    contact: dispute?.contact ?? null,
    disputedRequestId: dispute?.request_id ?? null,
  };
}

function buildReviewAudit(
  event: string,
  { tenant, agent }: { tenant: string; agent: string },
  detail: string,
  recordedAtMs: number,
): AuditRow {
  const namespace = agent.startsWith("agent://") ? extractNamespace(agent) : null;
  return { event, tenant, agent, namespace, kid: null, recordedAtMs, detail };
}
