// The crash harness, short: a few kills and the faults that take seconds. `npm run crash` does the
// whole of it. Prints what it did as the command does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { endAll } from "../cli/_process.ts";
import { cutTail, type Outcome, zeroTail } from "./damage.ts";
import { killRounds } from "./kills.ts";
import { clockJump, failedSync, fullDisk } from "./outside.ts";
import { makeSound, refoldKills, seededRandom, tableOf } from "./run.ts";
import { needs } from "../_needs.ts";

const ROUNDS = 3;
const REFOLDS = 2;
/** Less than the command has: the re-fold is shorter, the kills are aimed by its length. */
const REFOLD_HISTORY = 20_000;
const SEED = Number(process.env["TRUSTRANK_CRASH_SEED"] ?? 20_261);
const folder = mkdtempSync(join(tmpdir(), "trustrank-crash-"));
const outcomes: Outcome[] = [];

afterAll(async () => {
  process.stdout.write(`seed ${SEED}\n${tableOf(outcomes)}`);
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test.concurrent(`${ROUNDS} kills under eight writers lose and double nothing`, async () => {
  const dataDir = join(folder, "kills");
  const report = await killRounds(dataDir, ROUNDS, seededRandom(SEED), () => undefined);
  const { rounds, acknowledged, recorded, faults } = report;
  const did = `${rounds} rounds; ${acknowledged} acknowledged, ${recorded} recorded`;
  outcomes.push({ name: "kill -9", did, faults });
  expect(faults).toEqual([]);
  expect(acknowledged).toBeGreaterThan(100);
  expect(report.assessed).toBeGreaterThan(0);
});

test.concurrent("a cut and a zero-filled tail cost at most the batch they cut", async () => {
  const sound = await makeSound(folder);
  for (const step of [cutTail, zeroTail]) {
    const outcome = await step(sound);
    outcomes.push(outcome);
    expect(outcome.faults, outcome.name).toEqual([]);
  }
});

/** What the step found broken; it cannot be one that this machine does not let run. */
async function findFaults(step: (folder: string) => Promise<Outcome>): Promise<string[]> {
  const outcome = await step(folder);
  outcomes.push(outcome);
  return outcome.skipped === undefined ? outcome.faults : [outcome.skipped];
}

test.concurrent("a full disk", needs("mount a tmpfs"), async () => {
  expect(await findFaults(fullDisk)).toEqual([]);
});
test.concurrent("a failing sync", needs("strace", "trace processes"), async () => {
  expect(await findFaults(failedSync)).toEqual([]);
});
test.concurrent("a jumping clock", needs("libfaketime"), async () => {
  expect(await findFaults(clockJump)).toEqual([]);
});

test.concurrent(`${REFOLDS} kills while a revoked key is folded out`, async () => {
  const plan = { rounds: REFOLDS, history: REFOLD_HISTORY };
  const outcome = await refoldKills(folder, plan, SEED, () => undefined);
  outcomes.push(outcome);
  expect(outcome.faults).toEqual([]);
});
