// Rings against gates that add tests up: worlds in which the champion is true and a ring lies, tested run
// after run, promoted where all tests together prove a gain. With and without the question whether those
// agree who did not teach it (gate G11).
import type { ScoringConfig } from "../src/engine/config.ts";
import { challengeScorecard, computeRowLossOfModel } from "../src/kaizen/challenge.ts";
import { GATE_POLICY } from "../src/kaizen/gates/gate.ts";
import type { GateResult } from "../src/kaizen/gates/gate.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import { createSeededRandom } from "../src/kaizen/model/random.ts";
import { readCoefficients, computeRowLogit } from "../src/kaizen/model/scorecard.ts";
import { testCalibration } from "./calibration-step.ts";
import { eValue } from "./e-process.ts";
import { drawLabels } from "./label-worlds.ts";
import { usableColumns } from "./replay.ts";
import { stretchOf, withRing } from "./ring-market.ts";
import type { RingPlan, RingWindow } from "./ring-market.ts";

/** From this e-value on tests prove a gain together: false for one champion of twenty. */
export const PROVEN = 20;
const TRAIN_ROWS = 12_000;
const HOLDOUT_ROWS = 3000;
/** Clean rows after the last test, on which a promotion is judged. */
const JUDGED_ROWS = 3000;
/** Gates that ask for significance in one test: the tests together answer for them. */
const ANSWERED: ReadonlySet<string> = new Set(["G2", "G7", "G8", "G11"]);

/** A number of a gate's record; undefined where the gate was not reached. */
export function numberOf(gates: readonly GateResult[], id: string, name: string) {
  return gates.find((gate) => gate.id === id)?.numbers[name];
}

/** The world of a seed, and its rows at which tests begin; the last is the end of the last test. */
function worldOf(
  base: FitRows,
  config: ScoringConfig,
  plan: RingPlan,
  tests: number,
  seed: number,
) {
  const random = createSeededRandom(seed);
  const ends = Array.from({ length: tests + 1 }, (_, k) => TRAIN_ROWS + k * HOLDOUT_ROWS);
  const split = [TRAIN_ROWS, ends.at(-1)!] as const;
  const count = split[1] + JUDGED_ROWS;
  if (base.failures.length < count) throw new RangeError(`the stream needs ${count} rows`);
  const first = Math.floor((base.failures.length - count) * random.uniform());
  const stretch = stretchOf(base, first, count);
  const beta = readCoefficients(config.handshake);
  const truth = ({ rows }: FitRows, row: number) => computeRowLogit(rows, row, beta);
  const stretches = [0, ...ends].map((from, k) => [from, ends[k] ?? count]);
  const labelled = { ...stretch, failures: drawLabels(stretch, truth, stretches, random) };
  const firstName = base.reporters.reduce((most, id) => Math.max(most, id), 0) + 1;
  const world = withRing(labelled, config.handshake, plan, split, random, firstName);
  const clean = Uint32Array.from(world.isRing.keys()).filter((row) => world.isRing[row] === 0);
  return { world, bounds: ends.map((end) => clean[end]!) };
}

/** Relative rise of log-loss on the clean rows from `from` on. */
function harmOf(
  { evidence }: RingWindow,
  from: number,
  before: ScoringConfig,
  after: ScoringConfig,
) {
  let [old, own] = [0, 0];
  for (let row = from; row < evidence.failures.length; row++) {
    old += computeRowLossOfModel(evidence, row, before.handshake);
    own += computeRowLossOfModel(evidence, row, after.handshake);
  }
  return own / old - 1;
}

/** Whether a test's gates pass, but for what all tests together answer. */
function isRestPassed(gates: readonly GateResult[]): boolean {
  const numbers = (id: string, name: string) => numberOf(gates, id, name) ?? -Infinity;
  const { communities } = gates.find(({ id }) => id === "G11")?.numbers ?? {};
  const isFree =
    communities === 0 ||
    numbers("G11", "worst_community_relative_gain") > numbers("G11", "community_gain_min");
  const isLarge = numbers("G2", "relative_gain") >= GATE_POLICY.relative_gain_min;
  return isFree && isLarge && gates.every(({ id, passed }) => passed || ANSWERED.has(id));
}

/** One test of a world: a re-fit, or a step of calibration alone on all rows before it. */
function testOf(
  evidence: FitRows,
  [from, to]: readonly [number, number],
  config: ScoringConfig,
  isCalibration: boolean,
) {
  if (isCalibration) {
    return testCalibration(evidence, [from, to], config, { side: "handshake", newest: Infinity });
  }
  return challengeScorecard(evidence, config, {
    side: "handshake",
    usable: usableColumns(true),
    trainTo: from,
    holdoutFrom: from,
    holdoutTo: to,
    isPilot: true,
  });
}

/** What a promotion asks for. */
export interface AccruedRules {
  tests: number;
  seed: number;
  /** True: the gain of those who did not teach it must be proven, too. */
  isExamined: boolean;
  isCalibration: boolean;
}

/** Change of clean log-loss by what the tests of one world promote; undefined for no promotion. */
export function accruedRing(
  base: FitRows,
  config: ScoringConfig,
  plan: RingPlan,
  { tests, seed, isExamined, isCalibration }: AccruedRules,
): number | undefined {
  const { world, bounds } = worldOf(base, config, plan, tests, seed);
  const [all, others]: [number[], number[]] = [[], []];
  for (let k = 0; k < tests; k++) {
    const span = [bounds[k]!, bounds[k + 1]!] as const;
    const { gates, challenger } = testOf(world.evidence, span, config, isCalibration);
    all.push(numberOf(gates, "G2", "z") ?? 0);
    others.push(numberOf(gates, "G11", "others_z") ?? 0);
    if (eValue(all) < PROVEN || (isExamined && eValue(others) < PROVEN)) continue;
    if (challenger === undefined || !isRestPassed(gates)) continue;
    return harmOf(world, bounds[tests]!, config, { ...config, handshake: challenger });
  }
  return undefined;
}
