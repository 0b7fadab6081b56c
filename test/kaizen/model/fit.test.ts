// The fit against an independent solution (plain gradient descent on the same objective), its sign
// constraints, and everything that must break without taking the champion along.
import { describe, expect, it } from "vitest";
import { fitLogistic, solveCholesky } from "../../../src/kaizen/model/fit.ts";
import type { DesignMatrix, FitOptions } from "../../../src/kaizen/model/fit.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";

const COLUMNS = 4;

function designOf(seed: number, n: number, beta: readonly number[]): DesignMatrix {
  const random = createSeededRandom(seed);
  const values = new Float64Array(n * COLUMNS);
  const weights = new Float64Array(n);
  const failures = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    values.set([1, random.normal(), random.normal(), random.normal()], i * COLUMNS);
    const eta = beta.reduce((sum, b, j) => sum + b * values[i * COLUMNS + j]!, 0);
    failures[i] = random.uniform() < 1 / (1 + Math.exp(-eta)) ? 1 : 0;
    weights[i] = 0.2 + 0.8 * random.uniform();
  }
  return { columns: COLUMNS, values, failures, weights };
}

/** The same objective, written down again and walked downhill in small steps. */
function descend(design: DesignMatrix, options: FitOptions, fixed: ReadonlySet<number>): number[] {
  const { values, failures, weights } = design;
  const n = failures.length;
  const beta = Array.from({ length: COLUMNS }, () => 0);
  for (let step = 0; step < 6000; step++) {
    const gradient = Array.from({ length: COLUMNS }, () => 0);
    for (let i = 0; i < n; i++) {
      let eta = 0;
      for (let j = 0; j < COLUMNS; j++) eta += beta[j]! * values[i * COLUMNS + j]!;
      const r = weights![i]! * (1 / (1 + Math.exp(-eta)) - failures[i]!);
      for (let j = 0; j < COLUMNS; j++) gradient[j]! += r * values[i * COLUMNS + j]!;
    }
    for (let j = 0; j < COLUMNS; j++) {
      if (fixed.has(j)) continue;
      if (j > 0) gradient[j]! += options.lambda * (beta[j]! - (options.prior?.[j] ?? 0));
      beta[j]! -= (2 / n) * gradient[j]!;
    }
  }
  return beta;
}

describe("the penalised fit", () => {
  it.each([0, 1, 25])("equals gradient descent at lambda %d", (lambda) => {
    const design = designOf(7, 400, [-1, 0.8, -0.5, 0.3]);
    const options = { lambda, prior: Float64Array.of(0, 1, 0, 0), signs: [0, 1, -1, 0] };
    const fit = fitLogistic(design, options)!;
    const expected = descend(design, options, new Set());
    fit.coefficients.forEach((b, j) => expect(b).toBeCloseTo(expected[j]!, 5));
  });

  it("fixes a column with the wrong sign at zero and fits the rest again", () => {
    const design = designOf(8, 400, [-1, 0.8, 0.9, 0.3]);
    const options = { lambda: 1, signs: [0, 1, -1, 0] };
    const fit = fitLogistic(design, options)!;
    expect(fit.coefficients[2]).toBe(0);
    const expected = descend(design, options, new Set([2]));
    fit.coefficients.forEach((b, j) => expect(b).toBeCloseTo(expected[j]!, 5));
  });

  it("stays at the prior as lambda grows", () => {
    const design = designOf(9, 300, [-1, 0.8, -0.5, 0.3]);
    const prior = Float64Array.of(0, 2, -2, 1);
    const fit = fitLogistic(design, { lambda: 1e8, prior, signs: [0, 1, -1, 0] })!;
    [1, 2, 3].forEach((j) => expect(fit.coefficients[j]).toBeCloseTo(prior[j]!, 4));
  });

  it("gives the inverse Hessian as covariance", () => {
    const design = designOf(10, 500, [-1, 0.8, -0.5, 0.3]);
    const { covariance } = fitLogistic(design, { lambda: 1, signs: [0, 0, 0, 0] })!;
    for (let i = 0; i < COLUMNS; i++) {
      expect(covariance[i * COLUMNS + i]).toBeGreaterThan(0);
      for (let j = 0; j < i; j++) {
        expect(covariance[i * COLUMNS + j]).toBeCloseTo(covariance[j * COLUMNS + i]!, 10);
      }
    }
  });
});

describe("broken evidence", () => {
  it("survives separable data under a penalty and a constant column", () => {
    const n = 200;
    const values = new Float64Array(n * COLUMNS);
    const failures = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      failures[i] = i % 2;
      values.set([1, failures[i]! * 2 - 1, 5, 0], i * COLUMNS);
    }
    const fit = fitLogistic(
      { columns: COLUMNS, values, failures },
      {
        lambda: 1,
        signs: [0, 1, 0, 0],
      },
    )!;
    expect(fit.coefficients.every(Number.isFinite)).toBe(true);
    expect(fit.coefficients[3]).toBe(0);
  });

  it("answers null for NaN, infinity and a singular system", () => {
    const design = designOf(11, 100, [0, 1, -1, 0]);
    design.values[9] = Number.NaN;
    expect(fitLogistic(design, { lambda: 1, signs: [0, 0, 0, 0] })).toBeNull();
    design.values[9] = Infinity;
    expect(fitLogistic(design, { lambda: 1, signs: [0, 0, 0, 0] })).toBeNull();
    const doubled = designOf(12, 100, [0, 1, -1, 0]);
    for (let i = 0; i < 100; i++)
      doubled.values[i * COLUMNS + 2] = doubled.values[i * COLUMNS + 1]!;
    expect(fitLogistic(doubled, { lambda: 0, signs: [0, 0, 0, 0] })?.coefficients).toSatisfy(
      (b: Float64Array | undefined) => b === undefined || b.every(Number.isFinite),
    );
    expect(solveCholesky(Float64Array.of(1, 2, 2, 1), Float64Array.of(1, 1))).toBeNull();
  });
});
