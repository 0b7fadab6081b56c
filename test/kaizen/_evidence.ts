// Made-up evidence for the kaizen tests: rows drawn at random, labels from a known truth.
import type { ScoringConfig, ScoringModel } from "../../src/engine/config.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import type { FitRows } from "../../src/kaizen/model/holdout.ts";
import { createSeededRandom } from "../../src/kaizen/model/bootstrap.ts";
import {
  readCoefficients,
  COLUMN_COUNT,
  createScorecardRows,
  computeRowLogit,
} from "../../src/kaizen/model/scorecard.ts";

export const CONFIG: ScoringConfig = loadDefaultConfig();

/** `count` outcomes, one an hour, labels by `truth` on features of the size the engine gives. */
export function evidenceFrom(seed: number, count: number, truth: ScoringModel): FitRows {
  const random = createSeededRandom(seed);
  const rows = createScorecardRows(count);
  const failures = new Uint8Array(count);
  const beta = readCoefficients(truth);
  for (let row = 0; row < count; row++) {
    const values = new Float64Array(COLUMN_COUNT);
    values.set([1, -2.2, random.normal(), random.normal()]);
    values[5] = random.uniform() < 0.2 ? random.uniform() : 0;
    values[10] = Math.abs(random.normal()) * 2;
    rows.values.set(values, row * COLUMN_COUNT);
    rows.sdSubject[row] = 0.5;
    rows.outcomes[row] = 10;
    rows.sdViewer[row] = 0.5;
    rows.count++;
    const p = 1 / (1 + Math.exp(-computeRowLogit(rows, row, beta)));
    failures[row] = random.uniform() < p ? 1 : 0;
  }
  return {
    rows,
    failures,
    subjects: Uint32Array.from({ length: count }, () => Math.floor(random.uniform() * 400)),
    reporters: Uint32Array.from({ length: count }, () => Math.floor(random.uniform() * 300)),
    timesMs: Float64Array.from({ length: count }, (_, i) => 1.7e12 + i * 3_600_000),
    weights: new Float64Array(count).fill(1),
  };
}

/** All columns but those that only history gives. */
export const USABLE: readonly boolean[] = Array.from({ length: COLUMN_COUNT }, (_, j) =>
  [0, 1, 2, 3, 5, 10].includes(j),
);
