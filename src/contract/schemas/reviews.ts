// Messages of the review queue: a review, and what a person claims and decides.
import { REVIEW_NOTE_BYTES_MAX } from "../limits.ts";
import { REVIEW_LEASE_SEC_MAX, REVIEWER_BYTES_MAX } from "../reviews/events.ts";
import { REVIEW_DECISIONS, REVIEW_KINDS, REVIEW_LEVELS, REVIEW_STATES } from "../vocabulary.ts";
import * as t from "./schema.ts";

const who = t.withDescription(
  t.definePlainText(REVIEWER_BYTES_MAX),
  "The person, where several share a key; the key's id when left out.",
);

const leaseSec = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: 1, maximum: REVIEW_LEASE_SEC_MAX } },
  (value) => Number.isInteger(value) && 1 <= Number(value) && Number(value) <= REVIEW_LEASE_SEC_MAX,
  () => `range must be whole seconds, 1 to ${REVIEW_LEASE_SEC_MAX}`,
);

/** Body of `POST /v1/reviews/{id}/claim`. */
export const ReviewClaim = t.defineStrictMessage("ReviewClaim", {
  who: t.makeOptional(who),
  lease_sec: t.makeOptional(t.withDescription(leaseSec, "Seconds before others may decide again.")),
});
export type ReviewClaimRequest = t.MessageOf<typeof ReviewClaim>;

/** Body of `POST /v1/reviews/{id}/decision`. */
export const ReviewDecision = t.defineStrictMessage("ReviewDecision", {
  decision: t.defineChoice(REVIEW_DECISIONS),
  note: t.makeOptional(t.definePlainText(REVIEW_NOTE_BYTES_MAX)),
  who: t.makeOptional(who),
  until: t.makeOptional(
    t.withDescription(
      t.timeOrMs,
      "When it expires. Overturned needs it; upheld holds for a day without.",
    ),
  ),
  max_stakes: t.makeOptional(
    t.withDescription(t.stakesOrAny, "Overturned needs it: up to these stakes, or `any`."),
  ),
  again: t.makeOptional(
    t.withDescription(t.flag, "True: replaces the decision of a decided review."),
  ),
});
export type ReviewDecisionRequest = t.MessageOf<typeof ReviewDecision>;

const said = t.defineObject({
  statement: t.withDescription(t.text, "As it was sent: text, with line breaks."),
  contact: t.textOrNull,
  request_id: t.withDescription(
    t.textOrNull,
    "The decision disputed; null: the standing as a whole.",
  ),
  actor: t.withDescription(t.text, "The API key that sent it, or that made the link it came by."),
  by_link: t.withDescription(t.flag, "Whether it came by a shared link."),
});

/** One entry of the queue: an agent that is held back at a level, with the calls of a day. */
export const QueuedReview = t.defineMessage("QueuedReview", {
  id: t.text,
  kind: t.withDescription(
    t.defineChoice(REVIEW_KINDS),
    "Calls that were held back, or somebody who disputes.",
  ),
  state: t.defineChoice(REVIEW_STATES),
  ...t.repeatSchema(t.text, "tenant", "agent"),
  level: t.withDescription(
    t.defineChoice(REVIEW_LEVELS),
    "The tool level of verify; `connect` for check and handshake, which name none.",
  ),
  day: t.withDescription(t.text, "UTC day of the calls."),
  reason: t.withDescription(
    t.text,
    "The rule that held the first call back, as `log_reason` names it.",
  ),
  count: t.withDescription(t.integer, "Calls that it stands for."),
  opened_at: t.time,
  last_at: t.time,
  first_request_id: t.withDescription(t.text, "The decision that opened it."),
  last_request_id: t.text,
  ...t.repeatSchema(t.number, "first_stakes", "last_stakes", "stakes_max"),
  claimed_by: t.withDescription(
    t.textOrNull,
    "Reviewer who has claimed it; null when unclaimed or the lease has expired.",
  ),
  claimed_until: t.timeOrNull,
  decision: t.defineNullableAnswer(t.defineChoice(REVIEW_DECISIONS)),
  ...t.repeatSchema(t.textOrNull, "note", "decided_by"),
  decided_at: t.timeOrNull,
  until: t.withDescription(t.timeOrNull, "The decision holds before this."),
  in_force: t.withDescription(t.flag, "Whether the decision holds now."),
  max_stakes: t.withDescription(t.numberOrNull, "Overturned: up to these stakes; null for any."),
  settled_by: t.withDescription(
    t.textOrNull,
    "The review whose decision settled this one as well.",
  ),
  waiting: t.withDescription(t.integer, "Callers that wait for its decision at this moment."),
  dispute: t.withDescription(
    t.defineSchema<t.MessageOf<typeof said> | null>({ ...said, type: ["object", "null"] }),
    "What was said, where the review is a dispute.",
  ),
});
export type QueuedReview = t.MessageOf<typeof QueuedReview>;
