// Back-test of a policy: every outcome judged by the live policy and by the given one, as they
// would have judged the agent right before it. Pure: readings in, figures out. Knows no journal, no
// engine, no clock.
import type { Policy } from "../contract/policy.ts";
import { BACKTEST_QUESTIONS } from "../contract/schemas/backtest.ts";
import type {
  BacktestAgent,
  BacktestChange,
  BacktestFindings,
  BacktestPolicy,
  BacktestQuestion,
} from "../contract/schemas/backtest.ts";
import { TOOL_LEVELS, VERDICT } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { BacktestMoney } from "./backtest-money.ts";
import { BoundGrid, roundStakesToHundredths, LevelTally } from "./backtest-tally.ts";
import type { BacktestCase } from "./backtest-tally.ts";

/** Agents listed for each question and level. */
const AGENTS_MAX = 20;
/** Questions held to the bound of handshakes, and to no minimum score. */
const HANDSHAKE_QUESTIONS: ReadonlySet<BacktestQuestion> = new Set([
  "handshake",
  "handshake_with_stakes",
]);
const QUESTIONS_WITH_STAKES: ReadonlySet<BacktestQuestion> = new Set([
  "verify_with_stakes",
  "handshake_with_stakes",
]);
/** The question whose reading the money is counted of. */
const VERIFY_WITH_STAKES = BACKTEST_QUESTIONS.indexOf("verify_with_stakes");
const LEVELS_WITH_AGENTS: ReadonlySet<ToolLevel> = new Set(["L2", "L3"]);

export interface BacktestOptions {
  readonly live: ActivePolicy;
  readonly given?: ActivePolicy | undefined;
  /** Number of agents: outcomes name them by index. */
  readonly agentCount: number;
}

type PolicyFindings = Pick<
  BacktestFindings,
  "bounds" | "rows" | "curves" | "reasons" | "changes" | "agents" | "money" | "money_curves"
>;

/** Outcomes that one policy allows and the other does not, at one level. */
class LevelChanges {
  /** Good newly allowed, bad newly allowed, good newly turned away, bad newly turned away. */
  readonly #counts = new Float64Array(4);
  readonly #stakes = new Float64Array(4);
  readonly #byAgent: Map<number, Uint32Array> | undefined;

  constructor(hasAgents: boolean) {
    this.#byAgent = hasAgents ? new Map() : undefined;
  }

  add(isAllowed: boolean, agent: number, isBad: boolean, stakes: number): void {
    const kind = (isAllowed ? 0 : 2) + (isBad ? 1 : 0);
    this.#counts[kind]! += 1;
    this.#stakes[kind]! += stakes;
    if (this.#byAgent === undefined) return;
    let own = this.#byAgent.get(agent);
    if (own === undefined) this.#byAgent.set(agent, (own = new Uint32Array(4)));
    own[kind]! += 1;
  }

  buildChange(): Omit<BacktestChange, "question" | "level"> {
    const [admitted, lost, turnedAway, saved] = this.#stakes as unknown as FourCounts;
    return {
      ...buildChangeCounts(this.#counts),
      stakes_newly_lost: roundStakesToHundredths(lost),
      stakes_newly_saved: roundStakesToHundredths(saved),
      stakes_newly_admitted: roundStakesToHundredths(admitted),
      stakes_newly_turned_away: roundStakesToHundredths(turnedAway),
    };
  }

  /** Agents with the most changes, by name where they have as many. */
  listAgentsByChanges(names: readonly string[]): Omit<BacktestAgent, "question" | "level">[] {
    const sum = (counts: Uint32Array) => counts.reduce((all, count) => all + count, 0);
    return [...(this.#byAgent ?? [])]
      .map(([agent, counts]) => ({ agent: names[agent]!, counts, changed: sum(counts) }))
      .toSorted((a, b) => b.changed - a.changed || (a.agent < b.agent ? -1 : 1))
      .slice(0, AGENTS_MAX)
      .map(({ agent, counts }) => ({ agent, ...buildChangeCounts(counts) }));
  }
}

type FourCounts = [number, number, number, number];

function buildChangeCounts(counts: Float64Array | Uint32Array) {
  const [goodAllowed, badAllowed, goodTurnedAway, badTurnedAway] = counts as unknown as FourCounts;
  return {
    good_newly_allowed: goodAllowed,
    bad_newly_allowed: badAllowed,
    good_newly_turned_away: goodTurnedAway,
    bad_newly_turned_away: badTurnedAway,
  };
}

/** One question: a tally for each policy and level, and the changes between the two. */
class QuestionTallies {
  readonly goodByAgent: Uint32Array;
  readonly tallies: readonly { readonly of: BacktestPolicy; readonly at: readonly LevelTally[] }[];
  readonly changes: readonly LevelChanges[];
  /** Units of account in one of the tenant's units, as the live policy has it. */
  readonly #unit: number;

  constructor(options: BacktestOptions, grid: BoundGrid, question: BacktestQuestion) {
    const { live, given, agentCount } = options;
    this.goodByAgent = new Uint32Array(agentCount);
    this.#unit = live.terms.connect.unit;
    const talliesOf = (active: ActivePolicy) =>
      TOOL_LEVELS.map(
        (name) =>
          new LevelTally({
            name,
            active,
            areStakesNamed: QUESTIONS_WITH_STAKES.has(question),
            isHandshake: HANDSHAKE_QUESTIONS.has(question),
            grid,
          }),
      );
    this.tallies = [
      { of: "live" as const, at: talliesOf(live) },
      ...(given === undefined ? [] : [{ of: "given" as const, at: talliesOf(given) }]),
    ];
    this.changes =
      given === undefined
        ? []
        : TOOL_LEVELS.map((name) => new LevelChanges(LEVELS_WITH_AGENTS.has(name)));
  }

  add(each: BacktestCase, bin: number): void {
    const { agent, isBad } = each;
    const stakes = each.stakes / this.#unit;
    if (!isBad) this.goodByAgent[agent]! += 1;
    const [live, given] = this.tallies;
    for (let level = 0; level < TOOL_LEVELS.length; level++) {
      const before = live!.at[level]!.add(each, bin);
      if (given === undefined) continue;
      const isAllowed = given.at[level]!.add(each, bin) === VERDICT.ALLOW;
      if (isAllowed === (before === VERDICT.ALLOW)) continue;
      this.changes[level]!.add(isAllowed, agent, isBad, stakes);
    }
  }
}

export class PolicyBacktest {
  readonly #options: BacktestOptions;
  readonly #grid: BoundGrid;
  readonly #questions: readonly QuestionTallies[];
  readonly #money: BacktestMoney;

  constructor(options: BacktestOptions) {
    this.#options = options;
    this.#money = new BacktestMoney(options.live, options.given);
    const policies = [options.live, options.given].flatMap((each) => each?.policy ?? []);
    this.#grid = new BoundGrid(policies.flatMap(listProbabilityBounds));
    this.#questions = BACKTEST_QUESTIONS.map(
      (question) => new QuestionTallies(options, this.#grid, question),
    );
  }

  /**
   * Judges one outcome as one question. The reading is that of its subject right before it.
   * @param question index into BACKTEST_QUESTIONS.
   */
  add(question: number, each: BacktestCase): void {
    this.#questions[question]!.add(each, this.#grid.findBin(each.reading.failureProbability));
    if (question === VERIFY_WITH_STAKES && each.stakes > 0) this.#money.add(each);
  }

  /** Figures of all that was added. `names`: agents by their index. */
  buildFindings(names: readonly string[]): PolicyFindings {
    const found: PolicyFindings = {
      bounds: [...this.#grid.bounds],
      rows: [],
      curves: [],
      reasons: [],
      changes: [],
      agents: [],
      ...this.#money.buildFindings(),
    };
    for (const [index, question] of BACKTEST_QUESTIONS.entries()) {
      this.#collectQuestionFindings(found, this.#questions[index]!, question, names);
    }
    return found;
  }

  #collectQuestionFindings(
    found: PolicyFindings,
    asked: QuestionTallies,
    question: BacktestQuestion,
    names: readonly string[],
  ) {
    for (const { of: policy, at } of asked.tallies) {
      const { version } = this.#options[policy]!;
      for (const tally of at) {
        const named = { policy, question };
        found.rows.push({
          ...named,
          policy_version: version,
          ...tally.buildRow(asked.goodByAgent),
        });
        const curve = tally.buildCurve();
        if (curve !== undefined) found.curves.push({ ...named, ...curve });
        found.reasons.push(...tally.listReasons().map((reason) => ({ ...named, ...reason })));
      }
    }
    for (const [index, changes] of asked.changes.entries()) {
      const named = { question, level: TOOL_LEVELS[index]! };
      found.changes.push({ ...named, ...changes.buildChange() });
      found.agents.push(
        ...changes.listAgentsByChanges(names).map((agent) => ({ ...named, ...agent })),
      );
    }
  }
}

function listProbabilityBounds({ levels }: Policy): number[] {
  return TOOL_LEVELS.flatMap((name) => [
    levels[name].allow_up_to,
    levels[name].allow_handshake_up_to,
  ]);
}
