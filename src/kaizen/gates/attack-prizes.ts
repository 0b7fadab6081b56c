// Prizes of the attack scripts: the wrong answers of the bureau that an attacker is after, and where
// a challenger's border would lie if it served good agents exactly as the champion does.
import { DEFAULT_POLICY } from "../../contract/policy.ts";
import { DECISIONS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { Reading } from "../../engine/reading.ts";
import { decidePolicy } from "../../policy/rules.ts";
import { connectBorder, verifiedBorder } from "../model/cost-borders.ts";
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
  /**
   * The border that the prize hangs on, where good agents have an interest in it, too: what it
   * compares, and whether the prize lies above it.
   */
  border?: {
    of: (side: Side, config: ScoringConfig) => number;
    isPessimistic: boolean;
    isAbove: boolean;
  };
}

const boundAt = (level: "L2" | "L3", side: Side): number => {
  const rules = DEFAULT_POLICY.levels[level];
  return side === "check" ? rules.allow_up_to : rules.allow_handshake_up_to;
};

function verdictAt(level: "L2" | "L3", reading: Readonly<Reading>, side: Side): number {
  const rules = DEFAULT_POLICY.levels[level];
  return decidePolicy(level, rules, reading, true, "", true, boundAt(level, side)).verdictIndex;
}

const allowedAt = (level: "L2" | "L3"): Prize => ({
  name: `ALLOW at ${level}`,
  stakes: 0,
  isWrong: (reading, side) => verdictAt(level, reading, side) === ALLOW,
  border: { of: (side) => boundAt(level, side), isPessimistic: false, isAbove: false },
});
const connectedAt = (stakes: number): Prize => ({
  name: `connect at ${stakes}`,
  stakes,
  isWrong: ({ decisionIndex }) => decisionIndex === CONNECT,
  border: {
    of: (_, config) => connectBorder(config, stakes),
    isPessimistic: true,
    isAbove: false,
  },
});
const verifiedAt = (stakes: number): Prize => ({
  name: `verified connect at ${stakes}`,
  stakes,
  isWrong: ({ decisionIndex }) => decisionIndex <= VERIFIED,
  border: {
    of: (_, config) => verifiedBorder(config, stakes),
    isPessimistic: true,
    isAbove: false,
  },
});
const AT_STAKES: readonly Prize[] = [connectedAt(1), connectedAt(10), verifiedAt(100)];
const FRAUD: readonly Prize[] = [allowedAt("L2"), allowedAt("L3"), ...AT_STAKES];
const SLANDER: readonly Prize[] = [
  {
    name: "held back at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) !== ALLOW,
    border: { of: (side) => boundAt("L2", side), isPessimistic: false, isAbove: true },
  },
  {
    name: "denied at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) >= QUARANTINE,
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

/** Whether the engine's answer is on the wrong side of a border other than its own. */
export function isWrongAt(prize: Prize, border: number): Prize["isWrong"] {
  const { isPessimistic, isAbove } = prize.border!;
  return ({ isThin, isRefused, failureProbability, failurePessimistic }) => {
    const p = isPessimistic ? failurePessimistic : failureProbability;
    const isServed = !isRefused && (isPessimistic || !isThin) && p <= border;
    return isServed !== isAbove;
  };
}

/**
 * The border under which the challenger serves exactly as many successes of the holdout as the
 * champion does under its own.
 */
export function borderAlike(prize: Prize, holdout: Holdout, side: Side): number {
  const { champion, challenger, failures, config } = holdout;
  const { of, isPessimistic } = prize.border!;
  const own = of(side, config);
  const risks = ({ thin, pessimistic, probabilities }: Forecast) =>
    Array.from(failures, (failure, i) => {
      if (failure === 1 || (thin[i] === 1 && !isPessimistic)) return Infinity;
      return isPessimistic ? pessimistic[i]! : probabilities[i]!;
    });
  const served = risks(champion).filter((p) => p <= own).length;
  return risks(challenger).toSorted((a, b) => a - b)[served - 1] ?? -1;
}
