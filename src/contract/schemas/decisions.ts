// Messages of the decision log: how a decision is read back, what comes of judging it again, what
// people make of it, and provenance that is recorded apart from a verdict.
import {
  DECISION_KINDS,
  DECISION_LEGS,
  DECISION_EFFECTS,
  DECISION_FACETS,
  DISPOSITIONS,
  REVIEW_RESOLUTIONS,
} from "../decisions.ts";
import { REQUEST_ID_LENGTH_MAX, REVIEW_NOTE_BYTES_MAX } from "../limits.ts";
import { DECISIONS, REGIMES, TIERS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import { namedAgentId } from "./scored-id.ts";
import * as t from "./schema.ts";

const CONFIG_NAME_LENGTH_MAX = 64;

/** One leg as it is read back. */
const leg = t.defineObject({
  request_id: t.text,
  kind: t.defineChoice(DECISION_KINDS),
  leg: t.defineChoice(DECISION_LEGS),
  ...t.repeatSchema(t.text, "tenant", "key_id", "subject"),
  viewer: t.textOrNull,
  action: t.textOrNull,
  /** Whole seconds; null where verify was not given it. */
  session_duration_sec: t.integerOrNull,
  tool_level: t.defineNullableAnswer(t.defineChoice(TOOL_LEVELS)),
  stakes: t.number,
  verdict: t.defineNullableAnswer(t.defineChoice(VERDICTS)),
  decision: t.defineChoice(DECISIONS),
  leg_decision: t.defineChoice(DECISIONS),
  /** What the decision came to; `enforced`: false in shadow mode. */
  effective: t.defineChoice(DECISION_EFFECTS),
  /** What the answer asks of the caller, enforced or not. */
  disposition: t.defineChoice(DISPOSITIONS),
  ...t.repeatSchema(t.flag, "enforced", "flagged", "known", "is_test"),
  ...t.repeatSchema(
    t.number,
    "internal_score",
    "effective_score",
    "minimum_score",
    "failure_probability",
    "failure_optimistic",
    "failure_pessimistic",
  ),
  tier: t.defineChoice(TIERS),
  regime: t.defineNullableAnswer(t.defineChoice(REGIMES)),
  max_stakes: t.numberOrNull,
  log_reason: t.textOrNull,
  hard_failure: t.textOrNull,
  reason_codes: t.texts,
  config_version: t.text,
  /** Null for decisions of older versions. */
  policy_version: t.textOrNull,
  /** Identical denials that this entry merges; 1 for nearly all. */
  stands_for: t.integer,
  /** Decisions that it stands for, more than `stands_for` in a sample; null where an older version dropped some. */
  weight: t.numberOrNull,
  /** Of W3C Trace Context; null where the request was part of no trace. */
  trace_id: t.textOrNull,
  /** Index of the entry of the policy's `actions` that decided the level; null where none did. */
  action_entry: t.integerOrNull,
  /** That decided; null without a cluster. */
  node: t.textOrNull,
  evaluated_at: t.time,
});
export type LoggedLeg = t.MessageOf<typeof leg>;

/** A leg with the inputs it was judged from, for replay. */
const replayableLeg = t.defineObject({ ...leg.properties, inputs: t.defineList(t.number) });
export type ReplayableLeg = t.MessageOf<typeof replayableLeg>;

/** Body of `POST /v1/provenance`. */
export const ProvenanceRecord = t.defineMessage("ProvenanceRecord", {
  agent_id: namedAgentId,
  action: t.action,
  content_hash: t.contentHash,
  cited_sources: t.citedSources,
  request_id: t.makeOptional(t.defineToken(REQUEST_ID_LENGTH_MAX)),
});
export type ProvenanceRecord = t.MessageOf<typeof ProvenanceRecord>;

export const Accepted = t.defineMessage("Accepted", {
  accepted: t.defineSchema<true>({ const: true }),
  request_id: t.text,
});
const sampled = t.withDescription(
  t.flag,
  "True where decisions of the time asked for have no entry: others stand for them by their `weight`.",
);
export const DecisionList = t.defineMessage("DecisionList", {
  decisions: t.defineList(leg),
  complete: t.withDescription(
    t.flag,
    "False while older decisions still wait to be stored (those listed are the newest), or where `sampled`.",
  ),
  sampled,
  next: t.withDescription(t.textOrNull, "`before` of the next page; null behind the last entry."),
});

const valueCount = t.defineObject({ value: t.text, entries: t.integer, decisions: t.integer });
/** Counts of decisions under a filter. */
export const DecisionFacets = t.defineMessage("DecisionFacets", {
  entries: t.withDescription(t.integer, "Entries under the filter, one per leg."),
  decisions: t.withDescription(
    t.number,
    "Decisions that they stand for: the sum of their weights. Exact unless `sampled`.",
  ),
  looked_at: t.withDescription(
    t.integer,
    "Entries of the time and agent asked for that were looked at.",
  ),
  complete: t.withDescription(
    t.flag,
    "False where there are more (only the newest were looked at), or where `sampled`.",
  ),
  sampled,
  oldest_at: t.withDescription(t.timeOrNull, "The oldest of those looked at."),
  facets: t.withDescription(
    t.defineObject(t.repeatSchema(t.defineList(valueCount), ...DECISION_FACETS)),
    "Most frequent values first, at most 20; each facet counts what all other filters leave.",
  ),
  step_ms: t.withDescription(
    t.integer,
    "Width of a step of `times`, whose counts are of decisions.",
  ),
  times: t.defineList(
    t.defineObject({
      at: t.time,
      allow: t.integer,
      deny: t.integer,
      dispositions: t.defineObject(t.repeatSchema(t.integer, ...DISPOSITIONS)),
    }),
  ),
});
export type DecisionFacets = t.MessageOf<typeof DecisionFacets>;
export const DecisionRecord = t.defineMessage("DecisionRecord", {
  request_id: t.text,
  legs: t.defineList(replayableLeg),
});

/** `config`: the name of one; without it, the active one. */
export const ReplayRequest = t.defineStrictMessage("ReplayRequest", {
  config: t.makeOptional(t.defineToken(CONFIG_NAME_LENGTH_MAX)),
});

export const DecisionReplay = t.defineMessage("DecisionReplay", {
  ...t.repeatSchema(t.text, "request_id", "recorded_config", "replayed_config"),
  /** Null for decisions of older versions: those are judged by the policy in force now. */
  recorded_policy: t.textOrNull,
  replayed_policy: t.text,
  /** True when nothing differs. */
  identical: t.flag,
  differences: t.defineList(
    t.defineObject({
      leg: t.defineChoice(DECISION_LEGS),
      member: t.text,
      recorded: t.makeOptional(t.anything),
      replayed: t.makeOptional(t.anything),
    }),
  ),
});
export type DecisionReplay = t.MessageOf<typeof DecisionReplay>;

/** Body of `POST /v1/reviews/{id}` where the id is a decision's. */
export const ReviewResolution = t.defineStrictMessage("ReviewResolution", {
  resolution: t.defineChoice(REVIEW_RESOLUTIONS),
  note: t.makeOptional(t.definePlainText(REVIEW_NOTE_BYTES_MAX)),
});

export const Review = t.defineMessage("Review", {
  request_id: t.text,
  resolution: t.defineChoice(REVIEW_RESOLUTIONS),
  note: t.textOrNull,
  reviewer: t.text,
  recorded_at: t.time,
});
export const ReviewList = t.defineMessage("ReviewList", {
  reviews: t.withDescription(
    t.defineList(t.anObject),
    "Of the queue: each a `QueuedReview`. Without `state`: flagged decisions.",
  ),
  next: t.makeOptional(
    t.withDescription(t.textOrNull, "Of the queue: `after` of the next page; null for none."),
  ),
  total: t.makeOptional(
    t.withDescription(t.integer, "Of the queue: reviews on all pages, under the same filters."),
  ),
});
export const ExportDays = t.defineMessage("ExportDays", { days: t.texts });
