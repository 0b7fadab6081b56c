// Messages of the policy: a document as it is sent, in which everything may be left out, and the
// whole policy as it is answered.
import { isNamespacePattern } from "../identifiers.ts";
import { AUDIT_ONE_IN_MAX, STAKES_MAX, VOUCHED_MAX } from "../limits.ts";
import { BROKEN_EVIDENCE_RULES, THIN_RULES, VOUCHED_LEVELS } from "../policy.ts";
import type { LevelPolicy } from "../policy.ts";
import { LIMIT_MODES, LIMIT_NAMES, UNSETTLED_STAKES_MODES } from "../activity/limits.ts";
import { ON_VERIFICATION, STAKES_LEVELS } from "../stakes-policy.ts";
import { isEpochMs, parseDateTimeMs } from "../timestamps.ts";
import { TOOL_LEVELS } from "../vocabulary.ts";
import { actionEntries } from "./actions.ts";
import * as t from "./schema.ts";

const LOSS_SHARE_MAX = 100;

/** A number above 0, up to `maximum`. */
function positive(maximum: number) {
  return t.defineChecked<number>(
    { "~shown": { type: "number", exclusiveMinimum: 0, maximum } },
    (value) => typeof value === "number" && value > 0 && value <= maximum,
    (value) =>
      typeof value === "number"
        ? `range must be above 0 and at most ${maximum}`
        : "type must be a number",
  );
}

const probability = t.defineNumberBetween(0, 1);

const BORDERS = "must be `fitted`, `never` or a number from 0 to 1";
const border = t.defineChecked<LevelPolicy["deny_from"]>(
  {
    "~shown": {
      anyOf: [
        { type: "string", enum: ["fitted", "never"] },
        { type: "number", minimum: 0, maximum: 1 },
      ],
    },
  },
  (value) =>
    value === "fitted" ||
    value === "never" ||
    (typeof value === "number" && value >= 0 && value <= 1),
  (value) => `${typeof value === "number" ? "range" : "type"} ${BORDERS}`,
);

const minimumScore = t.defineChecked<LevelPolicy["minimum_score"]>(
  { "~shown": { type: ["number", "null"], minimum: 300, maximum: 850 } },
  (value) => value === null || (typeof value === "number" && value >= 300 && value <= 850),
  (value) =>
    typeof value === "number" ? "range must be 300 to 850" : "type must be a number or null",
);

const AUDITS = `must be a whole number from 2 to ${AUDIT_ONE_IN_MAX}`;
const auditOneIn = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: 2, maximum: AUDIT_ONE_IN_MAX } },
  (value) => Number.isInteger(value) && 2 <= Number(value) && Number(value) <= AUDIT_ONE_IN_MAX,
  (value) => `${typeof value === "number" ? "range" : "type"} ${AUDITS}`,
);

const limit = t.defineObject(
  { max: t.defineNumberBetween(0, STAKES_MAX), mode: t.defineChoice(LIMIT_MODES) },
  { ...t.STRICT, "~unknown": "is no member of a limit" },
);

const levelLimits = t.defineObject(t.repeatSchema(t.makeOptional(limit), ...LIMIT_NAMES), {
  ...t.STRICT,
  "~unknown": "is no limit of a level",
});

/** Left out for the default, so that a policy from before them keeps its version. */
const optionalRules = {
  limits: t.makeOptional(
    t.withDescription(
      levelLimits,
      "Limits on what an agent does within an hour, on its unsettled stakes and on its session: `enforce` challenges beyond `max`, `log` marks, `off` does nothing. Left out: the shipped ones.",
    ),
  ),
  audit_one_in: t.makeOptional(auditOneIn),
  audit_max_stakes: t.makeOptional(t.stakes),
  broken_evidence: t.makeOptional(
    t.withDescription(
      t.defineChoice(BROKEN_EVIDENCE_RULES),
      "Content that certainly fails: `flag` allows it for review, `withhold` does not. Left out: `flag` at L0 and L1 unless the level enforces.",
    ),
  ),
};

const rules = {
  allow_up_to: probability,
  allow_handshake_up_to: probability,
  flag_above: probability,
  thin: t.defineChoice(THIN_RULES),
  enforce: t.flag,
  deny_from: border,
  minimum_score: minimumScore,
  counts_stakes: t.flag,
  require_verified_sources: t.flag,
  shadow: t.flag,
};

const levelRequest = t.defineObject(
  {
    allow_up_to: t.makeOptional(rules.allow_up_to),
    allow_handshake_up_to: t.makeOptional(rules.allow_handshake_up_to),
    flag_above: t.makeOptional(rules.flag_above),
    thin: t.makeOptional(rules.thin),
    enforce: t.makeOptional(rules.enforce),
    deny_from: t.makeOptional(rules.deny_from),
    minimum_score: t.makeOptional(rules.minimum_score),
    counts_stakes: t.makeOptional(rules.counts_stakes),
    require_verified_sources: t.makeOptional(rules.require_verified_sources),
    shadow: t.makeOptional(rules.shadow),
    ...optionalRules,
  },
  { ...t.STRICT, "~unknown": "is not a rule of a level" },
);

const NAMESPACE = "must be `agent://name/*`, the name of one or more whole segments";
const namespace = t.defineChecked<string>(
  {
    type: "string",
    "~shown": { pattern: `^agent://(${t.AGENT_SEGMENT}/)+\\*$` },
  },
  isNamespacePattern,
  () => `format ${NAMESPACE}`,
);

/** Parsed, the same moment in UTC with milliseconds: one moment has one spelling, and one version. */
const until = t.defineChecked<string>(
  {
    type: "string",
    "~shown": { format: "date-time" },
    "~read": (value: unknown) => new Date(parseDateTimeMs(value as string)!).toISOString(),
  },
  (value) => isEpochMs(parseDateTimeMs(value as string)),
  () => "format must be an RFC 3339 date-time",
);

const vouchingRequest = t.defineObject(
  {
    namespace,
    until,
    up_to: t.withDefault(t.defineChoice(VOUCHED_LEVELS), "L2"),
    max_stakes: t.withDefault(t.stakes, 0),
  },
  { ...t.STRICT, "~unknown": "is not a member of a vouching" },
);

const amount = t.defineNumberBetween(0, STAKES_MAX);
const BPS_MAX = 10_000;
const STALE_DAYS_MAX = 36_500;

const levelStakesMembers = {
  tolerated_loss_bps: t.makeOptional(
    t.withDescription(
      t.defineNumberBetween(0, BPS_MAX),
      "Hundredths of a percent of a good deal's volume that may be lost before verifying pays.",
    ),
  ),
  loss_share: t.makeOptional(
    t.withDescription(positive(LOSS_SHARE_MAX), "Share of the stakes that a failure loses."),
  ),
  assumed: t.makeOptional(
    t.withDescription(
      positive(STAKES_MAX),
      "Stakes that a request counts for at least, also where it names none.",
    ),
  ),
  stale_after_days: t.makeOptional(
    t.withDescription(
      positive(STALE_DAYS_MAX),
      "Days without word after which a good record is verified again.",
    ),
  ),
  on_verification: t.makeOptional(
    t.withDescription(
      t.defineChoice(ON_VERIFICATION),
      "What verify makes of a decision to connect with verification.",
    ),
  ),
};

const levelStakes = t.defineObject(levelStakesMembers, {
  ...t.STRICT,
  "~unknown": "is no member of the stakes of a level",
});

/** What a tenant puts on its stakes; what is left out follows from the first two amounts. */
const stakesPolicy = t.defineObject(
  {
    unit: t.makeOptional(
      t.withDescription(
        positive(STAKES_MAX),
        "Units of account that one of the tenant's units is worth.",
      ),
    ),
    review_cost: t.makeOptional(
      t.withDescription(positive(STAKES_MAX), "What a person's look at one deal costs."),
    ),
    verification_cost: t.makeOptional(amount),
    risk_tolerance: t.makeOptional(
      t.withDescription(positive(STAKES_MAX), "Loss that weighs twice its amount."),
    ),
    review_friction: t.makeOptional(
      t.withDescription(
        t.defineNumberBetween(0, 1),
        "Share of a good deal's volume that a person's look costs in delay and lost deals.",
      ),
    ),
    ...levelStakesMembers,
    levels: t.makeOptional(
      t.defineObject(t.repeatSchema(t.makeOptional(levelStakes), ...STAKES_LEVELS), {
        ...t.STRICT,
        "~unknown": "is no level that has stakes of its own",
      }),
    ),
  },
  { ...t.STRICT, "~unknown": "is no member of the stakes" },
);

const rulesRequest = {
  levels: t.makeOptional(
    t.defineObject(t.repeatSchema(t.makeOptional(levelRequest), ...TOOL_LEVELS), {
      ...t.STRICT,
      "~unknown": "is not a tool level",
    }),
  ),
  allow_inverted: t.makeOptional(t.flag),
  vouched: t.makeOptional(
    t.defineList(vouchingRequest, { maxItems: VOUCHED_MAX, "~noun": "namespaces" }),
  ),
  stakes: t.makeOptional(stakesPolicy),
  actions: actionEntries,
  unsettled_stakes: t.makeOptional(
    t.withDescription(
      t.defineChoice(UNSETTLED_STAKES_MODES),
      "Whether stakes that an agent was let through for and that no outcome has settled count with those of a call. Left out: `enforce`.",
    ),
  ),
};

/**
 * `PUT /v1/policy`: rules that are left out are those of the shipped policy. The document that
 * `GET` answers may be sent back as it is: its `policy` counts, the rest of it is only taken.
 */
export const PolicyRequest = t.defineStrictMessage("PolicyRequest", {
  ...rulesRequest,
  policy: t.makeOptional(t.defineObject(rulesRequest, t.STRICT)),
  ...t.repeatSchema(t.makeOptional(t.text), "tenant", "version"),
  set_by: t.makeOptional(t.textOrNull),
  set_at: t.makeOptional(t.timeOrNull),
  ...t.repeatSchema(
    t.makeOptional(t.defineObject({})),
    "stakes_in_force",
    "minimum_scores_in_force",
    "limits_in_force",
  ),
});
export type PolicyRequest = t.MessageOf<typeof PolicyRequest>;

/** The operator's word for agents of a namespace whose record is thin. */
export const Vouching = t.defineObject({
  namespace: t.text,
  until: t.time,
  up_to: t.defineChoice(VOUCHED_LEVELS),
  max_stakes: t.number,
});

const wholePolicy = t.defineObject({
  levels: t.defineObject(
    t.repeatSchema(t.defineObject({ ...rules, ...optionalRules }), ...TOOL_LEVELS),
  ),
  allow_inverted: t.flag,
  /** Left out for none. */
  vouched: t.makeOptional(t.defineList(Vouching)),
  /** As the tenant wrote it; left out where it set nothing. */
  stakes: t.makeOptional(stakesPolicy),
  /** Left out for none. */
  actions: actionEntries,
  unsettled_stakes: t.makeOptional(t.defineChoice(UNSETTLED_STAKES_MODES)),
});

const stakesTerms = t.defineObject({
  verification_cost: t.number,
  review_cost: t.number,
  risk_tolerance: t.number,
  tolerated_loss_bps: t.number,
  review_friction: t.number,
  loss_share: t.number,
  assumed: t.number,
  stale_after_days: t.number,
  on_verification: t.defineChoice(ON_VERIFICATION),
});

const minimumInForce = t.defineObject({
  internal_score: t.withDescription(
    t.internalScore,
    "`threshold_met` is true from this internal score on, for keys that name no minimum.",
  ),
  enforced: t.withDescription(t.flag, "Whether a lower score is withheld, or only reported."),
});

/** The policy in force for a tenant. */
export const PolicyDocument = t.defineMessage("PolicyDocument", {
  tenant: t.text,
  /** Names the policy by its content: `p-` and 16 hex digits. */
  version: t.text,
  policy: wholePolicy,
  /** The amounts that decide, in the tenant's unit, with what follows from those that were set. */
  stakes_in_force: t.defineObject({
    unit: t.number,
    is_set: t.withDescription(t.flag, "Whether the tenant has set what a person's look costs."),
    connect: stakesTerms,
    L2: stakesTerms,
    L3: stakesTerms,
  }),
  minimum_scores_in_force: t.defineObject(t.repeatSchema(minimumInForce, ...TOOL_LEVELS)),
  /** With the shipped ones filled in; left out for none. */
  limits_in_force: t.defineObject({
    unsettled_stakes: t.defineChoice(UNSETTLED_STAKES_MODES),
    ...t.repeatSchema(levelLimits, ...TOOL_LEVELS),
  }),
  /** Id of the key that set it; null for the shipped policy. */
  set_by: t.textOrNull,
  set_at: t.timeOrNull,
});
export type PolicyDocument = t.MessageOf<typeof PolicyDocument>;
