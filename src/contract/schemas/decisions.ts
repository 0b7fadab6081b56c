// Messages of the decision log: how a decision is read back, what comes of judging it again, what
// people make of it, and provenance that is recorded apart from a verdict.
import { DECISION_KINDS, DECISION_LEGS, REVIEW_RESOLUTIONS } from "../decisions.ts";
import { AGENT_ID_BYTES_MAX, REQUEST_ID_LENGTH_MAX, REVIEW_NOTE_BYTES_MAX } from "../limits.ts";
import { DECISIONS, REGIMES, TIERS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import * as kind from "./kinds.ts";
import {
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  oneOfOrNull,
  optional,
  schemaOf,
  STRICT,
} from "./schema.ts";

const { flag, number, text, textOrNull, texts, time } = kind;
const CONFIG_NAME_LENGTH_MAX = 64;

/** One leg as it is read back. */
const leg = object({
  request_id: text,
  kind: oneOf(DECISION_KINDS),
  leg: oneOf(DECISION_LEGS),
  tenant: text,
  key_id: text,
  subject: text,
  viewer: textOrNull,
  action: textOrNull,
  tool_level: oneOfOrNull(TOOL_LEVELS),
  stakes: number,
  verdict: oneOfOrNull(VERDICTS),
  decision: oneOf(DECISIONS),
  leg_decision: oneOf(DECISIONS),
  /** What the decision came to; `enforced`: false in shadow mode. */
  effective: oneOf(["allow", "deny"]),
  enforced: flag,
  flagged: flag,
  known: flag,
  is_test: flag,
  internal_score: number,
  effective_score: number,
  minimum_score: number,
  failure_probability: number,
  failure_optimistic: number,
  failure_pessimistic: number,
  tier: oneOf(TIERS),
  regime: oneOfOrNull(REGIMES),
  max_stakes: kind.numberOrNull,
  log_reason: textOrNull,
  hard_failure: textOrNull,
  reason_codes: texts,
  config_version: text,
  evaluated_at: time,
});
export type LoggedLeg = MessageOf<typeof leg>;

/** A leg with the inputs it was judged from, for replay. */
const replayableLeg = object({ ...leg.properties, inputs: list(number) });
export type ReplayableLeg = MessageOf<typeof replayableLeg>;

/** Body of `POST /v1/provenance`. */
export const ProvenanceRecord = message("ProvenanceRecord", {
  agent_id: kind.plainText(AGENT_ID_BYTES_MAX),
  action: kind.action,
  content_hash: kind.contentHash,
  cited_sources: kind.citedSources,
  request_id: optional(kind.token(REQUEST_ID_LENGTH_MAX)),
});

export const Accepted = message("Accepted", {
  accepted: schemaOf<true>({ const: true }),
  request_id: text,
});
export const DecisionList = message("DecisionList", { decisions: list(leg) });
export const DecisionRecord = message("DecisionRecord", {
  request_id: text,
  legs: list(replayableLeg),
});

/** `config`: the name of one; without it, the active one. */
export const ReplayRequest = message(
  "ReplayRequest",
  { config: optional(kind.token(CONFIG_NAME_LENGTH_MAX)) },
  STRICT,
);

export const DecisionReplay = message("DecisionReplay", {
  request_id: text,
  recorded_config: text,
  replayed_config: text,
  /** True when nothing differs. */
  identical: flag,
  differences: list(
    object({
      leg: oneOf(DECISION_LEGS),
      member: text,
      recorded: optional(kind.anything),
      replayed: optional(kind.anything),
    }),
  ),
});
export type DecisionReplay = MessageOf<typeof DecisionReplay>;

/** Body of `POST /v1/reviews/{request_id}`. */
export const ReviewResolution = message(
  "ReviewResolution",
  {
    resolution: oneOf(REVIEW_RESOLUTIONS),
    note: optional(kind.plainText(REVIEW_NOTE_BYTES_MAX)),
  },
  STRICT,
);

export const Review = message("Review", {
  request_id: text,
  resolution: oneOf(REVIEW_RESOLUTIONS),
  note: textOrNull,
  reviewer: text,
  recorded_at: time,
});
export const ReviewList = message("ReviewList", { reviews: list(kind.anObject) });
export const ExportDays = message("ExportDays", { days: texts });
