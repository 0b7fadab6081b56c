// Experiment of gate G6: ten thousand agents with random histories in the real engine. Under the
// challenger's weights one more failure must never help, more stakes must never relax a decision,
// and no single report may move a score further than the policy (or the champion) allows.
import { DEFAULT_POLICY } from "../../contract/policy.ts";
import { FEATURES } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { FoldOutcome, AgentScore } from "../../engine/reading.ts";
import { createActivePolicy } from "../../policy/active-policy.ts";
import { createConnection, decideConnection } from "../../policy/connection.ts";
import { createGateResult, formatRounded } from "./register.ts";
import type { GatePolicy, GateResult } from "./register.ts";
import type { Holdout } from "../model/holdout.ts";
import { createSeededRandom } from "../model/bootstrap.ts";
import type { RandomGenerator } from "../model/bootstrap.ts";
import { COLUMN_SIGNS, readCoefficients } from "../model/scorecard.ts";

/** Private engine of the experiment: weights do not change its state. */
export interface RandomStateEngine {
  install(config: ScoringConfig): void;
  fold(outcome: FoldOutcome): void;
  /** One leg on the subject; the reading is reused by the next call. */
  read(subject: string, stakes: number, nowMs: number): Readonly<AgentScore>;
}

/** Findings over all states for the challenger, with the champion beside it. */
export interface RandomStateFindings {
  states: number;
  /** States whose score rises, or whose failure probability falls, with one more failure. */
  failureHelps: number;
  /** States in which higher stakes get a milder decision. */
  stakesRelax: number;
  notFinite: number;
  /** Most points that one report moves a score, under the challenger and under the champion. */
  largestStep: number;
  championLargestStep: number;
  /** Points between the two models: the 99th percentile of the states. */
  shift99: number;
}

const STATE_COUNT = 10_000;
const REPORTER_COUNT = 2000;
const EVENTS_MAX = 16;
const HISTORY_MS = 400 * 86_400_000;
const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const STAKES_LADDER = [0, 1, 30, 1000, 1e5];
const COUNTERPARTY_GRADE_INDEX = 3;
const SIGNED_INDEX = 2;
/** Rounding of a score and of a probability. */
const SCORE_ROUNDING = 1e-6;

/** Terms of tenants that set none; those of others are held to the same conditions. */
const SHIPPED = createActivePolicy(DEFAULT_POLICY);

const buildStateSubject = (state: number): string => `agent://state/${state}`;

/** Histories of every length, quality, age and stake, in order of time. */
function generateHistories(random: RandomGenerator): FoldOutcome[] {
  const outcomes: FoldOutcome[] = [];
  for (let state = 0; state < STATE_COUNT; state++) {
    const events = Math.floor(random.uniform() ** 2 * (EVENTS_MAX + 1));
    const quality = random.uniform();
    const newestMs = NOW_MS - random.uniform() ** 3 * HISTORY_MS;
    for (let i = 0; i < events; i++) {
      outcomes.push({
        subject: buildStateSubject(state),
        reporter: `agent://voice/${Math.floor(random.uniform() * REPORTER_COUNT)}`,
        outcome: random.uniform() < quality ? 1 : 0,
        stakes: 10 ** (random.uniform() * 6 - 1),
        gradeIndex: Math.floor(random.uniform() * (COUNTERPARTY_GRADE_INDEX + 1)),
        signatureIndex: SIGNED_INDEX,
        settledAtMs: Math.floor(newestMs - random.uniform() * HISTORY_MS),
      });
    }
  }
  return outcomes.toSorted((a, b) => a.settledAtMs - b.settledAtMs);
}

/**
 * Reads score and failure probability of every state, and counts the stakes that relax a decision.
 */
function scoreAllStates(stage: RandomStateEngine, config: ScoringConfig) {
  stage.install(config);
  const scores = new Float64Array(STATE_COUNT);
  const risks = new Float64Array(STATE_COUNT);
  const connection = createConnection(SHIPPED);
  let stakesRelax = 0;
  for (let state = 0; state < STATE_COUNT; state++) {
    let strictest = 0;
    let isRelaxed = false;
    for (const stakes of STAKES_LADDER) {
      const reading = stage.read(buildStateSubject(state), stakes, NOW_MS);
      const { decisionIndex } = decideConnection({ active: SHIPPED, reading, stakes }, connection);
      if (decisionIndex < strictest) isRelaxed = true;
      strictest = decisionIndex;
    }
    if (isRelaxed) stakesRelax++;
    const reading = stage.read(buildStateSubject(state), 0, NOW_MS);
    scores[state] = reading.scoreInternal;
    risks[state] = reading.failureProbability;
  }
  return { scores, risks, stakesRelax };
}

function computeLargestGap(a: Float64Array, b: Float64Array): number {
  return a.reduce((most, score, i) => Math.max(most, Math.abs(score - b[i]!)), 0);
}

/** Plays the states on the given stage, which is spoilt afterwards. */
export function probeRandomStates(
  stage: RandomStateEngine,
  champion: ScoringConfig,
  challenger: ScoringConfig,
  seed: number,
): RandomStateFindings {
  for (const outcome of generateHistories(createSeededRandom(seed))) stage.fold(outcome);
  const failure = (subject: string, reporter: string): FoldOutcome => ({
    subject,
    reporter,
    outcome: 0,
    stakes: 10,
    gradeIndex: COUNTERPARTY_GRADE_INDEX,
    signatureIndex: SIGNED_INDEX,
    settledAtMs: NOW_MS,
  });
  // The first outcome of the hour closes the hour before: the base rate is fixed from here on.
  stage.fold(failure("agent://state/clock", "agent://voice/clock"));
  const before = scoreAllStates(stage, challenger);
  const championBefore = scoreAllStates(stage, champion);
  for (let state = 0; state < STATE_COUNT; state++) {
    stage.fold(failure(buildStateSubject(state), `agent://witness/${state}`));
  }
  const championAfter = scoreAllStates(stage, champion);
  const after = scoreAllStates(stage, challenger);
  const found = { failureHelps: 0, notFinite: 0 };
  for (let state = 0; state < STATE_COUNT; state++) {
    const [score, next] = [before.scores[state]!, after.scores[state]!];
    const [risk, nextRisk] = [before.risks[state]!, after.risks[state]!];
    if (![score, next, risk, nextRisk].every(Number.isFinite)) found.notFinite++;
    else if (next > score + SCORE_ROUNDING || nextRisk < risk - SCORE_ROUNDING) {
      found.failureHelps++;
    }
  }
  const shifts = before.scores.map((score, i) => Math.abs(score - championBefore.scores[i]!));
  return {
    ...found,
    states: STATE_COUNT,
    stakesRelax: before.stakesRelax + after.stakesRelax,
    largestStep: computeLargestGap(before.scores, after.scores),
    championLargestStep: computeLargestGap(championBefore.scores, championAfter.scores),
    shift99: shifts.toSorted()[Math.floor(0.99 * STATE_COUNT)]!,
  };
}

/** G6: signs, and the findings over random states. Without `found` the signs alone are judged. */
export function evaluateMonotoneGate(
  holdout: Pick<Holdout, "challenger">,
  policy: GatePolicy,
  found?: RandomStateFindings,
): GateResult {
  const beta = readCoefficients(holdout.challenger.model);
  const names = ["intercept", "base", "mean", "viewer", ...FEATURES];
  const wrong = names.filter((_, j) => !(beta[j]! * COLUMN_SIGNS[j]! >= 0));
  const signs =
    wrong.length === 0
      ? "every coefficient has the sign that its evidence demands"
      : `wrong sign of ${wrong.join(", ")}`;
  if (found === undefined) {
    const numbers = { wrong_signs: wrong.length };
    return createGateResult("G6", { passed: wrong.length === 0, numbers, sentence: signs });
  }
  const stepMax = Math.max(policy.report_step_max, found.championLargestStep);
  const broken = found.failureHelps + found.stakesRelax + found.notFinite;
  const numbers = {
    wrong_signs: wrong.length,
    states: found.states,
    failure_helps: found.failureHelps,
    stakes_relax: found.stakesRelax,
    not_finite: found.notFinite,
    largest_step: found.largestStep,
    champion_largest_step: found.championLargestStep,
    shift_99: found.shift99,
  };
  const sentence =
    `${signs}; in ${found.states} random states one more failure helps ` +
    `${found.failureHelps} times, higher stakes relax a decision ${found.stakesRelax} times, one ` +
    `report moves a score by at most ${formatRounded(found.largestStep, 0)} points (allowed ` +
    `${formatRounded(stepMax, 0)})`;
  const passed = wrong.length === 0 && broken === 0 && found.largestStep <= stepMax + 1e-6;
  return createGateResult("G6", { passed, numbers, sentence });
}
