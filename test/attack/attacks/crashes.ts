// Ends that nobody asked for, by the crash harness of the tests: kill -9 and SIGTERM under load, damaged
// files, a full disk. What was acknowledged has to be there once, in the journal, the table and the
// store, and a loss is never silent.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { endAll } from "../../cli/_process.ts";
import {
  cutTail,
  flipJournal,
  type Outcome as Step,
  type Sound,
  spoilDatabase,
  spoilDatabaseLog,
  spoilSnapshot,
  zeroTail,
} from "../../crash/damage.ts";
import { Evidence } from "../../crash/evidence.ts";
import { killRounds } from "../../crash/kills.ts";
import { fullDisk as fillDisk } from "../../crash/outside.ts";
import { makeSound, seededRandom } from "../../crash/run.ts";
import { startServer } from "../../crash/server.ts";
import { Writers } from "../../crash/writers.ts";
import type { Attack, Outcome } from "../attack.ts";
import { type AttackStage, delay } from "../stage.ts";

const KILLS = 10;
const TERMS = 5;
const BUSY_MS = 700;
/** SIGTERM to exit is promised within ten seconds. */
const END_MS_MAX = 10_000;
const DISKS = 3;

/** Plays in a folder of its own, which goes with what was started in it. */
async function inFolder(play: (folder: string) => Promise<Outcome>): Promise<Outcome> {
  const folder = mkdtempSync(path.join(tmpdir(), "trustrank-attack-"));
  try {
    return await play(folder);
  } finally {
    await endAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const kills: Attack = {
  name: "kills",
  what: "kill -9 and SIGTERM at any moment while eight writers report",
  play: (stage) =>
    inFolder(async (folder) => {
      const random = seededRandom(stage.seed);
      const rounds = stage.isShort ? 1 : KILLS;
      const report = await killRounds(path.join(folder, "kills"), rounds, random, () => undefined);
      const ends = await terms(path.join(folder, "terms"), stage.isShort ? 1 : TERMS);
      const acknowledged = report.acknowledged + ends.acknowledged;
      const figures = { kills: report.rounds, terms: ends.rounds, acknowledged };
      return {
        broken: [...report.faults, ...ends.faults],
        figures: { ...figures, slowest_end_ms: Math.round(ends.slowestMs) },
      };
    }),
};

/** Rounds of SIGTERM under load: an exit of 0 in time, and nothing acknowledged is lost. */
async function terms(dataDir: string, rounds: number) {
  const evidence = new Evidence(dataDir);
  const writers = new Writers();
  const faults: string[] = [];
  let slowestMs = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(dataDir);
    writers.start(server);
    await delay(BUSY_MS);
    const startedAt = performance.now();
    const { code } = await server.kill("SIGTERM");
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    await writers.stop();
    if (code !== 0) faults.push(`SIGTERM: ended with ${code}`);
    faults.push(...evidence.follow(), ...evidence.missing(writers.acknowledged));
    faults.push(...writers.broken);
  }
  if (slowestMs > END_MS_MAX) faults.push(`SIGTERM: ended after ${Math.round(slowestMs)} ms`);
  return { rounds, faults, slowestMs, acknowledged: writers.acknowledged.size };
}

export const damagedFiles: Attack = {
  name: "damaged-files",
  what: "journal, snapshot and database are cut, zeroed, flipped and deleted between two starts",
  play: (stage) =>
    inFolder(async (folder) => {
      const sound = await makeSound(folder);
      const steps: ((sound: Sound) => Promise<Step>)[] = stage.isShort
        ? [cutTail, zeroTail]
        : [cutTail, zeroTail, flipJournal, spoilSnapshot, spoilDatabase, spoilDatabaseLog];
      return outcomeOf(steps.map((step) => () => step(sound)));
    }),
};

export const fullDisk: Attack = {
  name: "full-disk",
  what: "the disk is filled to the last byte while eight writers report, and emptied again",
  play: (stage: AttackStage) =>
    inFolder((folder) => {
      const rounds = Array.from({ length: stage.isShort ? 1 : DISKS }, (_, round) => round);
      return outcomeOf(rounds.map((round) => () => fillDisk(path.join(folder, String(round)))));
    }),
};

async function outcomeOf(steps: readonly (() => Promise<Step>)[]): Promise<Outcome> {
  const broken: string[] = [];
  let skipped = 0;
  for (const step of steps) {
    const { name, faults, skipped: why } = await step();
    if (why !== undefined) skipped++;
    broken.push(...faults.map((fault) => `${name}: ${fault}`));
  }
  return { broken, figures: { steps: steps.length, skipped } };
}
