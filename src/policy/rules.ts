// Policy rules of verify (SPEC §2.3, §3, §8.2): the ordered rule tables, the verdict that they give, and
// its explanation. Record rules come first, then rules that can only make the verdict stricter, combined by
// `max` of restriction. The decision is a chain of ifs over the tables' own predicates, in the tables'
// order: a loop over the tables would be an indirect call for each rule of every verify. A property test
// holds both to the same rule. Pure; allocates only a ruling for broken provenance.
import { BROKEN_EVIDENCE_RULES, isBrokenEvidenceWithheld } from "../contract/policy.ts";
import type { LevelPolicy, Policy } from "../contract/policy.ts";
import { DECISION, DECISIONS, VERDICT, VERDICTS } from "../contract/vocabulary.ts";
import type { LogReason, Verdict } from "../contract/vocabulary.ts";
import type { RuleInputs } from "./rule-inputs.ts";
import {
  createFailureRuling,
  isDoubt,
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
  STALE_FLAGGED,
  STAKES_MARKED,
  STAKES_VERIFICATION,
  RULING_BY_CAUSE,
} from "./rulings.ts";
import type { Ruling } from "./rulings.ts";
import { isSilent, STAKES_CAUSE } from "./stakes-decision.ts";
import { findLevelCause, findLevelDecisionIndex, isDenied, isRefused } from "./standing.ts";

const { ALLOW, CHALLENGE } = VERDICT;
const MARKED_STRICTNESS = (ALLOW + CHALLENGE) / 2;
const FLAGGED_EVIDENCE_STRICTNESS = (MARKED_STRICTNESS + CHALLENGE) / 2;

/**
 * Whether a ruling holds the request until a reviewer has decided: a denial by the threshold, or a
 * challenge at stakes at which `check` would escalate, whichever rule named the challenge.
 */
export function isReviewRequired(ruling: Ruling, rules: RuleInputs): boolean {
  if (ruling === RISK_ABOVE_BORDER) return true;
  const { level } = rules;
  if (!level.enforce || !level.counts_stakes || ruling.verdictIndex !== CHALLENGE) return false;
  return findLevelDecisionIndex(rules) === DECISION.escalate;
}

/** Failure probability above which an agent's risk is `CRITICAL`. */
export const CRITICAL_ABOVE = 0.4;
/** Upper bounds (inclusive) of the failure probability of the other risk levels. */
export const RISK_BOUNDS = [0.05, 0.15, CRITICAL_ABOVE] as const;

/** Index into RISK_LEVELS of a failure probability; the bounds are 5, 15 and 40 %. */
export function computeRiskIndex(failureProbability: number): number {
  let index = 0;
  while (index < RISK_BOUNDS.length && failureProbability > RISK_BOUNDS[index]!) index += 1;
  return index;
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

function isSilentRecord({ level, risk, terms }: RuleInputs): boolean {
  return level.thin === "flag" && isSilent(risk, terms);
}

function doStakesCount(rules: RuleInputs): boolean {
  const { level, risk, areStakesVouched } = rules;
  const isVouchingEnough = areStakesVouched && risk.isThin && !isRefused(rules);
  return level.counts_stakes && !isVouchingEnough;
}

function selectStakesRuling(rules: RuleInputs): Ruling {
  const cause = findLevelCause(rules);
  const isMarked =
    rules.terms.onVerification === "allow_marked" &&
    cause > STAKES_CAUSE.connect &&
    cause < STAKES_CAUSE.approval;
  return isMarked ? STAKES_MARKED : RULING_BY_CAUSE[cause]!;
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
  {
    ruling: STALE_FLAGGED,
    member: "thin",
    holds: isSilentRecord,
    value: ({ risk }) => risk.silentDays,
    bound: ({ terms }) => terms.staleAfterDays,
  },
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
  if (isSilentRecord(rules)) return STALE_FLAGGED;
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
    value: (rules) => DECISIONS[findLevelDecisionIndex(rules)],
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
  const failed = createFailureRuling(toolLevel, level, failureCode);
  // A certain finding about this request names the answer before any mark on the agent's record.
  const isMarked = failed.isFlagged && decided.verdictIndex === ALLOW;
  return isMarked || failed.verdictIndex > decided.verdictIndex ? failed : decided;
}

/** The stricter of both. What is only marked replaces what is allowed without a mark of its own. */
function selectStricterRuling(current: Ruling, candidate: Ruling): Ruling {
  return computeStrictness(candidate) > computeStrictness(current) ? candidate : current;
}

function computeStrictness(ruling: Ruling): number {
  return ruling === STAKES_MARKED ? MARKED_STRICTNESS : ruling.verdictIndex;
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
    const ruling = createFailureRuling(toolLevel, level, failureCode);
    const isCertain = !isDoubt(failureCode);
    const isWithheld = isBrokenEvidenceWithheld(toolLevel, level);
    const rule: PolicyRule = {
      ruling,
      member: isCertain ? "broken_evidence" : null,
      holds: () => ruling.isFlagged || ruling.verdictIndex > ALLOW,
      value: () => failureCode,
      bound: () => (isCertain ? BROKEN_EVIDENCE_RULES[Number(isWithheld)] : toolLevel),
    };
    steps.push(trace(rule));
  }
  const rank = ({ holds, verdict, rule }: RuleStep) => {
    if (!holds) return -1;
    if (verdict === "ALLOW" && rule === failureCode) return FLAGGED_EVIDENCE_STRICTNESS;
    const isMarked = rule === STAKES_MARKED.logReason && verdict === "ALLOW";
    return isMarked ? MARKED_STRICTNESS : VERDICT[verdict];
  };
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
