// Several rating streams in one table (eval:trust -- --streams DIR): the engine under shipped and
// under fitted weights, and three baselines on the same rows, at two settlement lags; with intervals
// over subjects and calibration in the slices where overall figures hide what is wrong.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { fitLogistic } from "../src/kaizen/model/fit.ts";
import {
  computeAuc,
  computeCalibrationError,
  computeMeanLogLoss,
} from "../src/kaizen/model/forecast-metrics.ts";
import { readCoefficients, fitScorecard, computeRowLogit } from "../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../src/kaizen/model/scorecard.ts";
import { betaForecasts } from "./beta-baseline.ts";
import { boostedForecasts } from "./boosted-trees.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay, usableColumns } from "./replay.ts";
import type { Voices } from "./replay.ts";
import { richRows } from "./rich-features.ts";
import { calibrationIn, sliceRows } from "./slices.ts";
import type { SliceFigures } from "./slices.ts";
import { bootstrapIntervals } from "./subject-bootstrap.ts";

/** Parts of a stream: learn on the first, choose on the second, or learn on both and judge. */
export const PARTS = {
  validation: [0.1, 0.6, 0.8],
  test: [0.1, 0.8, 1],
} as const;
export type Part = keyof typeof PARTS;
const LAGS = [0, 7];
const LAMBDA = 1;

export interface StreamRow {
  stream: string;
  lag_days: number;
  side: "check" | "handshake";
  model: string;
  auc: number;
  auc_interval: readonly [number, number];
  log_loss: number;
  log_loss_interval: readonly [number, number];
  ece: number;
  slices?: Record<string, SliceFigures>;
}

type Range = readonly [from: number, to: number, end: number];

/** Logistic regression on any columns, as probabilities of the judged rows. */
function logisticForecasts(
  values: Float64Array,
  columns: number,
  failures: Uint8Array,
  [from, to, end]: Range,
): Float64Array {
  const design = {
    columns,
    values: values.subarray(from * columns, to * columns),
    failures: failures.subarray(from, to),
  };
  const fit = fitLogistic(design, { lambda: 1, signs: Array<number>(columns).fill(0) });
  if (fit === null) throw new Error("the regression broke");
  return Float64Array.from({ length: end - to }, (_, i) => {
    let eta = 0;
    for (let j = 0; j < columns; j++) eta += fit.coefficients[j]! * values[(to + i) * columns + j]!;
    return 1 / (1 + Math.exp(-eta));
  });
}

function engineForecasts(rows: ScorecardRows, beta: Float64Array, [, to, end]: Range) {
  return Float64Array.from({ length: end - to }, (_, i) => {
    return 1 / (1 + Math.exp(-computeRowLogit(rows, to + i, beta)));
  });
}

/** The shipped config with other constants: `name=number,...` of its top level. */
export function configWith(changes: string): ScoringConfig {
  const shipped = loadDefaultConfig();
  const given = changes.split(",").map((change): [string, number] => {
    const [name = "", value] = change.split("=");
    if (!(name in shipped) || !Number.isFinite(Number(value))) throw new Error(`no ${change}`);
    return [name, Number(value)];
  });
  return { ...shipped, ...Object.fromEntries(given), name: changes };
}

/** Forecasts of the models beside the engine, by scorecard. */
function baselinesOf(
  outcomes: RatedOutcome[],
  lagDays: number,
  failures: Uint8Array,
  range: Range,
) {
  const rich = richRows(outcomes, lagDays);
  const beta = betaForecasts(outcomes, lagDays);
  const logits = Float64Array.from(beta, (p) => Math.log(p / (1 - p)));
  const calibrated = new Float64Array(outcomes.length * 2);
  logits.forEach((logit, i) => calibrated.set([1, logit], 2 * i));
  return (side: "check" | "handshake"): Record<string, Float64Array> => {
    const columns = side === "check" ? rich.checkColumns : rich.handshakeColumns;
    return {
      beta: logisticForecasts(calibrated, 2, failures, range),
      logistic: logisticForecasts(rich[side], columns, failures, range),
      trees: boostedForecasts(rich[side], columns, failures, range),
    };
  };
}

/** How a stream is evaluated. */
interface StreamEvaluation {
  readonly part: Part;
  readonly config: ScoringConfig;
  readonly voices: Voices;
  /** Whether the models that do not read the engine's config are fitted too. */
  readonly hasBaselines: boolean;
}

/** All models of one stream at one lag. */
function streamRows(
  name: string,
  outcomes: RatedOutcome[],
  lagDays: number,
  { part, config, voices, hasBaselines }: StreamEvaluation,
): StreamRow[] {
  const range = PARTS[part].map((share) => Math.floor(outcomes.length * share)) as [
    number,
    number,
    number,
  ];
  const [from, to, end] = range;
  const replayed = replay(outcomes, config, lagDays, { voices });
  const { failures } = replayed;
  const baselines = hasBaselines ? baselinesOf(outcomes, lagDays, failures, range) : undefined;
  const subjects = outcomes.slice(to, end).map((o) => o.subject);
  const judged = failures.subarray(to, end);
  const slices = sliceRows(outcomes, lagDays, [to, end]);
  const sides = ["check", "handshake"] as const;
  return sides.flatMap((side) => {
    const rows = replayed[side];
    const usable = usableColumns(side === "handshake");
    const fit = fitScorecard({ rows, failures }, [from, to], config[side], {
      usable,
      lambda: LAMBDA,
    });
    if (fit === null) throw new Error(`the ${side} fit broke`);
    const forecasts: Record<string, Float64Array> = {
      shipped: engineForecasts(rows, readCoefficients(config[side]), range),
      fitted: engineForecasts(rows, fit.coefficients, range),
      ...baselines?.(side),
    };
    return Object.entries(forecasts).map(([model, probabilities]) => {
      const intervals = bootstrapIntervals(probabilities, judged, subjects);
      return {
        stream: name,
        lag_days: lagDays,
        side,
        model,
        auc: computeAuc(probabilities, judged),
        auc_interval: intervals.auc,
        log_loss: computeMeanLogLoss(probabilities, judged),
        log_loss_interval: intervals.logLoss,
        ece: computeCalibrationError(probabilities, judged),
        slices: calibrationIn(slices, probabilities, judged),
      };
    });
  });
}

/** What differs from the shipped evaluation. */
export interface StreamChanges {
  /** Constants of the config, as `configWith` takes them: then without a lag. */
  readonly constants?: string | undefined;
  readonly voices?: Voices | undefined;
}

/** Every stream (`*.csv`) of a folder, at both lags; the engine alone under `changes`. */
export function evaluateStreams(
  directory: string,
  part: Part,
  { constants, voices = "import" }: StreamChanges = {},
): StreamRow[] {
  const config = constants === undefined ? loadDefaultConfig() : configWith(constants);
  const hasBaselines = constants === undefined && voices === "import";
  const files = readdirSync(directory).filter((name) => name.endsWith(".csv"));
  return files.toSorted().flatMap((file) => {
    const outcomes = readRatings(join(directory, file), "eval");
    return (constants === undefined ? LAGS : [0]).flatMap((lagDays) => {
      process.stderr.write(`${file}, ${outcomes.length} outcomes, lag ${lagDays} days\n`);
      const evaluation = { part, config, voices, hasBaselines };
      return streamRows(basename(file, ".csv"), outcomes, lagDays, evaluation);
    });
  });
}

/** The rows as a table, and the slices of the engine's models as another. */
export function printStreams(rows: readonly StreamRow[]): void {
  const range = ([low, high]: readonly [number, number]) => `${low.toFixed(3)}-${high.toFixed(3)}`;
  const line = (cells: readonly (string | number)[]) =>
    process.stderr.write(`| ${cells.join(" | ")} |\n`);
  const head = ["stream", "lag", "model", "AUC", "95 %", "log-loss", "95 %", "ECE"];
  line(head);
  line(head.map(() => "---"));
  for (const row of rows) {
    line([
      row.stream,
      row.lag_days,
      `${row.side}, ${row.model}`,
      row.auc.toFixed(4),
      range(row.auc_interval),
      row.log_loss.toFixed(4),
      range(row.log_loss_interval),
      row.ece.toFixed(4),
    ]);
  }
  const sliced = rows.filter(({ model }) => model === "shipped" || model === "fitted");
  for (const row of sliced) {
    for (const [name, { predicted, observed, rows: count }] of Object.entries(row.slices ?? {})) {
      const ratio = Math.max(predicted / observed, observed / predicted);
      line([
        row.stream,
        row.lag_days,
        `${row.side}, ${row.model}`,
        name,
        count,
        `${(100 * predicted).toFixed(1)} %`,
        `${(100 * observed).toFixed(1)} %`,
        ratio.toFixed(2),
      ]);
    }
  }
}
