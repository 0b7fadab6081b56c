// The fit against the same fit as aggregate queries of DuckDB, one a Newton step: summed in another
// way, in another language, with the same coefficients.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fitBySql, loadDesign } from "../../../bench/sql-fit.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { fitLogistic } from "../../../src/kaizen/model/fit.ts";
import type { DesignMatrix } from "../../../src/kaizen/model/fit.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import { COLUMN_SIGNS, COLUMN_COUNT } from "../../../src/kaizen/model/scorecard.ts";
import { openDatabase } from "../../../src/store/duckdb.ts";
import type { Connection, DuckDatabase } from "../../../src/store/duckdb.ts";
import { evidenceFrom } from "../_evidence.ts";

const directory = mkdtempSync(join(tmpdir(), "fit-sql-"));
let database: DuckDatabase;
let connection: Connection;

beforeAll(async () => {
  database = await openDatabase(":memory:", { memoryMegabytes: 512, exportDirectory: directory });
  connection = await database.connect();
});
afterAll(() => {
  connection.close();
  database.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The largest coefficient of the fit, and the largest difference to that in SQL. */
async function compare(design: DesignMatrix, lambda: number, signs: readonly number[]) {
  const prior = Float64Array.from(signs, (sign) => sign * 0.2);
  const options = { lambda, prior, signs };
  const fit = fitLogistic(design, options)!;
  await loadDesign(connection, design);
  const { coefficients } = (await fitBySql(connection, options))!;
  const gaps = fit.coefficients.map((b, j) => Math.abs(b - coefficients[j]!));
  return { fit, largest: Math.max(...fit.coefficients.map(Math.abs)), gap: Math.max(...gaps) };
}

describe("the fit as SQL", () => {
  it.each([1, 5, 25])(
    "gives the coefficients of the fit on a scorecard's rows, lambda %d",
    async (lambda) => {
      const truth = { ...loadDefaultConfig().handshake, intercept: -0.5, mean: 0.6 };
      const { rows, failures } = evidenceFrom(lambda, 4000, truth);
      const random = createSeededRandom(lambda);
      const weights = Float64Array.from(failures, () => 0.2 + 0.8 * random.uniform());
      const values = rows.values.slice(0, 4000 * COLUMN_COUNT);
      const found = await compare(
        { columns: COLUMN_COUNT, values, failures, weights },
        lambda,
        COLUMN_SIGNS,
      );
      expect(found.largest).toBeGreaterThan(0.1);
      expect(found.gap).toBeLessThan(1e-9);
    },
  );

  it("drops the same columns for their sign", async () => {
    const random = createSeededRandom(9);
    const n = 1500;
    const values = new Float64Array(n * 4);
    const failures = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      values.set([1, random.normal(), random.normal(), random.normal()], i * 4);
      const eta = -1 + 0.8 * values[i * 4 + 1]! + 0.9 * values[i * 4 + 2]!;
      failures[i] = random.uniform() < 1 / (1 + Math.exp(-eta)) ? 1 : 0;
    }
    const { fit, largest, gap } = await compare({ columns: 4, values, failures }, 1, [0, 1, -1, 1]);
    expect(fit.coefficients[2]).toBe(0);
    expect(largest).toBeGreaterThan(0.1);
    expect(gap).toBeLessThan(1e-9);
  });
});
