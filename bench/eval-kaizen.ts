// eval:kaizen: kaizen over a whole stream as the service runs it: daily start-up calibrations, weekly
// runs with every gate (G9 with its attacks on the table of that day), the watch and its rollbacks,
// no seeds unless asked for. Every row is scored by the weights live at its time; beside it the same
// engine with its shipped weights never re-fitted, and Beta reputation. Of the last fifth, calibration
// in slices: what a user meets after all the re-fits before. One JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import { parseSeedRules } from "../src/kaizen/credibility/seeds.ts";
import { findFirstRowAtOrAfter } from "../src/kaizen/model/holdout.ts";
import {
  SCORECARD_SIDES,
  readCoefficients,
  computeRowLogit,
} from "../src/kaizen/model/scorecard.ts";
import type { ScorecardSide } from "../src/kaizen/model/scorecard.ts";
import type { ScoringModel } from "../src/engine/config.ts";
import { betaBaselines } from "./beta-baseline.ts";
import { DAY_MS, deniedSuccesses, KaizenSchedule, meanLoss } from "./kaizen-schedule.ts";
import { historyOf, StreamStandings } from "./kaizen-stream.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { calibrationIn, sliceRows } from "./slices.ts";
import type { SliceFigures } from "./slices.ts";

const WEEK_DAYS = 7;
/** Rows of the first stretch, in which a start-up calibration must help or do nothing. */
const FIRST_ROWS = 10_000;
/** Days over which denied successes are counted. */
const DENIAL_DAYS = 60;

/** Shares of the stream between which calibration in slices is judged, as in eval:trust. */
const PARTS: Readonly<Record<string, readonly [number, number]>> = {
  test: [0.8, 1],
  validation: [0.6, 0.8],
};

interface SideTotals {
  loss: number;
  firstLoss: number;
  shippedFirstLoss: number;
  /** Denied successes and all of each stretch of DENIAL_DAYS, under the live weights. */
  stretches: { denied: number; successes: number }[];
  /** Failure probability of every row, under the weights of its day. */
  probabilities: Float64Array;
}

/** Probabilities of rows [from, to), written into `target`. */
function foretell(
  { rows }: KaizenSchedule["evidence"][ScorecardSide],
  [from, to]: readonly [number, number],
  model: ScoringModel,
  target: Float64Array,
): void {
  const beta = readCoefficients(model);
  for (let row = from; row < to; row++)
    target[row] = 1 / (1 + Math.exp(-computeRowLogit(rows, row, beta)));
}

/** Days of the stream, each scored by the weights live on it and closed by what the service does. */
function walk(schedule: KaizenSchedule, isQuiet: boolean): Record<ScorecardSide, SideTotals> {
  const { timesMs } = schedule.evidence.check;
  const end = timesMs.length;
  const shipped = schedule.config;
  const empty = (): SideTotals => ({
    loss: 0,
    firstLoss: 0,
    shippedFirstLoss: 0,
    stretches: [],
    probabilities: new Float64Array(end),
  });
  const totals: Record<ScorecardSide, SideTotals> = { check: empty(), handshake: empty() };
  let scored = 0;
  let told = 0;
  for (let day = 1; scored < end; day++) {
    const atMs = timesMs[0]! + day * DAY_MS;
    const now = findFirstRowAtOrAfter(schedule.evidence.check, atMs);
    for (const side of now > scored ? SCORECARD_SIDES : []) {
      const total = totals[side];
      const rows = schedule.evidence[side];
      const model = schedule.config[side];
      total.loss += meanLoss(rows, scored, now, model) * (now - scored);
      foretell(rows, [scored, now], model, total.probabilities);
      const first = Math.min(now, FIRST_ROWS);
      if (first > scored) {
        total.firstLoss += meanLoss(rows, scored, first, model) * (first - scored);
        total.shippedFirstLoss += meanLoss(rows, scored, first, shipped[side]) * (first - scored);
      }
      const found = deniedSuccesses(rows, [scored, now], model, schedule.config);
      const stretch = (total.stretches[Math.floor(day / DENIAL_DAYS)] ??= {
        denied: 0,
        successes: 0,
      });
      stretch.denied += found.denied;
      stretch.successes += found.successes;
    }
    scored = now;
    schedule.at(atMs, day % WEEK_DAYS === 0 ? "run" : "calibration");
    for (; told < schedule.tests.length; told++) {
      const { at, kind, side, promoted, reason } = schedule.tests[told]!;
      const what = promoted ? "promoted" : "kept";
      if (!isQuiet) process.stderr.write(`${at} ${kind} ${side} ${what}: ${reason}\n`);
    }
  }
  return totals;
}

function sideReport(
  schedule: KaizenSchedule,
  side: ScorecardSide,
  totals: SideTotals,
  shippedLoss: number,
) {
  const { stretches } = totals;
  const rows = schedule.evidence[side].timesMs.length;
  const own = schedule.promotions.filter((each) => each.side === side);
  const runs = own.filter(({ kind }) => kind === "run");
  const tests = schedule.tests.filter((each) => each.side === side && each.kind === "run");
  const sum = (of: (each: { denied: number; successes: number }) => number) =>
    stretches.reduce((all, each) => all + of(each), 0);
  const liveLoss = totals.loss / rows;
  const first = Math.min(rows, FIRST_ROWS);
  return {
    tested: tests.length,
    promotions: runs.length,
    harmful: runs.filter(({ harmful }) => harmful).length,
    calibrations: own.length - runs.length,
    harmful_calibrations: own.filter(({ kind, harmful }) => kind !== "run" && harmful).length,
    rolled_back: own.filter(({ rolled_back }) => rolled_back !== undefined).length,
    stopped_by_g9_alone: tests.filter(({ failed }) => failed.join() === "G9").length,
    live_log_loss: liveLoss,
    no_refit_log_loss: shippedLoss,
    gain: 1 - liveLoss / shippedLoss,
    first_rows: first,
    first_log_loss: totals.firstLoss / first,
    first_no_refit_log_loss: totals.shippedFirstLoss / first,
    denied_successes: sum(({ denied }) => denied),
    successes: sum(({ successes }) => successes),
    worst_60_days: stretches
      .filter((each) => each !== undefined)
      .reduce((worst, each) => (each.denied > worst.denied ? each : worst)),
  };
}

/** Calibration in the slices of the rows from `from` on, under the weights of each row's day and as shipped. */
function lateSlices(
  outcomes: readonly RatedOutcome[],
  lagDays: number,
  evidence: KaizenSchedule["evidence"][ScorecardSide],
  { probabilities }: SideTotals,
  shipped: ScoringModel,
  from: number,
) {
  const end = outcomes.length;
  const slices = {
    all: [...Array(end - from).keys()],
    ...sliceRows(outcomes, lagDays, [from, end]),
  };
  const failures = evidence.failures.subarray(from, end);
  const never = new Float64Array(end);
  foretell(evidence, [from, end], shipped, never);
  const live = calibrationIn(slices, probabilities.subarray(from), failures);
  const before = calibrationIn(slices, never.subarray(from), failures);
  const ratio = ({ predicted, observed }: SliceFigures) =>
    Math.max(predicted / observed, observed / predicted);
  return Object.entries(live).map(([slice, figures]) => ({
    slice,
    ...figures,
    off_by: ratio(figures),
    off_by_never_refitted: ratio(before[slice]!),
  }));
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      format: { type: "string", default: "snap-ratings" },
      seeds: { type: "string" },
      "lag-days": { type: "string", default: "0" },
      part: { type: "string", default: "test" },
      quiet: { type: "boolean", default: false },
    },
  });
  const part = PARTS[values.part];
  if (values.file === undefined || values.format !== "snap-ratings" || part === undefined) {
    process.stderr.write(
      "usage: eval:kaizen -- --file F [--format snap-ratings] [--seeds earliest|LIST] " +
        "[--lag-days N] [--part test|validation] [--quiet]\n",
    );
    process.exit(2);
  }
  const stream = readRatings(values.file, "eval");
  const outcomes = stream.slice(0, Math.floor(part[1] * stream.length));
  const lateFrom = Math.floor(part[0] * stream.length);
  const config = loadDefaultConfig();
  const lagDays = Number(values["lag-days"]);
  const history = historyOf(outcomes, lagDays);
  const standings =
    values.seeds === undefined
      ? undefined
      : new StreamStandings(history, parseSeedRules(values.seeds), config);
  const schedule = new KaizenSchedule(history, config, standings);
  const totals = walk(schedule, values.quiet);
  const end = outcomes.length;
  const sides = SCORECARD_SIDES.map((side) => {
    const shippedLoss = meanLoss(schedule.evidence[side], 0, end, config[side]);
    const report = sideReport(schedule, side, totals[side], shippedLoss);
    const evidence = schedule.evidence[side];
    const slices = lateSlices(outcomes, lagDays, evidence, totals[side], config[side], lateFrom);
    for (const { slice, rows, off_by, off_by_never_refitted: never } of slices) {
      const ratios = `off by ${off_by.toFixed(2)}, never re-fitted ${never.toFixed(2)}`;
      process.stderr.write(`${side}, ${slice} (${rows} rows): ${ratios}\n`);
    }
    return [side, { ...report, slices }] as const;
  });
  const report = {
    file: values.file,
    seeds: values.seeds ?? "none",
    lag_days: lagDays,
    runs: schedule.runs,
    ...Object.fromEntries(sides),
    beta_log_loss: betaBaselines(outcomes, { from: 0, to: 0, end }).beta_log_loss,
    promotions: schedule.promotions,
    tests: schedule.tests,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
