// `npm run crash`: kills and damages the real service in every known way and prints each fault and
// what survived. `--rounds N` kills, `--refolds N` kills while a revoked key is folded out, `--only
// refolds` for nothing but those, `--seed N` to repeat a run. Exit code 1 when a promise broke.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endAll } from "../cli/_process.ts";
import type { Outcome } from "./damage.ts";
import { crashRun, REFOLD_HISTORY, refoldKills, tableOf } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    refolds: { type: "string", default: "40" },
    only: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const folder = mkdtempSync(join(tmpdir(), "trustrank-crash-"));
const seed = Number(values.seed);
process.stdout.write(`seed ${seed}\n`);
const progress = (line: string) => process.stderr.write(`${line}\n`);
const refolds = Number(values.refolds);
const run = async () =>
  values.only === "refolds"
    ? [await refoldKills(folder, { rounds: refolds, history: REFOLD_HISTORY }, seed, progress)]
    : crashRun(folder, { rounds: Number(values.rounds), refolds, seed }, progress);
let outcomes: Outcome[];
try {
  outcomes = await run();
} finally {
  // A harness that fails itself must not leave its servers behind.
  await endAll();
}
process.stdout.write(tableOf(outcomes));
const isBroken = outcomes.some(({ faults }) => faults.length > 0);
if (isBroken) process.stdout.write(`the data directories are kept in ${folder}\n`);
else rmSync(folder, { recursive: true });
process.exitCode = isBroken ? 1 : 0;
