// Rate at which a signed ring changes the weights, by kind and size of the ring, and the cost for everybody
// else: log-loss of clean rows after a promotion against before. One
// JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { challengeScorecard, computeRowLossOfModel } from "../src/kaizen/challenge.ts";
import type { ChallengeResult } from "../src/kaizen/challenge.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";
import type { RandomGenerator } from "../src/kaizen/model/bootstrap.ts";
import { readCoefficients, computeRowLogit } from "../src/kaizen/model/scorecard.ts";
import { probeInPrivateEngine } from "../src/kaizen/replay/private-engines.ts";
import { evidenceOf } from "./kaizen-stream.ts";
import { drawLabels, movedTruth } from "./label-worlds.ts";
import { readRatings } from "./ratings.ts";
import { usableColumns } from "./replay.ts";
import { credibilityOfRows } from "./ring-credibility.ts";
import { RING_KINDS, stretchOf, withRing } from "./ring-market.ts";
import type { RingKind, RingPlan, RingWindow } from "./ring-market.ts";

const TRAIN_ROWS = 12_000;
const HOLDOUT_ROWS = 3000;
/** Clean rows after the holdout, on which a promotion is judged. */
const JUDGED_ROWS = 3000;
const STRETCH = TRAIN_ROWS + HOLDOUT_ROWS + JUDGED_ROWS;

/**
 * `null`: the champion is the truth, so every promotion is a ring's or chance; `moved`: the world has
 * moved, and a ring is there besides; `file`: the labels of the file.
 */
const WORLDS = ["null", "moved", "file"] as const;
type World = (typeof WORLDS)[number];

interface Setting {
  base: FitRows;
  config: ScoringConfig;
  world: World;
  /** True: the operator has named seeds, and reporters are weighed by rho. */
  isCredible: boolean;
  /** Number of the ring's first name. */
  firstName: number;
}

function worldOf({ base, config, world }: Setting, random: RandomGenerator): FitRows {
  const from = Math.floor((base.failures.length - STRETCH) * random.uniform());
  const stretch = stretchOf(base, from, STRETCH);
  if (world === "file") return stretch;
  const beta = world === "null" ? readCoefficients(config.handshake) : movedTruth(config.handshake);
  const stretches = [
    [0, TRAIN_ROWS],
    [TRAIN_ROWS, TRAIN_ROWS + HOLDOUT_ROWS],
    [TRAIN_ROWS + HOLDOUT_ROWS, STRETCH],
  ];
  const truth = (evidence: FitRows, row: number) => computeRowLogit(evidence.rows, row, beta);
  return { ...stretch, failures: drawLabels(stretch, truth, stretches, random) };
}

function test(
  { evidence, holdoutFrom, holdoutTo }: RingWindow,
  config: ScoringConfig,
): ChallengeResult {
  const options = {
    side: "handshake",
    usable: usableColumns(true),
    trainTo: holdoutFrom,
    holdoutFrom,
    holdoutTo,
    isPilot: true,
  } as const;
  const found = challengeScorecard(evidence, config, options);
  if (!found.passed) return found;
  // The experiment of gate G6 takes longer than everything else: only where it can decide.
  const probe = (own: ScoringConfig) => probeInPrivateEngine("handshake", config, own, 1);
  return challengeScorecard(evidence, config, { ...options, probe });
}

/** Relative rise of log-loss on the clean rows after the holdout. */
function harmOf({ evidence, holdoutTo }: RingWindow, before: ScoringModel, after: ScoringModel) {
  let [old, own] = [0, 0];
  for (let row = holdoutTo; row < evidence.failures.length; row++) {
    old += computeRowLossOfModel(evidence, row, before);
    own += computeRowLossOfModel(evidence, row, after);
  }
  return own / old - 1;
}

/** Runs of one ring over all seeds. */
function measure(setting: Setting, plan: RingPlan | undefined, seeds: number) {
  const { config, firstName } = setting;
  const harms: number[] = [];
  const stoppedBy: Record<string, number> = {};
  for (let seed = 1; seed <= seeds; seed++) {
    const random = createSeededRandom(seed);
    const stretch = worldOf(setting, random);
    const split = [TRAIN_ROWS, TRAIN_ROWS + HOLDOUT_ROWS] as const;
    const window = withRing(stretch, config.handshake, plan, split, random, firstName);
    if (setting.isCredible) window.evidence.credibility = credibilityOfRows(window, config);
    const found = test(window, config);
    if (found.passed) harms.push(harmOf(window, config.handshake, found.challenger!));
    for (const { id, passed } of found.gates) {
      if (!passed) stoppedBy[id] = (stoppedBy[id] ?? 0) + 1;
    }
  }
  const mean = harms.reduce((sum, x) => sum + x, 0) / Math.max(1, harms.length);
  return {
    runs: seeds,
    promotions: harms.length,
    clean_loss_change: mean,
    clean_loss_change_worst: harms.length === 0 ? 0 : Math.max(...harms),
    stopped_by: stoppedBy,
  };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      seeds: { type: "string", default: "60" },
      shares: { type: "string", default: "3,5,10" },
      kinds: { type: "string", default: RING_KINDS.join(",") },
      names: { type: "string", default: "150" },
      world: { type: "string", default: "null" },
      credibility: { type: "boolean", default: false },
    },
  });
  const world = WORLDS.find((each) => each === values.world);
  if (values.file === undefined || world === undefined) {
    process.stderr.write(
      "usage: bench -- kaizen-rings --file F [--seeds 60] [--shares 3,5,10] [--names 150]\n" +
        `  [--kinds ${RING_KINDS.join(",")}] [--world ${WORLDS.join("|")}] [--credibility]\n`,
    );
    process.exit(2);
  }
  const config = loadDefaultConfig();
  const base = evidenceOf(readRatings(values.file, "eval"), config);
  if (base.failures.length < STRETCH) throw new RangeError(`the stream needs ${STRETCH} rows`);
  const firstName = base.reporters.reduce((most, id) => Math.max(most, id), 0) + 1;
  const setting: Setting = { base, config, world, isCredible: values.credibility, firstName };
  const rings: Record<string, ReturnType<typeof measure>> = {};
  const note = (name: string, plan?: RingPlan) => {
    const found = measure(setting, plan, Number(values.seeds));
    rings[name] = found;
    process.stderr.write(`${name}: ${JSON.stringify(found)}\n`);
  };
  note("none");
  for (const kind of values.kinds.split(",").filter((each) => each !== "")) {
    for (const share of values.shares.split(",").map(Number)) {
      const plan = { kind: kind as RingKind, share: share / 100, names: Number(values.names) };
      note(`${kind} ${share} %`, plan);
    }
  }
  process.stdout.write(`${JSON.stringify({ world, credibility: values.credibility, rings })}\n`);
}

main();
