// Policy rules of verify (SPEC §2.3, §3, §8.2): the ordered rule tables, the verdict that they give, and
// its explanation. Record rules come first, then rules that can only make the verdict stricter, combined by
// `max` of restriction. The decision is a chain of ifs over the tables' own predicates, in the tables'
// order: a loop over the tables would be an indirect call for each rule of every verify. A property test
// holds both to the same rule. Pure; allocates only a ruling for broken provenance.
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { LevelPolicy, Policy } from "../contract/policy.ts";
import { DECISION, DECISIONS, VERDICT, VERDICTS } from "../contract/vocabulary.ts";
import type { FindingCode, LogReason, ToolLevel, Verdict } from "../contract/vocabulary.ts";
import {
  createRuling,
  SUFFICIENT,
  TOLERATED,
  RISK_FLAGGED,
  THIN_TOLERATED,
  THIN_FLAGGED,
  VOUCHED,
  DENIED_FLAGGED,
  THIN_RECORD,
  RISK_ABOVE_BOUND,
  BELOW_MINIMUM,
  SOURCES_REQUIRED,
  RISK_ABOVE_BORDER,
  REFUSED,
  STAKES_VERIFICATION,
  RULING_BY_DECISION,
  selectFailureVerdictIndex,
} from "./rulings.ts";
import type { Ruling } from "./rulings.ts";

/** The part of a score that the rules read. */
export interface PolicyRisk {
  /** 0 to 1, expected. */
  readonly failureProbability: number;
  readonly failureOptimistic: number;
  readonly isThin: boolean;
  readonly isDenied: boolean;
  readonly isRefused: boolean;
  /** Index into DECISIONS: the decision of `check` at the stakes given; connect without stakes. */
  readonly decisionIndex: number;
}

/** Everything that the rules of one tool level look at. Reused on the hot path: filled again for each level. */
export interface RuleInputs {
  toolLevel: ToolLevel;
  level: LevelPolicy;
  risk: PolicyRisk;
  /** Rounded score of the agent, and the higher minimum of key and policy. */
  scoreInternal: number;
  scoreMinimum: number;
  /** Not `threshold_met` of the wire: a shipped minimum counts there, but not here (policy-query.ts). */
  isMinimumMet: boolean;
  /** Code of broken or doubtful provenance; empty where it holds or was not assessed. */
  failureCode: FindingCode | "";
  areSourcesVerified: boolean;
  /** Failure probability, inclusive. */
  allowUpTo: number;
  /** Whether the operator vouches for the agent (vouching.ts), at these stakes, and up to which. */
  isVouched: boolean;
  areStakesVouched: boolean;
  vouchedStakesMax: number;
}

const NEUTRAL_RISK: PolicyRisk = {
  failureProbability: 0,
  failureOptimistic: 0,
  isThin: false,
  isDenied: false,
  isRefused: false,
  decisionIndex: DECISION.connect,
};

/** Inputs at which no rule beyond the record's holds; by default of a clear record. */
export function createRuleInputs(
  toolLevel: ToolLevel = "L0",
  level: LevelPolicy = DEFAULT_POLICY.levels[toolLevel],
  risk: PolicyRisk = NEUTRAL_RISK,
): RuleInputs {
  return {
    toolLevel,
    level,
    risk,
    scoreInternal: 0,
    scoreMinimum: 0,
    isMinimumMet: true,
    failureCode: "",
    areSourcesVerified: true,
    allowUpTo: level.allow_up_to,
    isVouched: false,
    areStakesVouched: false,
    vouchedStakesMax: 0,
  };
}

const { ALLOW, CHALLENGE } = VERDICT;

/**
 * Whether a ruling holds the request until a reviewer has decided: a denial by the threshold, or a
 * challenge at stakes at which `check` would escalate, whichever rule named the challenge.
 */
export function isReviewRequired(
  ruling: Ruling,
  { level, risk }: Pick<RuleInputs, "level" | "risk">,
): boolean {
  if (ruling === RISK_ABOVE_BORDER) return true;
  const isEscalated =
    level.enforce && level.counts_stakes && risk.decisionIndex === DECISION.escalate;
  return isEscalated && ruling.verdictIndex === CHALLENGE;
}

/** Upper bounds (inclusive) of the failure probability; above the last: CRITICAL. */
export const RISK_BOUNDS = [0.05, 0.15, 0.4] as const;

/** Index into RISK_LEVELS of a failure probability; the bounds are 5, 15 and 40 %. */
export function computeRiskIndex(failureProbability: number): number {
  let index = 0;
  while (index < RISK_BOUNDS.length && failureProbability > RISK_BOUNDS[index]!) index += 1;
  return index;
}

/** Whether a probability is at or above the level's denial threshold: the config's own, the tenant's, or none. */
function isAboveDenialThreshold(
  { level, risk }: RuleInputs,
  probability: number,
  isAboveConfigThreshold: boolean,
): boolean {
  if (level.deny_from === "fitted") return isAboveConfigThreshold;
  return level.deny_from !== "never" && !risk.isThin && probability >= level.deny_from;
}

/** Rules on a record itself (a fraud flag, a revoked key) refuse under any threshold. */
function isRefused(rules: RuleInputs): boolean {
  const { failureOptimistic, isRefused: isRecordRefused } = rules.risk;
  return isAboveDenialThreshold(rules, failureOptimistic, isRecordRefused) || isRecordRefused;
}

function isDenied(rules: RuleInputs): boolean {
  return isAboveDenialThreshold(rules, rules.risk.failureProbability, rules.risk.isDenied);
}

function isDeniedOrRefused(rules: RuleInputs): boolean {
  return isDenied(rules) || rules.risk.isRefused;
}

function isThin({ risk }: RuleInputs): boolean {
  return risk.isThin;
}

function isThinTolerated({ level, risk }: RuleInputs): boolean {
  return risk.isThin && level.thin !== "challenge";
}

/** Uncertainty alone. Where the level allows a thin record, a vouching changes nothing. */
function selectThinRecordRuling({ level: { thin }, isVouched }: RuleInputs): Ruling {
  if (thin === "allow") return THIN_TOLERATED;
  if (isVouched) return VOUCHED;
  return thin === "flag" ? THIN_FLAGGED : THIN_RECORD;
}

function isAboveAllowBound({ risk, allowUpTo }: RuleInputs): boolean {
  return risk.failureProbability > allowUpTo;
}

function isAboveFlagBound({ risk, level }: RuleInputs): boolean {
  return risk.failureProbability > level.flag_above;
}

function isAboveToleratedBound({ risk, allowUpTo }: RuleInputs): boolean {
  return risk.failureProbability > allowUpTo || risk.failureProbability > RISK_BOUNDS[0];
}

function isBelowMinimum({ isMinimumMet }: RuleInputs): boolean {
  return !isMinimumMet;
}

function doStakesCount({ level, risk, areStakesVouched }: RuleInputs): boolean {
  const isVouchingEnough = areStakesVouched && risk.isThin && risk.decisionIndex < DECISION.refuse;
  return level.counts_stakes && !isVouchingEnough;
}

function selectStakesRuling({ risk }: RuleInputs): Ruling {
  return RULING_BY_DECISION[risk.decisionIndex]!;
}

/** Whether the level requires verified sources and the request has none. */
export function areSourcesMissing({ level, areSourcesVerified }: RuleInputs): boolean {
  return level.require_verified_sources && !areSourcesVerified;
}

/** One row of a rule table. */
interface PolicyRule {
  /** The ruling where the rule holds; a trace names it also where the rule does not. */
  readonly ruling: Ruling | ((rules: RuleInputs) => Ruling);
  /** Member of the level that sets the bound; null where none does. */
  readonly member: keyof LevelPolicy | null;
  readonly holds: (rules: RuleInputs) => boolean;
  /** What the rule compares with its bound. */
  readonly value: (rules: RuleInputs) => unknown;
  /** Defaults to the level's member. */
  readonly bound?: (rules: RuleInputs) => unknown;
}

const readExpected = ({ risk }: RuleInputs) => risk.failureProbability;
const THIN_RULE = { ruling: selectThinRecordRuling, member: "thin", value: isThin } as const;
const FLAG_RULE: PolicyRule = {
  ruling: RISK_FLAGGED,
  member: "flag_above",
  holds: isAboveFlagBound,
  value: readExpected,
};
const SUFFICIENT_RULE: PolicyRule = {
  ruling: SUFFICIENT,
  member: null,
  holds: () => true,
  value: () => null,
};

/** Record rules of an enforced level: the first that holds decides. */
const ENFORCED_RECORD_RULES: readonly PolicyRule[] = [
  {
    ruling: REFUSED,
    member: "deny_from",
    holds: isRefused,
    value: ({ risk }) => risk.failureOptimistic,
  },
  { ruling: RISK_ABOVE_BORDER, member: "deny_from", holds: isDenied, value: readExpected },
  { ...THIN_RULE, holds: isThin },
  {
    ruling: RISK_ABOVE_BOUND,
    member: "allow_up_to",
    holds: isAboveAllowBound,
    value: readExpected,
    bound: ({ allowUpTo }) => allowUpTo,
  },
  FLAG_RULE,
  SUFFICIENT_RULE,
];

function decideEnforcedRecordRuling(rules: RuleInputs): Ruling {
  if (isRefused(rules)) return REFUSED;
  if (isDenied(rules)) return RISK_ABOVE_BORDER;
  if (isThin(rules)) return selectThinRecordRuling(rules);
  if (isAboveAllowBound(rules)) return RISK_ABOVE_BOUND;
  return isAboveFlagBound(rules) ? RISK_FLAGGED : SUFFICIENT;
}

/** Record rules of a level that enforces nothing: the first that holds decides. */
const UNENFORCED_RECORD_RULES: readonly PolicyRule[] = [
  {
    ruling: DENIED_FLAGGED,
    member: "deny_from",
    holds: isDeniedOrRefused,
    value: readExpected,
  },
  { ...THIN_RULE, holds: isThinTolerated },
  FLAG_RULE,
  {
    ruling: TOLERATED,
    member: "allow_up_to",
    holds: isAboveToleratedBound,
    value: readExpected,
    bound: ({ allowUpTo }) => Math.min(allowUpTo, RISK_BOUNDS[0]),
  },
  SUFFICIENT_RULE,
];

function decideUnenforcedRecordRuling(rules: RuleInputs): Ruling {
  if (isDeniedOrRefused(rules)) return DENIED_FLAGGED;
  if (isThinTolerated(rules)) return selectThinRecordRuling(rules);
  if (isAboveFlagBound(rules)) return RISK_FLAGGED;
  return isAboveToleratedBound(rules) ? TOLERATED : SUFFICIENT;
}

/** Rules of an enforced level that can only make it stricter: all are asked, the strictest counts. */
const STRICTER_RULES: readonly PolicyRule[] = [
  {
    ruling: BELOW_MINIMUM,
    member: "minimum_score",
    holds: isBelowMinimum,
    value: ({ scoreInternal }) => scoreInternal,
    bound: ({ scoreMinimum }) => scoreMinimum,
  },
  {
    ruling: (rules) => {
      const ruling = selectStakesRuling(rules);
      return ruling === SUFFICIENT ? STAKES_VERIFICATION : ruling;
    },
    member: "counts_stakes",
    holds: (rules) => doStakesCount(rules) && selectStakesRuling(rules) !== SUFFICIENT,
    value: ({ risk }) => DECISIONS[risk.decisionIndex],
  },
  {
    ruling: SOURCES_REQUIRED,
    member: "require_verified_sources",
    holds: areSourcesMissing,
    value: ({ areSourcesVerified }) => areSourcesVerified,
  },
];

/** The ruling of one tool level. The last rule that makes it stricter names it. */
export function applyPolicyRules(rules: RuleInputs): Ruling {
  const { toolLevel, level, failureCode } = rules;
  let decided = level.enforce
    ? decideEnforcedRecordRuling(rules)
    : decideUnenforcedRecordRuling(rules);
  if (level.enforce) {
    if (isBelowMinimum(rules)) decided = selectStricterRuling(decided, BELOW_MINIMUM);
    if (doStakesCount(rules)) decided = selectStricterRuling(decided, selectStakesRuling(rules));
    if (areSourcesMissing(rules)) decided = selectStricterRuling(decided, SOURCES_REQUIRED);
  }
  if (failureCode === "") return decided;
  const verdictIndex = selectFailureVerdictIndex(toolLevel, failureCode);
  return verdictIndex > decided.verdictIndex ? createRuling(verdictIndex, failureCode) : decided;
}

function selectStricterRuling(current: Ruling, candidate: Ruling): Ruling {
  return candidate.verdictIndex > current.verdictIndex ? candidate : current;
}

/** One rule as it was applied. */
export interface RuleStep {
  rule: LogReason;
  verdict: Verdict;
  member: keyof LevelPolicy | null;
  bound: unknown;
  value: unknown;
  /** Null: not reached, because a rule before it has decided. */
  holds: boolean | null;
  /** True of the one that decided. */
  decides: boolean;
}

/** Every rule that applies at the level, in order, with its bound and the value that it compared. */
export function traceRules(rules: RuleInputs): RuleStep[] {
  const { level, toolLevel, failureCode } = rules;
  const trace = ({ ruling, member, holds, value, bound }: PolicyRule): RuleStep => {
    const { logReason, verdictIndex } = typeof ruling === "function" ? ruling(rules) : ruling;
    return {
      rule: logReason,
      verdict: VERDICTS[verdictIndex]!,
      member,
      bound: bound === undefined ? member && level[member] : bound(rules),
      value: value(rules),
      holds: holds(rules),
      decides: false,
    };
  };
  const steps = (level.enforce ? ENFORCED_RECORD_RULES : UNENFORCED_RECORD_RULES).map(trace);
  // Rules behind the first record rule that holds are not reached.
  const first = steps.findIndex(({ holds }) => holds);
  for (const unreached of steps.slice(first + 1)) unreached.holds = null;
  if (level.enforce) steps.push(...STRICTER_RULES.map(trace));
  if (failureCode !== "") {
    const verdictIndex = selectFailureVerdictIndex(toolLevel, failureCode);
    const rule: PolicyRule = {
      ruling: createRuling(verdictIndex, failureCode),
      member: null,
      holds: () => verdictIndex > ALLOW,
      value: () => failureCode,
      bound: () => toolLevel,
    };
    steps.push(trace(rule));
  }
  const rank = ({ holds, verdict }: RuleStep) => (holds ? VERDICT[verdict] : -1);
  const decided = steps.reduce((best, each) => (rank(each) > rank(best) ? each : best));
  decided.decides = true;
  return steps;
}

/**
 * Whether requests that name no tool level (check, handshake) are in shadow mode: both levels that the
 * shipped policy enforces, L2 and L3, are.
 */
export function isInShadowMode({ levels }: Policy): boolean {
  return levels.L2.shadow && levels.L3.shadow;
}
