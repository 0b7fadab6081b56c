// Policy rules of verify (SPEC §2.3, §3, §8.2): the ordered rule tables, the verdict that they give, and
// its explanation. Record rules come first, then rules that can only make the verdict stricter, combined by
// `max` of restriction. The decision is a chain of ifs over the tables' own predicates, in the tables'
// order: a loop over the tables would be an indirect call for each rule of every verify. A property test
// holds both to the same rule. Pure; allocates only a ruling for broken provenance.
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { LevelPolicy, Policy } from "../contract/policy.ts";
import { CATCH_RATES_DEFAULT, resolveStakesTerms } from "../contract/stakes-policy.ts";
import type { StakesTerms } from "../contract/stakes-policy.ts";
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
  STALE_FLAGGED,
  STAKES_MARKED,
  STAKES_VERIFICATION,
  RULING_BY_CAUSE,
  selectFailureVerdictIndex,
} from "./rulings.ts";
import type { Ruling } from "./rulings.ts";
import {
  computeConnectStakesMax,
  computeDecisionStakesMax,
  computeOpenStakesMax,
  findStakesCause,
  isSilent,
  selectDecisionIndex,
  STAKES_CAUSE,
  STANDING,
} from "./stakes-decision.ts";
import type { StakesCause, StakesScore, Standing } from "./stakes-decision.ts";

/** The part of a score that the rules read. */
export interface PolicyRisk extends StakesScore {
  /** 0 to 1, expected. */
  readonly failureProbability: number;
  readonly failureOptimistic: number;
  readonly isThin: boolean;
  readonly isDenied: boolean;
  readonly isRefused: boolean;
  /** The same of the agent's record as verify reads it: in a handshake, of its own dealings. */
  readonly recordProbability: number;
  readonly recordOptimistic: number;
  readonly isRecordThin: boolean;
  readonly isRecordDenied: boolean;
  readonly isRecordRefused: boolean;
}

/** Everything that the rules of one tool level look at. Reused on the hot path: filled again for each level. */
export interface RuleInputs {
  toolLevel: ToolLevel;
  level: LevelPolicy;
  risk: PolicyRisk;
  /** Terms of the decision at stakes, and the stakes, in the tenant's unit. */
  terms: StakesTerms;
  isThinAllowed: boolean;
  stakes: number;
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
  recordProbability: 0,
  recordOptimistic: 0,
  isRecordThin: false,
  isRecordDenied: false,
  isRecordRefused: false,
  ...CATCH_RATES_DEFAULT,
  stakesLogit: Number.NEGATIVE_INFINITY,
  stakesNovelty: 0,
  stakesUntested: 0,
  stakesProven: 0,
  stakesReach: 0,
  isJudged: true,
  silentDays: 0,
  fixedDecisionIndex: -1,
};

const TERMS_DEFAULT = resolveStakesTerms();

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
    terms: TERMS_DEFAULT[toolLevel],
    isThinAllowed: level.thin === "allow",
    stakes: 0,
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
const MARKED_STRICTNESS = (ALLOW + CHALLENGE) / 2;

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

/** What the record is held back for at the level, whatever the stakes. */
export function selectStanding(rules: RuleInputs): Standing {
  if (isRefused(rules)) return STANDING.refused;
  return isDenied(rules) ? STANDING.denied : STANDING.clear;
}

function findLevelCause(rules: RuleInputs): StakesCause {
  return findStakesCause(rules.risk, rules, selectStanding(rules));
}

/** Index into DECISIONS: the decision at the stakes by the level's own terms. */
export function findLevelDecisionIndex(rules: RuleInputs): number {
  return selectDecisionIndex(findLevelCause(rules));
}

/** Largest stakes, in the tenant's unit, at which the level's terms let the agent through as it is. */
export function computeLevelStakesClear(rules: RuleInputs): number {
  const standing = selectStanding(rules);
  return rules.terms.onVerification === "allow_marked"
    ? computeOpenStakesMax(rules.risk, rules, standing)
    : computeConnectStakesMax(rules.risk, rules, standing);
}

/** Largest stakes, in the tenant's unit, with a decision at stakes no stricter by the level's terms. */
export function computeLevelStakesMax(rules: RuleInputs): number {
  const standing = selectStanding(rules);
  return computeDecisionStakesMax(rules.risk, rules, standing, findLevelCause(rules));
}

/** Largest stakes, in the tenant's unit, that the level's terms let through with verification. */
export function computeLevelStakesOpen(rules: RuleInputs): number {
  return computeOpenStakesMax(rules.risk, rules, selectStanding(rules));
}

/**
 * What a record is held back for where no level is named (check, handshake): by the stricter border of L2
 * and L3, and by the record as verify reads it as well as by the score itself.
 */
export function selectConnectStanding({ levels }: Policy, risk: PolicyRisk): Standing {
  if (risk.isRefused || risk.isRecordRefused) return STANDING.refused;
  let standing: Standing = STANDING.clear;
  for (const { deny_from: border } of [levels.L2, levels.L3]) {
    if (border === "never") continue;
    if (border === "fitted") {
      if (risk.isDenied || risk.isRecordDenied) standing = STANDING.denied;
      continue;
    }
    const isAbove = (own: number, record: number) =>
      (!risk.isThin && own >= border) || (!risk.isRecordThin && record >= border);
    if (isAbove(risk.failureOptimistic, risk.recordOptimistic)) return STANDING.refused;
    if (isAbove(risk.failureProbability, risk.recordProbability)) standing = STANDING.denied;
  }
  return standing;
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
  const verdictIndex = selectFailureVerdictIndex(toolLevel, failureCode);
  return verdictIndex > decided.verdictIndex ? createRuling(verdictIndex, failureCode) : decided;
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
  const rank = ({ holds, verdict, rule }: RuleStep) => {
    if (!holds) return -1;
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
