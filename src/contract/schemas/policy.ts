// Messages of the policy: a document as it is sent, in which everything may be left out, and the
// whole policy as it is answered.
import { isAgentNamespace } from "../identifiers.ts";
import { AUDIT_ONE_IN_MAX, VOUCHED_MAX } from "../limits.ts";
import { THIN_RULES, VOUCHED_LEVELS } from "../policy.ts";
import type { LevelPolicy } from "../policy.ts";
import { isEpochMs, parseDateTime } from "../timestamps.ts";
import { TOOL_LEVELS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const probability = t.between(0, 1);

const BORDERS = "must be `fitted`, `never` or a number from 0 to 1";
const border = t.checked<LevelPolicy["deny_from"]>(
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

const minimumScore = t.checked<LevelPolicy["minimum_score"]>(
  { "~shown": { type: ["number", "null"], minimum: 300, maximum: 850 } },
  (value) => value === null || (typeof value === "number" && value >= 300 && value <= 850),
  (value) =>
    typeof value === "number" ? "range must be 300 to 850" : "type must be a number or null",
);

const AUDITS = `must be a whole number from 2 to ${AUDIT_ONE_IN_MAX}`;
const auditOneIn = t.checked<number>(
  { "~shown": { type: "integer", minimum: 2, maximum: AUDIT_ONE_IN_MAX } },
  (value) => Number.isInteger(value) && 2 <= Number(value) && Number(value) <= AUDIT_ONE_IN_MAX,
  (value) => `${typeof value === "number" ? "range" : "type"} ${AUDITS}`,
);

/** Left out for none, so that a policy from before them keeps its version. */
const audits = {
  audit_one_in: t.optional(auditOneIn),
  audit_max_stakes: t.optional(t.stakes),
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

const levelRequest = t.object(
  {
    allow_up_to: t.optional(rules.allow_up_to),
    allow_handshake_up_to: t.optional(rules.allow_handshake_up_to),
    flag_above: t.optional(rules.flag_above),
    thin: t.optional(rules.thin),
    enforce: t.optional(rules.enforce),
    deny_from: t.optional(rules.deny_from),
    minimum_score: t.optional(rules.minimum_score),
    counts_stakes: t.optional(rules.counts_stakes),
    require_verified_sources: t.optional(rules.require_verified_sources),
    shadow: t.optional(rules.shadow),
    ...audits,
  },
  { ...t.STRICT, "~unknown": "is not a rule of a level" },
);

const NAMESPACE = "must be `agent://name/*`, the name of one or more whole segments";
const namespace = t.checked<string>(
  {
    type: "string",
    "~shown": { pattern: "^agent://([A-Za-z0-9._~-]{1,128}/)+\\*$" },
  },
  isAgentNamespace,
  () => `format ${NAMESPACE}`,
);

/** Parsed, the same moment in UTC with milliseconds: one moment has one spelling, and one version. */
const until = t.checked<string>(
  {
    type: "string",
    "~shown": { format: "date-time" },
    "~read": (value: unknown) => new Date(parseDateTime(value as string)!).toISOString(),
  },
  (value) => isEpochMs(parseDateTime(value as string)),
  () => "format must be an RFC 3339 date-time",
);

const vouchingRequest = t.object(
  {
    namespace,
    until,
    up_to: t.defaulted(t.defineChoice(VOUCHED_LEVELS), "L2"),
    max_stakes: t.defaulted(t.stakes, 0),
  },
  { ...t.STRICT, "~unknown": "is not a member of a vouching" },
);

const rulesRequest = {
  levels: t.optional(
    t.object(t.all(t.optional(levelRequest), ...TOOL_LEVELS), {
      ...t.STRICT,
      "~unknown": "is not a tool level",
    }),
  ),
  allow_inverted: t.optional(t.flag),
  vouched: t.optional(t.list(vouchingRequest, { maxItems: VOUCHED_MAX, "~noun": "namespaces" })),
};

/**
 * `PUT /v1/policy`: rules that are left out are those of the shipped policy. The document that
 * `GET` answers may be sent back as it is: its `policy` counts, the rest of it is only taken.
 */
export const PolicyRequest = t.strict("PolicyRequest", {
  ...rulesRequest,
  policy: t.optional(t.object(rulesRequest, t.STRICT)),
  ...t.all(t.optional(t.text), "tenant", "version"),
  set_by: t.optional(t.textOrNull),
  set_at: t.optional(t.timeOrNull),
});
export type PolicyRequest = t.MessageOf<typeof PolicyRequest>;

/** The operator's word for agents of a namespace whose record is thin. */
export const Vouching = t.object({
  namespace: t.text,
  until: t.time,
  up_to: t.defineChoice(VOUCHED_LEVELS),
  max_stakes: t.number,
});

const wholePolicy = t.object({
  levels: t.object(t.all(t.object({ ...rules, ...audits }), ...TOOL_LEVELS)),
  allow_inverted: t.flag,
  /** Left out for none. */
  vouched: t.optional(t.list(Vouching)),
});

/** The policy in force for a tenant. */
export const PolicyDocument = t.message("PolicyDocument", {
  tenant: t.text,
  /** Names the policy by its content: `p-` and 16 hex digits. */
  version: t.text,
  policy: wholePolicy,
  /** Id of the key that set it; null for the shipped policy. */
  set_by: t.textOrNull,
  set_at: t.timeOrNull,
});
export type PolicyDocument = t.MessageOf<typeof PolicyDocument>;
