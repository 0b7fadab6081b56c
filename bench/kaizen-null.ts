// Rate of promotions by the default gates when there is nothing to find, when
// there is something, and under cheating. Real rows of a stream, labels drawn anew; the seed of
// each trial is its number. One JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { challengeScorecard } from "../src/kaizen/challenge.ts";
import type { ChallengeResult } from "../src/kaizen/challenge.ts";
import { evaluateAttackGate } from "../src/kaizen/gates/attacks/gate.ts";
import { GATE_POLICY } from "../src/kaizen/gates/register.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import {
  readCoefficients,
  computeRowLogit,
  replaceCoefficients,
} from "../src/kaizen/model/scorecard.ts";
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";
import { drawLabels, movedTruth } from "./label-worlds.ts";
import type { Truth } from "./label-worlds.ts";
import { openAttackJudge, playAttacksOnTable } from "../src/kaizen/replay/private-engines.ts";
import type { OutcomeHistory } from "../src/kaizen/replay/history.ts";
import { replayTableUpTo } from "../src/kaizen/replay/evidence.ts";
import { evidenceOf, historyOf } from "./kaizen-stream.ts";
import { readRatings } from "./ratings.ts";
import { usableColumns } from "./replay.ts";

const TRAIN_ROWS = 12_000;
const HOLDOUT_ROWS = 3_000;
const POISON_SHARE = 0.3;
const SHIFT_RUNS = 3;

function test(evidence: FitRows, config: ScoringConfig, from: number, to: number) {
  return challengeScorecard(evidence, config, {
    side: "handshake",
    usable: usableColumns(true),
    trainTo: from,
    holdoutFrom: from,
    holdoutTo: to,
    isPilot: true,
  });
}

interface Trial {
  base: FitRows;
  config: ScoringConfig;
  champion: Truth;
}

/** Stretches of a trial: training, then one holdout after the other. */
function stretchesOf(holdouts: number): number[][] {
  const ends = Array.from({ length: holdouts }, (_, k) => TRAIN_ROWS + k * HOLDOUT_ROWS);
  return [[0, TRAIN_ROWS], ...ends.map((from) => [from, from + HOLDOUT_ROWS])];
}

function nullTrial({ base, config, champion }: Trial, seed: number): ChallengeResult {
  const failures = drawLabels(base, champion, stretchesOf(1), createSeededRandom(seed));
  return test({ ...base, failures }, config, TRAIN_ROWS, TRAIN_ROWS + HOLDOUT_ROWS);
}

/**
 * What gate G9 measures where a re-fit learns nothing but noise: the scripts on the table at the end
 * of the trial's rows, under weights fitted to labels that the champion itself has drawn.
 */
function attackNoise(trials: readonly ChallengeResult[], history: OutcomeHistory, nowMs: number) {
  const config = loadDefaultConfig();
  const { tapes, credibility } = playAttacksOnTable(replayTableUpTo(history, nowMs, config));
  const judge = openAttackJudge(config);
  const gates = trials.flatMap(({ challenger, holdout }) => {
    if (challenger === undefined || holdout === undefined || tapes === undefined) return [];
    // The border of denial is the champion's: where slander profits from a fitted one, it stays.
    const { deny_at } = config.handshake;
    const own = { ...config, handshake: { ...challenger, ...(deny_at && { deny_at }) } };
    const rivals = { side: "handshake", champion: config, challenger: own, holdout } as const;
    return [evaluateAttackGate({ tapes, credibility }, rivals, judge, GATE_POLICY)];
  });
  const excesses = gates.map(({ numbers }) => numbers["largest_excess"]!).toSorted((a, b) => a - b);
  const quantile = (share: number) => excesses[Math.floor(share * (excesses.length - 1))];
  return {
    trials: gates.length,
    stopped: gates.filter(({ passed }) => !passed).length,
    largest_excess: { median: quantile(0.5), q95: quantile(0.95), q99: quantile(0.99) },
  };
}

/** Number of the run that promotes after the world has moved; 0 for none within three. */
function runsToPromotion({ base, config }: Trial, seed: number): number {
  const moved = movedTruth(config.handshake);
  const truth: Truth = (evidence, row) => computeRowLogit(evidence.rows, row, moved);
  const failures = drawLabels(base, truth, stretchesOf(SHIFT_RUNS), createSeededRandom(seed));
  const evidence = { ...base, failures };
  for (let run = 1; run <= SHIFT_RUNS; run++) {
    const to = TRAIN_ROWS + run * HOLDOUT_ROWS;
    if (test(evidence, config, to - HOLDOUT_ROWS, to).passed) return run;
  }
  return 0;
}

/** One reporter takes 30 % of the rows of the newest half, labels flipped. */
function isPoisonPromoted({ base, config, champion }: Trial, seed: number): boolean {
  const random = createSeededRandom(seed);
  const failures = drawLabels(base, champion, stretchesOf(1), random);
  const reporters = Uint32Array.from(base.reporters);
  const attacker = reporters.reduce((most, id) => Math.max(most, id), 0) + 1;
  for (let row = TRAIN_ROWS / 2; row < TRAIN_ROWS + HOLDOUT_ROWS; row++) {
    if (random.uniform() >= POISON_SHARE) continue;
    reporters[row] = attacker;
    failures[row] = 1 - failures[row]!;
  }
  const evidence = { ...base, failures, reporters };
  return test(evidence, config, TRAIN_ROWS, TRAIN_ROWS + HOLDOUT_ROWS).passed;
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      runs: { type: "string", default: "200" },
      "shift-runs": { type: "string", default: "20" },
    },
  });
  if (values.file === undefined) {
    process.stderr.write("usage: bench -- kaizen-null --file F [--runs 200] [--shift-runs 20]\n");
    process.exit(2);
  }
  const config = loadDefaultConfig();
  const outcomes = readRatings(values.file, "eval");
  const base = evidenceOf(outcomes, config);
  const needed = TRAIN_ROWS + SHIFT_RUNS * HOLDOUT_ROWS;
  if (base.failures.length < needed) throw new RangeError(`the stream needs ${needed} rows`);
  const beta = readCoefficients(
    replaceCoefficients(config.handshake, readCoefficients(config.handshake)),
  );
  const trial: Trial = {
    base,
    config,
    champion: ({ rows }, row) => computeRowLogit(rows, row, beta),
  };
  const seeds = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
  const count = (n: number, run: (seed: number) => boolean, what: string) => {
    const hits = seeds(n).filter((seed) => {
      if (seed % 20 === 0) process.stderr.write(`${what}: ${seed} of ${n}\n`);
      return run(seed);
    });
    return hits.length;
  };
  const runs = Number(values.runs);
  const shiftRuns = Number(values["shift-runs"]);
  const nulls: ChallengeResult[] = [];
  const promotedNull = count(
    runs,
    (seed) => (nulls[seed - 1] = nullTrial(trial, seed)).passed,
    "null",
  );
  const attacks = attackNoise(
    nulls,
    historyOf(outcomes, 0),
    base.timesMs[TRAIN_ROWS + HOLDOUT_ROWS]!,
  );
  const within = seeds(shiftRuns).map((seed) => runsToPromotion(trial, seed));
  const promotedPoison = count(runs, (seed) => isPoisonPromoted(trial, seed), "poison");
  const report = {
    null: { runs, promotions: promotedNull, share: promotedNull / runs },
    null_attacks: attacks,
    shift: {
      runs: shiftRuns,
      promoted_within_3: within.filter((run) => run > 0).length,
      runs_to_promotion: within,
    },
    poison: { runs, promotions: promotedPoison },
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
