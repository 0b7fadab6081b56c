// The sentence that says why a logged decision came out as it did. Its head follows from the answer, its cause from
// the rule that decided and the recorded numbers. Numbers that contradict the answer are left out: an entry that names
// no policy is traced by the one in force now.
import type { Disposition } from "../../contract/decisions.ts";
import { FINDING_MEANINGS } from "../../contract/finding-sentences.ts";
import { REASONS } from "../../contract/reasons.ts";
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import type { Decision, FindingCode, PolicyLabel, ReasonCode } from "../../contract/vocabulary.ts";
import { NEARLY_CERTAIN } from "../../policy/stakes-decision.ts";

type Trace = Omit<DecisionTrace, "why">;
type TracedLeg = Trace["legs"][number];

const HEAD_BY_DISPOSITION: Readonly<Record<Disposition, string>> = {
  allow: "Allowed",
  step_up: "Step-up required",
  person: "Held for a person",
  refuse: "Refused",
};

/** What a cause is made from. */
interface CauseInputs {
  readonly leg: TracedLeg;
  /** The agent as the subject of a clause. */
  readonly agent: string;
  /** `L0` to `L3`, or the connection. */
  readonly level: string;
  readonly isAllowed: boolean;
}

/** One sentence, never empty, that agrees with the answer of the trace. */
export function describeDecision(trace: Trace): string {
  const leg =
    trace.legs.find((each) => selectLegDecision(each) === trace.decision) ?? trace.legs[0]!;
  const isAllowed = trace.disposition === "allow";
  const inputs: CauseInputs = {
    leg,
    agent: trace.kind === "handshake" ? leg.subject : "the agent",
    level: trace.tool_level ?? "a connection",
    isAllowed,
  };
  const reason = isAllowed ? "" : describeMainReason(leg);
  return `${describeAnswer(trace)}: ${describeCause(inputs)}${reason}.`;
}

/** A leg's decision after a reviewer's, which the log names as its reason. */
function selectLegDecision({ decided_by: rule, stakes }: TracedLeg): Decision {
  if (rule === "REVIEW_OVERTURNED" || rule === "CLEARED") return "connect";
  return REFUSING_RULES.has(rule) ? "refuse" : stakes.leg_decision;
}

const REFUSING_RULES: ReadonlySet<string> = new Set(["REVIEW_UPHELD", "SUSPENDED", "STOPPED"]);

function describeAnswer({ disposition, verdict, flagged, enforced }: Trace): string {
  const head = HEAD_BY_DISPOSITION[disposition];
  if (disposition === "allow") return flagged ? `${head} and flagged for review` : head;
  const kind = disposition === "refuse" && verdict === "QUARANTINE" ? " (quarantined)" : "";
  return `${head}${kind}${enforced ? "" : ", but not enforced (shadow mode)"}`;
}

function describeCause(inputs: CauseInputs): string {
  const { leg } = inputs;
  if (leg.is_test) return "a reserved test agent always gets this answer";
  const { decided_by: rule } = leg;
  if (Object.hasOwn(CAUSE_BY_LABEL, rule)) return CAUSE_BY_LABEL[rule as PolicyLabel](inputs);
  if (Object.hasOwn(FINDING_MEANINGS, rule)) return FINDING_MEANINGS[rule as FindingCode];
  if (Object.hasOwn(CAUSE_BY_DECISION, rule)) return CAUSE_BY_DECISION[rule as Decision](inputs);
  return `the rule ${rule} decided`;
}

/** The weightiest reason of the score, unless the cause says it itself. */
function describeMainReason({ reason_codes: codes, is_test: isTest }: TracedLeg): string {
  const code = codes.find((each) => Object.hasOwn(REASONS, each));
  if (code === undefined || isTest || SAID_BY_CAUSE.has(code)) return "";
  return ` (main reason: ${REASONS[code as ReasonCode].meaning})`;
}

const SAID_BY_CAUSE: ReadonlySet<string> = new Set([
  "THIN_FILE",
  "BASE_RATE",
  "STALE_RECORD",
  "STAKES_NEED_VERIFICATION",
  "STAKES_NEED_APPROVAL",
  "FRAUD_FLAG",
  "KEY_REVOKED",
]);

function formatShare(share: number, digits = 2): string {
  return `${Number((share * 100).toPrecision(digits))} %`;
}

/** Significant digits that tell a share from its bound. */
const DIGITS = [2, 3, 8];

interface Comparison {
  readonly share: number | null;
  readonly bound: number | undefined;
  /** Whether the share exceeds the bound; where the numbers say otherwise, the bound is not named. */
  readonly isAbove: boolean;
}

/** `share` in words, and `then` with the bound, or `otherwise` where no bound can be named. */
function compareShare(
  { share, bound = 2, isAbove }: Comparison,
  say: (share: string) => string,
  then: (bound: string) => string,
  otherwise: string,
): string {
  if (share === null) return otherwise;
  const isHeld = bound <= 1 && (isAbove ? share >= bound : share <= bound);
  if (!isHeld) return `${say(formatShare(share))}, ${otherwise}`;
  const digits = DIGITS.find((each) => formatShare(share, each) !== formatShare(bound, each));
  return `${say(formatShare(share, digits))}; ${then(formatShare(bound, digits))}`;
}

/** The number that a rule compares with; the fitted border for levels that use it. */
function findRuleBound({ rules, stakes }: TracedLeg, rule: string): number | undefined {
  const bound = rules?.find((each) => each.rule === rule)?.bound;
  if (bound === "fitted") return stakes.borders?.deny;
  return typeof bound === "number" ? bound : undefined;
}

const sayFailures =
  ({ agent }: CauseInputs) =>
  (share: string) =>
    `${share} of ${agent}'s calls are expected to fail`;

function describeFailures(inputs: CauseInputs): string {
  return sayFailures(inputs)(formatShare(inputs.leg.risk.expected));
}

/** The expected failures, above the bound of a rule. `then`: what the level does beyond it. */
function describeExcess(
  inputs: CauseInputs,
  rule: string,
  then: (bound: string) => string,
): string {
  const { leg, level } = inputs;
  const bound = findRuleBound(leg, rule);
  const compared = { share: leg.risk.expected, bound, isAbove: true };
  return compareShare(compared, sayFailures(inputs), then, `which is too much for ${level}`);
}

function describeThinRecord({ leg, agent }: CauseInputs): string {
  const { known, outcomes } = leg.row;
  if (!known || outcomes === 0) return `no settled outcome of ${agent} is known`;
  const count = outcomes === null ? "" : ` (settled outcomes: ${outcomes})`;
  return `too little is known of ${agent}${count}`;
}

function describeStakes({ stakes: { stakes } }: TracedLeg): string {
  const amount = stakes.toLocaleString("en-US", { maximumFractionDigits: 2 });
  return stakes > 0 ? `at stakes of ${amount}` : "without named stakes";
}

/** The cautious estimate at the stakes beside a border; beyond it, or within, `then` holds. */
function describeAtStakes(
  { leg, agent }: CauseInputs,
  { bound, isAbove }: Pick<Comparison, "bound" | "isAbove">,
  then: string,
): string {
  return compareShare(
    { share: leg.risk.at_stakes, bound, isAbove },
    (share) => `${describeStakes(leg)}, ${share} of ${agent}'s calls may fail (cautious estimate)`,
    (border) => `${isAbove ? "above" : "up to"} ${border}, ${then}`,
    `${describeStakes(leg)}, ${then}`,
  );
}

function describeVerification(inputs: CauseInputs): string {
  const bound = inputs.leg.stakes.borders?.connect;
  return describeAtStakes(inputs, { bound, isAbove: true }, "verification is required");
}

function describeApproval(inputs: CauseInputs): string {
  const { risk, stakes } = inputs.leg;
  const isNearlyCertain = risk.at_stakes !== null && risk.at_stakes > NEARLY_CERTAIN;
  const bound = isNearlyCertain ? NEARLY_CERTAIN : stakes.borders?.connect_with_verification;
  return describeAtStakes(inputs, { bound, isAbove: true }, "a person decides");
}

function describeDenial(inputs: CauseInputs, rule: string): string {
  return describeExcess(inputs, rule, (bound) => `from ${bound} on, ${inputs.level} is denied`);
}

function describeRefusal({ leg, agent, level }: CauseInputs, rule: string): string {
  const { standing } = leg.row;
  if (standing.includes("fraud")) return `${agent} carries a signed fraud flag`;
  if (standing.includes("key_revoked")) return `the newest signing key of ${agent} is revoked`;
  return compareShare(
    { share: leg.risk.optimistic, bound: findRuleBound(leg, rule), isAbove: true },
    (share) => `even at best ${share} of ${agent}'s calls are expected to fail`,
    (bound) => `from ${bound} on, ${level} is refused`,
    `which is too much for ${level}`,
  );
}

function describeStaleRecord({ leg, agent }: CauseInputs): string {
  const days = leg.rules?.find(({ rule }) => rule === "STALE_RECORD_FLAGGED")?.value;
  return typeof days === "number" && days >= 1
    ? `${agent} was last heard of ${Math.floor(days)} days ago`
    : `nothing was heard of ${agent} for long`;
}

/** Causes of a verify by the label that it is logged with, and of a connection that a reviewer decided. */
const CAUSE_BY_LABEL: Readonly<Record<PolicyLabel, (inputs: CauseInputs) => string>> = {
  TRUST_SUFFICIENT: (inputs) => {
    const { leg, level } = inputs;
    const bound = findRuleBound(leg, "RISK_ABOVE_BOUND");
    const compared = { share: leg.risk.expected, bound, isAbove: false };
    const then = (limit: string) => `${level} allows up to ${limit}`;
    return compareShare(compared, sayFailures(inputs), then, `which ${level} allows`);
  },
  RISK_TOLERATED: (inputs) => `${describeFailures(inputs)}, which ${inputs.level} tolerates`,
  RISK_FLAGGED_FOR_REVIEW: (inputs) =>
    describeExcess(
      inputs,
      "RISK_FLAGGED_FOR_REVIEW",
      (bound) => `${inputs.level} flags calls above ${bound}`,
    ),
  THIN_FILE_TOLERATED: (inputs) => `${describeThinRecord(inputs)}, which ${inputs.level} tolerates`,
  THIN_FILE_FLAGGED: (inputs) => `${describeThinRecord(inputs)}, which ${inputs.level} flags`,
  VOUCHED: ({ agent }) => `little is known of ${agent}, and the policy vouches for its namespace`,
  AUDIT_SAMPLE: ({ agent }) =>
    `the record of ${agent} draws a challenge, and the audit sample chose this call`,
  DENIAL_FLAGGED_FOR_REVIEW: (inputs) =>
    `${describeFailures(inputs)}; a sensitive level would deny that, ${inputs.level} flags it`,
  STALE_RECORD_FLAGGED: (inputs) => `${describeStaleRecord(inputs)}, which ${inputs.level} flags`,
  THIN_FILE: (inputs) => `${describeThinRecord(inputs)}, which is not enough for ${inputs.level}`,
  STALE_RECORD: (inputs) =>
    `${describeStaleRecord(inputs)}, and a record that old is verified again`,
  RISK_ABOVE_BOUND: (inputs) =>
    describeExcess(
      inputs,
      "RISK_ABOVE_BOUND",
      (bound) => `at ${inputs.level} at most ${bound} are allowed`,
    ),
  BELOW_TENANT_MINIMUM: ({ leg, agent, level }) => {
    const score = Math.round(leg.score.internal_score);
    const minimum = findRuleBound(leg, "BELOW_TENANT_MINIMUM");
    const isBelow = minimum !== undefined && score < minimum;
    const end = isBelow ? ` of ${minimum}` : "";
    return `the score of ${agent} (${score}) is below the minimum${end} for ${level}`;
  },
  VERIFIED_SOURCES_REQUIRED: ({ level }) =>
    `${level} requires verified sources, and the request has none`,
  STAKES_NEED_VERIFICATION: (inputs) =>
    inputs.isAllowed
      ? `${describeStakes(inputs.leg)}, the call needs verification, which the gateway does itself`
      : describeVerification(inputs),
  STAKES_NEED_APPROVAL: describeApproval,
  RISK_ABOVE_BORDER: (inputs) => describeDenial(inputs, "RISK_ABOVE_BORDER"),
  REFUSE_RULE: (inputs) => describeRefusal(inputs, "REFUSE_RULE"),
  REVIEW_OVERTURNED: ({ agent }) => `a reviewer has approved ${agent}`,
  REVIEW_UPHELD: ({ agent }) => `a reviewer has decided that ${agent} stays refused`,
  SUSPENDED: ({ agent }) => `an operator has suspended ${agent}`,
  STOPPED: () => "an operator has stopped all agents",
  WATCHED: ({ agent }) => `an operator watches ${agent}`,
  CLEARED: ({ agent }) => `an operator has cleared ${agent}`,
  UNUSUAL_RATE: ({ agent, level }) =>
    `${agent} has acted more often within an hour than the limit of ${level}`,
  NEW_ACTIONS: ({ agent, level }) =>
    `${agent} has tried more new actions within an hour than the limit of ${level}`,
  EXPOSURE_ABOVE_CAP: ({ agent }) =>
    `earlier stakes of ${agent} that no outcome has settled count with those of the call, and the sum is too high`,
  SESSION_TOO_OLD: ({ level }) => `the session is older than the limit of ${level}`,
};

/** Causes of a check or a leg of a handshake by its decision. */
const CAUSE_BY_DECISION: Readonly<Record<Decision, (inputs: CauseInputs) => string>> = {
  connect: (inputs) => {
    const bound = inputs.leg.stakes.borders?.connect;
    return describeAtStakes(inputs, { bound, isAbove: false }, "the agent connects");
  },
  connect_with_verification: (inputs) => {
    const { leg } = inputs;
    if (leg.reason_codes.includes("STALE_RECORD")) return CAUSE_BY_LABEL.STALE_RECORD(inputs);
    const { at_stakes: risk, thin } = leg.risk;
    const border = leg.stakes.borders?.connect;
    const isRisky = risk !== null && border !== undefined && risk > border;
    return thin === true && !isRisky ? describeThinRecord(inputs) : describeVerification(inputs);
  },
  escalate: (inputs) => {
    const isDenied = inputs.leg.rules?.some(({ rule, decides }) => decides && rule === "denied");
    return isDenied ? describeDenial(inputs, "denied") : describeApproval(inputs);
  },
  refuse: (inputs) => describeRefusal(inputs, "refuse"),
};
