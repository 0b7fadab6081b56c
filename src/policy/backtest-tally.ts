// Counts of one policy on one question at one level: verdicts, money, reasons, and the curve over
// the allow bound. The curve is exact: whether an outcome is allowed changes at one bound at most,
// so that each is counted once, at the first bound of the grid that allows it.
import { MINIMUM_SCORES_DEFAULT } from "../contract/policy.ts";
import type { LevelPolicy } from "../contract/policy.ts";
import type { BacktestCurve, BacktestReason, BacktestRow } from "../contract/schemas/backtest.ts";
import { VERDICT, VERDICTS } from "../contract/vocabulary.ts";
import type { PolicyLabel, ToolLevel } from "../contract/vocabulary.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { computeEffectiveTrials, computeWilsonInterval } from "./confidence-interval.ts";
import { fillHandshakeRuleInputs, fillRuleInputs } from "./policy-query.ts";
import type { PolicyScore } from "./policy-query.ts";
import { applyPolicyRules } from "./rules.ts";
import { createRuleInputs } from "./rule-inputs.ts";
import type { Ruling } from "./rulings.ts";

const FINE_STEPS = 60;
const FINE_STEP = 0.005;
const COARSE_STEPS = 20;

/** One outcome, as it would have been asked about. */
export interface BacktestCase {
  readonly reading: PolicyScore;
  /** Index of the subject, and its identifier. */
  readonly agent: number;
  readonly agentId: string;
  /** When it was asked about, epoch ms: a vouching may have expired. */
  readonly nowMs: number;
  readonly isBad: boolean;
  /** In the bureau's unit of account; 0 where they are not known. */
  readonly stakes: number;
}

/** Bounds of the curves: steps of .005 up to .3, of .05 up to 1, and those that policies have. */
export class BoundGrid {
  readonly bounds: Float64Array;

  constructor(own: readonly number[]) {
    const fine = Array.from({ length: FINE_STEPS + 1 }, (_, i) =>
      roundToThousandths(i * FINE_STEP),
    );
    const coarse = Array.from({ length: COARSE_STEPS + 1 }, (_, i) =>
      roundToThousandths(i / COARSE_STEPS),
    );
    this.bounds = Float64Array.from(new Set([...fine, ...coarse, ...own])).toSorted();
  }

  /** Index of the smallest bound that is at least `probability`, 0 to 1. */
  findBin(probability: number): number {
    let low = 0;
    let high = this.bounds.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.bounds[middle]! < probability) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function roundToThousandths(bound: number): number {
  return Math.round(bound * 1000) / 1000;
}

/** Money to two decimals: sums in another order must not differ in the last bit. */
export function roundStakesToHundredths(stakes: number): number {
  return Math.round(stakes * 100) / 100;
}

/** Good and bad outcomes, by number and by stakes. */
class GoodBadCounts {
  good = 0;
  bad = 0;

  add(isBad: boolean, amount: number): void {
    if (isBad) this.bad += amount;
    else this.good += amount;
  }
}

export interface LevelTallyOptions {
  readonly name: ToolLevel;
  readonly active: ActivePolicy;
  /** Whether the stakes are named in the question. */
  readonly areStakesNamed: boolean;
  readonly isHandshake: boolean;
  readonly grid: BoundGrid;
}

export class LevelTally {
  readonly #options: LevelTallyOptions;
  readonly #level: LevelPolicy;
  readonly #rules = createRuleInputs();
  readonly #bound: number;
  /** Units of account in one of the tenant's units. */
  readonly #unit: number;
  readonly #verdicts = VERDICTS.map(() => new GoodBadCounts());
  readonly #seen = new GoodBadCounts();
  readonly #flagged = new GoodBadCounts();
  readonly #stakes = new GoodBadCounts();
  readonly #stakesAllowed = new GoodBadCounts();
  readonly #reasons = new Map<PolicyLabel, GoodBadCounts & { verdictIndex: number }>();
  /** Good outcomes denied, by agent. */
  readonly #falseAlarmsByAgent = new Map<number, number>();
  /** Good and bad counts, then good and bad stakes, by the bin that first allows them. */
  readonly #bins: readonly Float64Array[];

  constructor(options: LevelTallyOptions) {
    this.#options = options;
    const { name, active, isHandshake, grid } = options;
    const level = active.policy.levels[name];
    this.#level = level;
    this.#unit = active.terms.connect.unit;
    this.#bound = isHandshake ? level.allow_handshake_up_to : level.allow_up_to;
    this.#bins = [0, 1, 2, 3].map(() => new Float64Array(grid.bounds.length));
  }

  /**
   * Counts one outcome; `bin` is that of its failure probability.
   * @returns the verdict's index.
   */
  add(each: BacktestCase, bin: number): number {
    const { agent, isBad } = each;
    const stakes = each.stakes / this.#unit;
    const ruling = this.#decideRuling(each, this.#bound);
    const { verdictIndex } = ruling;
    this.#seen.add(isBad, 1);
    this.#stakes.add(isBad, stakes);
    this.#verdicts[verdictIndex]!.add(isBad, 1);
    if (verdictIndex === VERDICT.ALLOW) {
      this.#stakesAllowed.add(isBad, stakes);
      if (ruling.isFlagged) this.#flagged.add(isBad, 1);
    } else {
      // No text was assessed: what decided is a rule of the policy.
      this.#addReason(ruling.logReason as PolicyLabel, verdictIndex, isBad);
      if (verdictIndex >= VERDICT.QUARANTINE && !isBad) {
        this.#falseAlarmsByAgent.set(agent, (this.#falseAlarmsByAgent.get(agent) ?? 0) + 1);
      }
    }
    if (this.#level.enforce) this.#addToCurve(each, bin);
    return verdictIndex;
  }

  /** The ruling for a key with the default minimum scores, if the allow bound were this. */
  #decideRuling({ reading, agentId, nowMs, stakes }: BacktestCase, allowUpTo: number): Ruling {
    const { name, active, isHandshake, areStakesNamed } = this.#options;
    const query = {
      active,
      reading,
      agentId,
      nowMs,
      stakes: areStakesNamed ? stakes / this.#unit : 0,
      minimumScores: MINIMUM_SCORES_DEFAULT,
      rules: this.#rules,
    };
    const rules = (isHandshake ? fillHandshakeRuleInputs : fillRuleInputs)(query, name);
    rules.allowUpTo = allowUpTo;
    return applyPolicyRules(rules);
  }

  #addReason(logReason: PolicyLabel, verdictIndex: number, isBad: boolean): void {
    let found = this.#reasons.get(logReason);
    if (found === undefined) {
      found = Object.assign(new GoodBadCounts(), { verdictIndex });
      this.#reasons.set(logReason, found);
    }
    found.add(isBad, 1);
  }

  #addToCurve(each: BacktestCase, bin: number): void {
    const isAllowedAt = (bound: number) =>
      this.#decideRuling(each, bound).verdictIndex === VERDICT.ALLOW;
    if (!isAllowedAt(1)) return;
    // A thin record that the level lets through is allowed whatever the bound.
    const from = isAllowedAt(0) ? 0 : bin;
    this.#bins[each.isBad ? 1 : 0]![from]! += 1;
    this.#bins[each.isBad ? 3 : 2]![from]! += each.stakes / this.#unit;
  }

  /** The counts as a row. `goodByAgent`: good outcomes seen of each agent. */
  buildRow(goodByAgent: Uint32Array): Omit<BacktestRow, "policy" | "policy_version" | "question"> {
    const [allowed, challenged, quarantined, blocked] = this.#verdicts as [
      GoodBadCounts,
      GoodBadCounts,
      GoodBadCounts,
      GoodBadCounts,
    ];
    const falseAlarms = quarantined.good + blocked.good;
    const rate = this.#seen.good === 0 ? null : falseAlarms / this.#seen.good;
    const count = computeEffectiveTrials({ trials: goodByAgent, hits: this.#falseAlarmsByAgent });
    const interval = rate === null ? undefined : computeWilsonInterval(rate, count);
    return {
      level: this.#options.name,
      good: this.#seen.good,
      bad: this.#seen.bad,
      good_allowed: allowed.good,
      good_challenged: challenged.good,
      good_quarantined: quarantined.good,
      good_blocked: blocked.good,
      bad_allowed: allowed.bad,
      bad_challenged: challenged.bad,
      bad_quarantined: quarantined.bad,
      bad_blocked: blocked.bad,
      good_flagged: this.#flagged.good,
      bad_flagged: this.#flagged.bad,
      stakes_good: roundStakesToHundredths(this.#stakes.good),
      stakes_bad: roundStakesToHundredths(this.#stakes.bad),
      stakes_lost: roundStakesToHundredths(this.#stakesAllowed.bad),
      stakes_turned_away: roundStakesToHundredths(this.#stakes.good - this.#stakesAllowed.good),
      false_alarms: falseAlarms,
      false_alarm_rate: rate,
      false_alarm_low: interval?.low ?? null,
      false_alarm_high: interval?.high ?? null,
    };
  }

  /** The curve; undefined where nothing is held back, whatever the bound. */
  buildCurve(): Omit<BacktestCurve, "policy" | "question"> | undefined {
    if (!this.#level.enforce) return undefined;
    const [good, bad, stakesGood, stakesBad] = this.#bins.map(computeRunningSums) as [
      number[],
      number[],
      number[],
      number[],
    ];
    return {
      level: this.#options.name,
      bound: this.#bound,
      good_allowed: good,
      bad_allowed: bad,
      stakes_lost: stakesBad.map(roundStakesToHundredths),
      stakes_turned_away: stakesGood.map((allowed) =>
        roundStakesToHundredths(this.#stakes.good - allowed),
      ),
    };
  }

  /** Rules that did not allow, the one that held back most good outcomes first. */
  listReasons(): Omit<BacktestReason, "policy" | "question">[] {
    return [...this.#reasons]
      .map(([logReason, { verdictIndex, good, bad }]) => ({
        level: this.#options.name,
        log_reason: logReason,
        verdict: VERDICTS[verdictIndex]!,
        good,
        bad,
      }))
      .toSorted((a, b) => b.good - a.good || b.bad - a.bad);
  }
}

function computeRunningSums(values: Float64Array): number[] {
  let sum = 0;
  return Array.from(values, (value) => (sum += value));
}
