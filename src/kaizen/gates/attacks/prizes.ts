// Prizes of the attack scripts: the wrong answers of the bureau that an attacker is after, and where
// a challenger's border would lie if it served good agents exactly as the champion does.
import type { ScoringConfig } from "../../../engine/config.ts";
import { DEFAULT_POLICY } from "../../../contract/policy.ts";
import { DECISION, VERDICT } from "../../../contract/vocabulary.ts";
import type { AgentScore } from "../../../engine/reading.ts";
import { createActivePolicy } from "../../../policy/active-policy.ts";
import { createConnection, decideConnection } from "../../../policy/connection.ts";
import { applyPolicyRules } from "../../../policy/rules.ts";
import { createRuleInputs } from "../../../policy/rule-inputs.ts";
import { computeRiskBorders, computeStakesRisk } from "../../../policy/stakes-decision.ts";
import { computeDenialThreshold } from "../../model/holdout.ts";
import type { Forecast, Holdout } from "../../model/holdout.ts";
import type { AttackScript, AttackLegs } from "./scripts.ts";

const SHIPPED = createActivePolicy(DEFAULT_POLICY);

/** Largest cautious risks that connect, and connect with verification, under the shipped policy. */
export function computeConnectBorders(
  { verify_catch, human_catch }: ScoringConfig,
  stakes: number,
) {
  const catches = { verifyCatch: verify_catch, humanCatch: human_catch };
  return computeRiskBorders(SHIPPED.terms.connect, catches, stakes);
}

const { ALLOW, QUARANTINE } = VERDICT;
const { connect: CONNECT, connect_with_verification: VERIFIED } = DECISION;

export type LegSide = keyof AttackLegs;

/** A wrong answer that an attack is after. */
export interface AttackGoal {
  name: string;
  /** One of ATTACK_STAKES. */
  stakes: number;
  /** By the policy and the costs as they are. */
  isWrong: (reading: Readonly<AgentScore>, side: LegSide) => boolean;
  /** The border that it hangs on. */
  selectThreshold: (side: LegSide, config: ScoringConfig) => number;
  /** The same answer, were the border elsewhere. */
  isWrongAt: (reading: Readonly<AgentScore>, border: number) => boolean;
  /** True: the prize lies above the border, as being held back does. */
  isAbove: boolean;
  /**
   * Which risk of a row of the holdout the border is compared with, where serving good agents is a
   * matter of the same border; Infinity where it is not compared.
   */
  readRisk?: (forecast: Forecast, row: number) => number;
}

const selectAllowBound = (level: "L2" | "L3", side: LegSide): number => {
  const rules = DEFAULT_POLICY.levels[level];
  return side === "check" ? rules.allow_up_to : rules.allow_handshake_up_to;
};

function decideVerdictIndex(
  level: "L2" | "L3",
  reading: Readonly<AgentScore>,
  side: LegSide,
): number {
  const rules = createRuleInputs(level, DEFAULT_POLICY.levels[level], reading);
  rules.allowUpTo = selectAllowBound(level, side);
  return applyPolicyRules(rules).verdictIndex;
}

const isAllowedAtThreshold = (
  { isThin, isRefused, failureProbability }: Readonly<AgentScore>,
  border: number,
): boolean => !isThin && !isRefused && failureProbability <= border;
const readRecordRisk = ({ thin, probabilities }: Forecast, row: number): number =>
  thin[row] === 1 ? Infinity : probabilities[row]!;

const createAllowGoal = (level: "L2" | "L3"): AttackGoal => ({
  name: `ALLOW at ${level}`,
  stakes: 0,
  isWrong: (reading, side) => decideVerdictIndex(level, reading, side) === ALLOW,
  selectThreshold: (side) => selectAllowBound(level, side),
  isWrongAt: isAllowedAtThreshold,
  isAbove: false,
  readRisk: readRecordRisk,
});
const createConnectGoal = (
  name: string,
  stakes: number,
  decision: typeof CONNECT | typeof VERIFIED,
): AttackGoal => ({
  name,
  stakes,
  isWrong: (reading) => {
    const query = { active: SHIPPED, reading, stakes };
    return decideConnection(query, createConnection(SHIPPED)).decisionIndex <= decision;
  },
  selectThreshold: (_, config) => {
    const { connect, verification } = computeConnectBorders(config, stakes);
    return decision === CONNECT ? connect : verification;
  },
  isWrongAt: (reading, border) => {
    const isHeldBack = reading.isRefused || (decision === CONNECT && reading.isThin);
    return !isHeldBack && computeStakesRisk(reading, stakes) <= border;
  },
  isAbove: false,
  readRisk: ({ stakesRisks, thin }, row) =>
    decision === CONNECT && thin[row] === 1 ? Infinity : stakesRisks[row]!,
});
const CONNECT_GOALS: readonly AttackGoal[] = [
  createConnectGoal("connect at 10", 10, CONNECT),
  createConnectGoal("connect at 100", 100, CONNECT),
  createConnectGoal("verified connect at 1000", 1000, VERIFIED),
];
const FRAUD_GOALS: readonly AttackGoal[] = [
  createAllowGoal("L2"),
  createAllowGoal("L3"),
  ...CONNECT_GOALS,
];
const SLANDER_GOALS: readonly AttackGoal[] = [
  {
    name: "held back at L2",
    stakes: 0,
    isWrong: (reading, side) => decideVerdictIndex("L2", reading, side) !== ALLOW,
    selectThreshold: (side) => selectAllowBound("L2", side),
    isWrongAt: (reading, border) => !isAllowedAtThreshold(reading, border),
    isAbove: true,
    readRisk: readRecordRisk,
  },
  {
    name: "denied at L2",
    stakes: 0,
    isWrong: (reading, side) => decideVerdictIndex("L2", reading, side) >= QUARANTINE,
    selectThreshold: (side, config) => computeDenialThreshold(config[side], config),
    isWrongAt: ({ isThin, isRefused, failureProbability }, border) =>
      isRefused || (!isThin && failureProbability >= border),
    isAbove: true,
  },
];
/** What each script is after: cheap trades are honest ones, until the stakes are large. */
export const ATTACK_GOALS: Readonly<Record<AttackScript, readonly AttackGoal[]>> = {
  sybil_20x5: FRAUD_GOALS,
  sybil_200x20: FRAUD_GOALS,
  whitewash: FRAUD_GOALS,
  on_off: FRAUD_GOALS,
  bad_mouthing: SLANDER_GOALS,
  cheap_trades: CONNECT_GOALS,
  streak: FRAUD_GOALS,
};

/**
 * The border under which the challenger serves exactly as many successes of the holdout as the
 * champion does under its own; undefined where the prize has nothing to do with serving anybody.
 */
export function findEqualServiceThreshold(
  prize: AttackGoal,
  holdout: Holdout,
  side: LegSide,
): number | undefined {
  const { readRisk } = prize;
  if (readRisk === undefined) return undefined;
  const { champion, challenger, failures, config } = holdout;
  const own = prize.selectThreshold(side, config);
  const risks = (forecast: Forecast) =>
    Array.from(failures, (failure, row) => (failure === 1 ? Infinity : readRisk(forecast, row)));
  const served = risks(champion).filter((p) => p <= own).length;
  return risks(challenger).toSorted((a, b) => a - b)[served - 1] ?? 0;
}

/** The border moved towards the safe side of the prize by a factor in odds. */
export function shiftThresholdByOdds(
  { isAbove }: AttackGoal,
  border: number,
  factor: number,
): number {
  const odds = border / (1 - border);
  const moved = isAbove ? odds * factor : odds / factor;
  return Number.isFinite(moved) ? moved / (1 + moved) : border;
}
