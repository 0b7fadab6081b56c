// SQL form of the penalised, sign-constrained fit: one aggregate query of DuckDB a Newton step, the
// small system solved here. Shares only the Cholesky solver with src/kaizen/model/fit.ts: it is the
// independent solution that the fit is tested against, and the rival it is timed against.
import { solveCholesky } from "../src/kaizen/model/fit.ts";
import type { DesignMatrix, FitOptions } from "../src/kaizen/model/fit.ts";
import type { Connection } from "../src/store/duckdb.ts";

const ITERATIONS_MAX = 50;
const STEP_TOLERANCE = 1e-8;

/** Loads a design as table `design`: y, w, x0 to x(d-1). */
export async function loadDesign(connection: Connection, design: DesignMatrix): Promise<void> {
  const { columns, values, failures, weights } = design;
  const n = failures.length;
  const names = Array.from({ length: columns }, (_, j) => `x${j} DOUBLE`);
  await connection.run(`CREATE OR REPLACE TABLE design (y DOUBLE, w DOUBLE, ${names.join(", ")})`);
  const column = (j: number) => Array.from({ length: n }, (_, i) => values[i * columns + j]!);
  const loaded = [
    Array.from(failures, Number),
    weights === undefined ? Array.from(failures, () => 1) : [...weights],
    ...names.map((_, j) => column(j)),
  ];
  const types = loaded.map(() => "DOUBLE");
  await connection.appendColumns("design", types, loaded, n);
}

/** Loss, gradient and upper half of the Hessian at `beta`, of the active columns: one query. */
async function momentsAt(connection: Connection, beta: Float64Array, active: readonly number[]) {
  const eta = active.map((j) => `${beta[j]!.toExponential(17)} * x${j}`).join(" + ");
  const gradient = active.map((j) => `sum(r * x${j})`);
  const hessian = active.flatMap((j, i) => active.slice(i).map((k) => `sum(h * x${j} * x${k})`));
  const loss = "sum(w * (ln(1 + exp(-abs(eta))) + greatest(eta, 0) - y * eta))";
  const columns = active.map((j) => `x${j}`).join(", ");
  const [row] = await connection.rows(
    `WITH scored AS (SELECT y, w, ${columns}, ${eta} AS eta FROM design),
       weighed AS (SELECT *, 1 / (1 + exp(-eta)) AS p, w * (y - p) AS r, w * p * (1 - p) AS h
         FROM scored)
     SELECT ${[loss, ...gradient, ...hessian].join(", ")} FROM weighed`,
  );
  return (row as number[]).map(Number);
}

/** The penalised system of one Newton step. */
function systemOf(
  sums: readonly number[],
  beta: Float64Array,
  active: readonly number[],
  { lambda, prior }: FitOptions,
) {
  const d = active.length;
  const gradient = Float64Array.from(sums.slice(1, 1 + d));
  const hessian = new Float64Array(d * d);
  let at = 1 + d;
  let loss = sums[0]!;
  for (let i = 0; i < d; i++) {
    for (let k = i; k < d; k++) hessian[i * d + k] = hessian[k * d + i] = sums[at++]!;
  }
  active.forEach((j, i) => {
    const pull = j === 0 ? 1e-9 : lambda;
    const away = beta[j]! - (prior?.[j] ?? 0);
    loss += 0.5 * pull * away * away;
    gradient[i]! -= pull * away;
    hessian[i * d + i]! += pull;
  });
  return { loss, gradient, hessian };
}

async function newton(connection: Connection, active: readonly number[], options: FitOptions) {
  const beta = new Float64Array(options.signs.length);
  for (const j of active) beta[j] = options.prior?.[j] ?? 0;
  const at = async (point: Float64Array) =>
    systemOf(await momentsAt(connection, point, active), point, active, options);
  let system = await at(beta);
  let queries = 1;
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
    const step = solveCholesky(system.hessian, system.gradient);
    if (step === null) return null;
    for (let scale = 1; scale > 1e-6; scale /= 2) {
      const next = Float64Array.from(beta);
      active.forEach((j, i) => (next[j]! += scale * step[i]!));
      const tried = await at(next);
      queries++;
      const isDownhill = tried.loss <= system.loss * (1 + 1e-12) + 1e-9;
      if (!isDownhill && scale > 2e-6) continue;
      beta.set(next);
      system = tried;
      break;
    }
    if (Math.max(...step.map(Math.abs)) < STEP_TOLERANCE) break;
  }
  return { beta, queries };
}

/** Fits the loaded design as `fitLogistic` does. Null when the system is singular. */
export async function fitBySql(connection: Connection, options: FitOptions) {
  let active = options.signs.map((_, j) => j);
  let queries = 0;
  while (true) {
    const result = await newton(connection, active, options);
    if (result === null) return null;
    queries += result.queries;
    const wrong = new Set(active.filter((j) => options.signs[j]! * result.beta[j]! < 0));
    if (wrong.size === 0) return { coefficients: result.beta, queries };
    active = active.filter((j) => !wrong.has(j));
  }
}
