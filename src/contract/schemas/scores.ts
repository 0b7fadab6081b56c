// Messages of the routes that read scores: verify and its batch, check, handshake, explain.
import { hash } from "node:crypto";
import { CONTENT_TYPE_LENGTH_MAX } from "../limits.ts";
import { ANSWER_CODES, DECISIONS, LEG_CODES, LOG_REASONS, REASON_CODES } from "../vocabulary.ts";
import { REGIMES, RISK_LEVELS, SOURCE_STATUSES, TIERS } from "../vocabulary.ts";
import { TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import { Vouching } from "./policy.ts";
import { namedAgentId, scoredId } from "./scored-id.ts";
import * as t from "./schema.ts";
import { defineItemResults } from "./service.ts";

const duration = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: 0 } },
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  (value) =>
    Number.isInteger(value)
      ? "range must be a non-negative number of seconds"
      : "type must be an integer",
);

const MEDIA_TYPE =
  "Media type. A parameter `kind=qa`, `summary`, `data`, `claim` or `dialogue` says " +
  "which thresholds the text is judged by; else that is inferred.";

/** Whether the hash, if both are given, is that of the content. */
function isContentAsHashed({ content, content_hash: given }: Record<string, unknown>): boolean {
  if (typeof content !== "string" || typeof given !== "string") return true;
  return given.toLowerCase() === `sha256:${hash("sha256", content, "hex")}`;
}

/** Every member may be left out: metadata is not always known. */
const contextMembers = {
  content_hash: t.makeOptional(
    t.withDescription(t.contentHash, "Of the content as UTF-8; refused where it is of another."),
  ),
  cited_sources: t.makeOptional(t.citedSources),
  session_duration_sec: t.makeOptional(duration),
  content: t.makeOptional(t.withDescription(t.text, "The text itself.")),
  content_type: t.makeOptional(
    t.definePlainText(CONTENT_TYPE_LENGTH_MAX, { description: MEDIA_TYPE }),
  ),
  question: t.makeOptional(t.withDescription(t.text, "The question that the text answers.")),
};
export const VerifyContext = t.defineMessage("VerifyContext", contextMembers, {
  "~refine": [
    {
      check: isContentAsHashed,
      error: () => "mismatch /content_hash is not the digest of `content` as UTF-8",
    },
  ],
});
export type VerifyContext = t.MessageOf<typeof VerifyContext>;

const requestResource = t.defineObject({
  type: t.makeOptional(t.text),
  id: t.makeOptional(t.text),
  properties: t.makeOptional(t.anObject),
});

const reserve = t.makeOptional(
  t.withDescription(
    t.flag,
    "False: the question only looks. No call is counted, and its stakes do not count with later ones.",
  ),
);

/** SPEC §2.2. */
export const VerifyRequest = t.defineMessage("VerifyRequest", {
  agent_id: namedAgentId,
  action: t.action,
  tool_level: t.defineChoice(TOOL_LEVELS),
  stakes: t.makeOptional(
    t.withDescription(
      t.stakes,
      "The value at risk, in the tenant's unit, where it is known; else the level's assumed amount counts.",
    ),
  ),
  levels: t.makeOptional(
    t.withDescription(t.flag, "True: the answer also says what other tool levels would get."),
  ),
  reserve,
  resource: t.makeOptional(
    t.withDescription(requestResource, "What the action is done to; read by a policy's `actions`."),
  ),
  // SPEC §2.2 lists `context` but a gateway may know none of its members: absent is empty.
  context: t.withDefault(VerifyContext, {}),
});
export type VerifyRequest = t.MessageOf<typeof VerifyRequest>;

/** SPEC §4.9 "batch mode". */
export const VerifyBatchRequest = t.defineMessage("VerifyBatchRequest", {
  items: t.defineBatch(VerifyRequest),
});

const stamp = {
  request_id: t.text,
  config_version: t.text,
  evaluated_at: t.time,
  expires_at: t.time,
};
const reasonCodes = t.defineList(t.defineChoice(REASON_CODES));
/** Where a person has to look first. */
export const ReviewPointer = t.defineMessage("ReviewPointer", {
  id: t.text,
  wait: t.withDescription(
    t.text,
    "Path that answers once the review is decided, or after 30 seconds.",
  ),
});
export type ReviewPointer = t.MessageOf<typeof ReviewPointer>;
const review = t.makeOptional(
  t.withDescription(
    ReviewPointer,
    "The review that the call counts towards: it waits for a person.",
  ),
);
const regime = t.makeOptional(t.defineChoice(REGIMES));
const enforced = t.withDescription(t.flag, "False in shadow mode: for the log, not to be applied.");
const maxStakes = t.withDescription(
  t.numberOrNull,
  "The largest stakes at which the answer would be no stricter; for `escalate` the largest that would connect. 0: none is known; null: any.",
);

/** What the same question gets at one tool level, and between which stakes that is the answer. */
export const LevelVerdict = t.defineMessage("LevelVerdict", {
  verdict: t.defineChoice(VERDICTS),
  log_reason: t.defineChoice(LOG_REASONS),
  threshold_met: t.flag,
  reason_codes: t.defineList(t.defineChoice(ANSWER_CODES)),
  max_stakes: t.numberOrNull,
  enforced,
  holds_from: t.withDescription(
    t.number,
    "The smallest stakes at which the answer would be the same.",
  ),
  holds_to: t.withDescription(
    t.numberOrNull,
    "The largest stakes at which it would; null for any.",
  ),
});
export type LevelVerdict = t.MessageOf<typeof LevelVerdict>;

/** SPEC §2.3. */
export const VerifyResponse = t.defineMessage("VerifyResponse", {
  ...stamp,
  trust_evaluation: t.defineObject({
    score: t.defineSchema<number>({ type: "integer", minimum: 0, maximum: 100 }),
    threshold_met: t.flag,
    risk_level: t.defineChoice(RISK_LEVELS),
    internal_score: t.internalScore,
    tier: t.defineChoice(TIERS),
    regime,
    confidence: t.withDescription(
      t.share,
      "One minus the width of the uncertainty in probability.",
    ),
  }),
  provenance_data: t.defineObject({
    is_hallucinated: t.flag,
    source_verified: t.withDescription(
      t.flag,
      "Whether every cited source is registered and active; says nothing about the content.",
    ),
    reason: t.text,
    sources: t.makeOptional(
      t.defineList(t.defineObject({ id: t.text, status: t.defineChoice(SOURCE_STATUSES) })),
    ),
  }),
  policy_action: t.defineObject({
    verdict: t.defineChoice(VERDICTS),
    log_reason: t.defineChoice(LOG_REASONS),
  }),
  reason_codes: t.defineList(t.defineChoice(ANSWER_CODES)),
  max_stakes: t.withDescription(
    t.numberOrNull,
    "The largest stakes that would be ALLOW; null for any.",
  ),
  enforced,
  policy_version: t.withDescription(t.text, "The policy that made the verdict, by its content."),
  levels: t.makeOptional(
    t.withDescription(
      t.defineObject({
        L0: t.makeOptional(LevelVerdict),
        L1: t.makeOptional(LevelVerdict),
        L2: t.makeOptional(LevelVerdict),
        L3: t.makeOptional(LevelVerdict),
      }),
      "By tool level, where asked for. One left out must be asked: its answer goes on record.",
    ),
  ),
  review,
  action_entry: t.makeOptional(
    t.withDescription(
      t.defineObject({
        pointer: t.withDescription(
          t.textOrNull,
          "Entry of the policy that decided; null: the level of the request, or L3.",
        ),
        tool_level: t.defineChoice(TOOL_LEVELS),
        stakes: t.withDescription(t.number, "Stakes that were decided on; 0: none are named."),
      }),
      "Only where the policy lists `actions`: the tool level that decided.",
    ),
  ),
});
export type VerifyResponse = t.MessageOf<typeof VerifyResponse>;

/** The body of a gateway's denial: it may reach the end client, so it holds no numbers. */
export const GatewayDenial = t.defineMessage("GatewayDenial", {
  verdict: t.defineChoice(VERDICTS),
  reason: t.defineChoice(LOG_REASONS),
  request_id: t.text,
});
export type GatewayDenial = t.MessageOf<typeof GatewayDenial>;

export const VerifyBatchResponse = t.defineMessage("VerifyBatchResponse", {
  items: defineItemResults(VerifyResponse),
});
export type VerifyBatchResponse = t.MessageOf<typeof VerifyBatchResponse>;

/** SPEC §4.3 leaves the body open. */
export const CheckRequest = t.defineMessage("CheckRequest", {
  subject: scoredId,
  stakes: t.stakes,
  reserve,
});
export type CheckRequest = t.MessageOf<typeof CheckRequest>;

/** SPEC §2.4. An agent may be asked about itself: the specification does not forbid it. */
export const HandshakeRequest = t.defineMessage("HandshakeRequest", {
  initiator: scoredId,
  counterparty: scoredId,
  stakes: t.stakes,
  reserve,
});
export type HandshakeRequest = t.MessageOf<typeof HandshakeRequest>;

/** SPEC §2.5, leg object, with the extensions every leg carries. */
export const Leg = t.defineMessage("Leg", {
  subject: t.text,
  effective_score: t.number,
  tier: t.defineChoice(TIERS),
  regime,
  decision: t.defineChoice(DECISIONS),
  reasons: t.texts,
  reason_codes: t.defineList(t.defineChoice(LEG_CODES)),
  max_stakes: maxStakes,
  tool_level_max: t.withDescription(
    t.defineChoice(TOOL_LEVELS),
    "The most sensitive tool level that the policy would allow the subject at these stakes.",
  ),
  review,
});
export type Leg = t.MessageOf<typeof Leg>;

export const CheckResponse = t.defineMessage("CheckResponse", {
  ...Leg.properties,
  ...stamp,
  stakes: t.number,
  allowed: t.flag,
  enforced,
});
export type CheckResponse = t.MessageOf<typeof CheckResponse>;
export type VerdictStamp = Pick<CheckResponse, keyof typeof stamp>;

/** SPEC §2.5. */
export const HandshakeResponse = t.defineMessage("HandshakeResponse", {
  ...stamp,
  initiator: t.text,
  counterparty: t.text,
  stakes: t.number,
  a_to_b: Leg,
  b_to_a: Leg,
  decision: t.defineChoice(DECISIONS),
  connected: t.flag,
  reasons: t.texts,
  enforced,
});
export type HandshakeResponse = t.MessageOf<typeof HandshakeResponse>;

/** An agent's standing as it is at present in the table. */
const standing = t.defineObject({
  /** False: every reporter counts fully, whatever is said here. */
  in_force: t.flag,
  /** What an outcome it signs counts now, before pair, pool and cluster caps. */
  weight: t.share,
  /** rho, 0 to 1; null for a stranger. */
  credibility: t.numberOrNull,
  /** The operator vouches for it. */
  is_seed: t.flag,
  /** Reporters of one number are one voice; null for none. */
  cluster: t.integerOrNull,
  /** It has a signing key: what is reported unsigned in its name counts as a stranger's. */
  signs: t.flag,
  /** Most of what is reported of the agent itself comes from strangers. */
  discounted: t.flag,
  /** It is in a ring: a closed group that praises one another and fails outsiders. Its record counts as thin. */
  in_ring: t.flag,
});

/** `GET /v1/agents/{id}`: why the agent scores as it does. */
export const AgentExplanation = t.defineMessage("AgentExplanation", {
  agent_id: t.text,
  known: t.flag,
  ...t.repeatSchema(t.number, "internal_score", "score", "effective_score"),
  tier: t.defineChoice(TIERS),
  regime,
  /** The most sensitive tool level that the policy would allow the agent now, without stakes. */
  tool_level_max: t.defineChoice(TOOL_LEVELS),
  /** The entry of the policy whose word stands in for the agent's thin record; else null. */
  vouched: t.defineSchema<t.MessageOf<typeof Vouching> | null>({
    ...Vouching,
    type: ["object", "null"],
  }),
  /**
   * What operators have said of the agent, its namespaces or all agents, and holds now: a condition's state, or
   * `stopped`. The decisions below follow it.
   */
  conditions: t.defineList(
    t.defineObject({
      state: t.defineChoice(["suspended", "watch", "cleared", "stopped"]),
      scope: t.defineChoice(["tenant", "bureau"]),
      reason: t.text,
      until: t.timeOrNull,
    }),
  ),
  failure_probability: t.defineObject({
    ...t.repeatSchema(t.number, "expected", "optimistic", "pessimistic"),
  }),
  evidence: t.defineObject({
    outcomes: t.integer,
    reported: t.integer,
    ...t.repeatSchema(t.number, "successes_90d", "failures_90d", "successes_14d", "failures_14d"),
    ...t.repeatSchema(t.timeOrNull, "first_seen_at", "last_outcome_at", "last_failure_at"),
    /** Last heard of by weight: a light outcome moves it part of the way. */
    last_heard_at: t.timeOrNull,
    /** Of the outcomes: failures that the cap of an incident made count for nothing. */
    incidents_capped: t.integer,
    max_proven_stakes: t.number,
    /** Days since the agent was heard of, by weight; null for never. */
    silent_days: t.numberOrNull,
    /** The record has been silent for longer than the policy allows; else null. */
    stale_since: t.timeOrNull,
  }),
  unsettled_stakes: t.withDescription(
    t.number,
    "Stakes that your tenant let the agent through for and that no outcome has settled, in your unit.",
  ),
  /** Stakes, in the tenant's unit, that a request without stakes counts for, by level. */
  assumed_stakes: t.defineObject({ L2: t.number, L3: t.number }),
  /** Texts of the agent that first-party keys asked about and that failed for certain. */
  assessments: t.defineObject({
    /** Content found false, capped by asking tenant and faded with 90 days. */
    false_content: t.number,
    /** The same of content whose sources cannot exist or were taken back. */
    bad_sources: t.number,
    last_assessed_at: t.timeOrNull,
  }),
  /** What the agent's word counts as a reporter, and whose word its own record rests on. */
  standing,
  features: t.defineList(t.defineObject({ name: t.text, value: t.number, points: t.number })),
  decisions: t.defineList(
    t.defineObject({
      stakes: t.number,
      decision: t.defineChoice(DECISIONS),
      max_stakes: maxStakes,
    }),
  ),
  /** What would change the decision, one plain sentence each. */
  improvements: t.texts,
  reason_codes: reasonCodes,
  config_version: t.text,
  evaluated_at: t.time,
});
export type AgentExplanation = t.MessageOf<typeof AgentExplanation>;
