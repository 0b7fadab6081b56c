// `npm run crash`: kills and damages the real service in every way we know and prints what it did
// and what survived. `--rounds N` kills, `--seed N` to repeat a run. Exit code 1 when a promise
// broke.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { crashRun, tableOf } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const folder = mkdtempSync(join(tmpdir(), "trustrank-crash-"));
const seed = Number(values.seed);
process.stdout.write(`seed ${seed}\n`);
const outcomes = await crashRun(folder, Number(values.rounds), seed, (line) => {
  process.stderr.write(`${line}\n`);
});
process.stdout.write(tableOf(outcomes));
const isBroken = outcomes.some(({ faults }) => faults.length > 0);
if (isBroken) process.stdout.write(`the data directories are kept in ${folder}\n`);
else rmSync(folder, { recursive: true });
process.exitCode = isBroken ? 1 : 0;
