// The same fit twice on the same rows, in the product's way (a pass over typed
// arrays a step) and as one aggregate query of DuckDB a step, one thread each, taken in turns. One
// JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsed } from "./load/parsed.ts";
import { fitLogistic } from "../src/kaizen/model/fit.ts";
import type { DesignMatrix } from "../src/kaizen/model/fit.ts";
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";
import { COLUMN_SIGNS, COLUMN_COUNT } from "../src/kaizen/model/scorecard.ts";
import { openDatabase } from "../src/store/duckdb.ts";
import { fitBySql, loadDesign } from "./sql-fit.ts";

const MEMORY_MEGABYTES = 2048;
const TURNS = 3;

/** Rows shaped like a scorecard's: a few strong columns, many weak ones, 12 % failures. */
function designOf(rows: number): DesignMatrix {
  const random = createSeededRandom(1);
  const truth = COLUMN_SIGNS.map((sign, j) => (j === 0 ? -2.2 : sign * (0.9 / (1 + j))));
  const values = new Float64Array(rows * COLUMN_COUNT);
  const failures = new Uint8Array(rows);
  const weights = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let eta = 0;
    for (let j = 0; j < COLUMN_COUNT; j++) {
      const value = j === 0 ? 1 : random.normal();
      values[row * COLUMN_COUNT + j] = value;
      eta += truth[j]! * value;
    }
    failures[row] = random.uniform() < 1 / (1 + Math.exp(-eta)) ? 1 : 0;
    weights[row] = 0.2 + 0.8 * random.uniform();
  }
  return { columns: COLUMN_COUNT, values, failures, weights };
}

const middleOf = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function measure(rows: number, directory: string) {
  const design = designOf(rows);
  const options = { lambda: 5, prior: new Float64Array(COLUMN_COUNT), signs: COLUMN_SIGNS };
  const database = await openDatabase(":memory:", {
    memoryMegabytes: MEMORY_MEGABYTES,
    exportDirectory: directory,
  });
  const connection = await database.connect();
  const timed = async <T>(work: () => Promise<T> | T) => {
    const startedAt = performance.now();
    const result = await work();
    return { result, seconds: (performance.now() - startedAt) / 1000 };
  };
  try {
    const load = await timed(() => loadDesign(connection, design));
    const [arrays, sql]: number[][] = [[], []];
    let [largestGap, largest] = [0, 0];
    let steps = { arrays: 0, sql: 0 };
    for (let turn = 0; turn < TURNS; turn++) {
      const own = await timed(() => fitLogistic(design, options)!);
      const other = await timed(async () => (await fitBySql(connection, options))!);
      arrays!.push(own.seconds);
      sql!.push(other.seconds);
      steps = { arrays: own.result.iterations, sql: other.result.queries };
      own.result.coefficients.forEach((b, j) => {
        largest = Math.max(largest, Math.abs(b));
        largestGap = Math.max(largestGap, Math.abs(b - other.result.coefficients[j]!));
      });
    }
    return {
      rows,
      columns: COLUMN_COUNT,
      arrays_seconds: middleOf(arrays!),
      sql_seconds: middleOf(sql!),
      sql_load_seconds: load.seconds,
      steps,
      largest_coefficient: largest,
      largest_gap: largestGap,
    };
  } finally {
    connection.close();
    database.close();
  }
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: { rows: { type: "string", multiple: true, default: ["35000", "1000000"] } },
  });
  const directory = mkdtempSync(join(tmpdir(), "kaizen-fit-"));
  try {
    const fits = [];
    for (const rows of values.rows) fits.push(await measure(Number(rows), directory));
    process.stdout.write(`${JSON.stringify({ fits })}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
