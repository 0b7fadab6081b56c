// Prizes of the attack scripts: the wrong answers of the bureau that an attacker is after, and where
// a challenger's border would lie if it served good agents exactly as the champion does.
import { DEFAULT_POLICY } from "../../contract/policy.ts";
import { DECISIONS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { Reading } from "../../engine/reading.ts";
import { decidePolicy } from "../../policy/rules.ts";
import { connectBorder, verifiedBorder } from "../model/cost-borders.ts";
import { denyBorder } from "../model/holdout.ts";
import type { Forecast, Holdout } from "../model/holdout.ts";
import type { AttackScript, Legs } from "./attacks.ts";

const ALLOW = VERDICTS.indexOf("ALLOW");
const QUARANTINE = VERDICTS.indexOf("QUARANTINE");
const CONNECT = DECISIONS.indexOf("connect");
const VERIFIED = DECISIONS.indexOf("connect_with_verification");

export type Side = keyof Legs;

/** A wrong answer that an attack is after. */
export interface Prize {
  name: string;
  /** One of ATTACK_STAKES. */
  stakes: number;
  /** By the policy and the costs as they are. */
  isWrong: (reading: Readonly<Reading>, side: Side) => boolean;
  /** The border that it hangs on. */
  borderOf: (side: Side, config: ScoringConfig) => number;
  /** The same answer, were the border elsewhere. */
  isWrongAt: (reading: Readonly<Reading>, border: number) => boolean;
  /** True: the prize lies above the border, as being held back does. */
  isAbove: boolean;
  /**
   * Which risk of a row of the holdout the border is compared with, where serving good agents is a
   * matter of the same border; Infinity where it is not compared.
   */
  riskOf?: (forecast: Forecast, row: number) => number;
}

const boundAt = (level: "L2" | "L3", side: Side): number => {
  const rules = DEFAULT_POLICY.levels[level];
  return side === "check" ? rules.allow_up_to : rules.allow_handshake_up_to;
};

function verdictAt(level: "L2" | "L3", reading: Readonly<Reading>, side: Side): number {
  const rules = DEFAULT_POLICY.levels[level];
  return decidePolicy(level, rules, reading, true, "", true, boundAt(level, side)).verdictIndex;
}

const isAllowedAt = (
  { isThin, isRefused, failureProbability }: Readonly<Reading>,
  border: number,
): boolean => !isThin && !isRefused && failureProbability <= border;
const riskOfRecord = ({ thin, probabilities }: Forecast, row: number): number =>
  thin[row] === 1 ? Infinity : probabilities[row]!;

const allowedAt = (level: "L2" | "L3"): Prize => ({
  name: `ALLOW at ${level}`,
  stakes: 0,
  isWrong: (reading, side) => verdictAt(level, reading, side) === ALLOW,
  borderOf: (side) => boundAt(level, side),
  isWrongAt: isAllowedAt,
  isAbove: false,
  riskOf: riskOfRecord,
});
const connectsAt = (
  name: string,
  stakes: number,
  decision: number,
  borderOf: (config: ScoringConfig, stakes: number) => number,
): Prize => ({
  name,
  stakes,
  isWrong: ({ decisionIndex }) => decisionIndex <= decision,
  borderOf: (_, config) => borderOf(config, stakes),
  isWrongAt: ({ isRefused, failurePessimistic }, border) =>
    !isRefused && failurePessimistic <= border,
  isAbove: false,
  riskOf: ({ pessimistic }, row) => pessimistic[row]!,
});
const AT_STAKES: readonly Prize[] = [
  connectsAt("connect at 1", 1, CONNECT, connectBorder),
  connectsAt("connect at 10", 10, CONNECT, connectBorder),
  connectsAt("verified connect at 100", 100, VERIFIED, verifiedBorder),
];
const FRAUD: readonly Prize[] = [allowedAt("L2"), allowedAt("L3"), ...AT_STAKES];
const SLANDER: readonly Prize[] = [
  {
    name: "held back at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) !== ALLOW,
    borderOf: (side) => boundAt("L2", side),
    isWrongAt: (reading, border) => !isAllowedAt(reading, border),
    isAbove: true,
    riskOf: riskOfRecord,
  },
  {
    name: "denied at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) >= QUARANTINE,
    borderOf: (side, config) => denyBorder(config[side], config),
    isWrongAt: ({ isThin, isRefused, failureProbability }, border) =>
      isRefused || (!isThin && failureProbability >= border),
    isAbove: true,
  },
];
/** What each script is after: cheap trades are honest ones, until the stakes are large. */
export const PRIZES: Readonly<Record<AttackScript, readonly Prize[]>> = {
  sybil_20x5: FRAUD,
  sybil_200x20: FRAUD,
  whitewash: FRAUD,
  on_off: FRAUD,
  bad_mouthing: SLANDER,
  cheap_trades: AT_STAKES,
  streak: FRAUD,
};

/**
 * The border under which the challenger serves exactly as many successes of the holdout as the
 * champion does under its own; undefined where the prize has nothing to do with serving anybody.
 */
export function borderAlike(prize: Prize, holdout: Holdout, side: Side): number | undefined {
  const { riskOf } = prize;
  if (riskOf === undefined) return undefined;
  const { champion, challenger, failures, config } = holdout;
  const own = prize.borderOf(side, config);
  const risks = (forecast: Forecast) =>
    Array.from(failures, (failure, row) => (failure === 1 ? Infinity : riskOf(forecast, row)));
  const served = risks(champion).filter((p) => p <= own).length;
  return risks(challenger).toSorted((a, b) => a - b)[served - 1] ?? 0;
}

/** The border moved towards the safe side of the prize by a factor in odds. */
export function withMargin({ isAbove }: Prize, border: number, factor: number): number {
  const odds = border / (1 - border);
  const moved = isAbove ? odds * factor : odds / factor;
  return Number.isFinite(moved) ? moved / (1 + moved) : border;
}
