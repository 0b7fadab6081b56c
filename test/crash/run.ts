// One run of the crash harness: rounds of kills, then one round of every other fault, as a list
// that reads as a table.
import { join } from "node:path";
import {
  cutTail,
  flipJournal,
  type Outcome,
  type Sound,
  spoilDatabase,
  spoilDatabaseLog,
  spoilSnapshot,
  zeroTail,
} from "./damage.ts";
import { killRounds } from "./kills.ts";
import { type RefoldPlan, type RefoldReport, refoldRounds } from "./refolds.ts";
import { clockJump, failedSync, frozen, fullDisk } from "./outside.ts";
import { startServer } from "./server.ts";
import { Writers } from "./writers.ts";
import { selectSnapshotNames } from "../../src/ledger/snapshot/format.ts";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { WAIT_MS_MAX } from "../_patience.ts";

/** Outcomes that a re-fold goes through in the first round: some tenths of a second. */
export const REFOLD_HISTORY = 100_000;

/** Runs everything below `folder`. The same seed gives the same moments. */
export async function crashRun(
  folder: string,
  { rounds, refolds, seed }: { rounds: number; refolds: number; seed: number },
  progress: (line: string) => void,
): Promise<Outcome[]> {
  const report = await killRounds(join(folder, "kills"), rounds, seededRandom(seed), progress);
  const { acknowledged, recorded } = report;
  const did = `${report.rounds} rounds; ${acknowledged} acknowledged, ${recorded} recorded`;
  const outcomes: Outcome[] = [{ name: "kill -9", did, faults: report.faults }];
  const plan = { rounds: refolds, history: REFOLD_HISTORY };
  outcomes.push(await refoldKills(folder, plan, seed, progress));
  const sound = await makeSound(folder);
  const steps: [string, () => Promise<Outcome>][] = [
    ["cut tail", () => cutTail(sound)],
    ["zero tail", () => zeroTail(sound)],
    ["journal bits", () => flipJournal(sound)],
    ["snapshot", () => spoilSnapshot(sound)],
    ["database", () => spoilDatabase(sound)],
    ["database log", () => spoilDatabaseLog(sound)],
    ["full disk", () => fullDisk(folder)],
    ["failed sync", () => failedSync(folder)],
    ["frozen", () => frozen(folder)],
    ["clock", () => clockJump(folder)],
  ];
  for (const [name, step] of steps) {
    progress(name);
    outcomes.push(await step());
  }
  return outcomes;
}

/** Kills while a revoked key is folded out, as a line of the table. */
export async function refoldKills(
  folder: string,
  plan: RefoldPlan,
  seed: number,
  progress: (line: string) => void,
): Promise<Outcome> {
  const report = await refoldRounds(join(folder, "refolds"), plan, seededRandom(seed), progress);
  return { name: "kill -9 in a re-fold", did: toldOf(report), faults: report.faults };
}

function toldOf({ rounds, acknowledged, fell }: RefoldReport): string {
  const { unanswered, refolding, swapped, starting } = fell;
  const places = [
    `${unanswered} before the revocation was answered`,
    `${refolding} during the re-fold`,
    `${swapped} after the swap`,
    `${starting} more in the next start`,
  ];
  return `${rounds} rounds: ${places.join(", ")}; ${acknowledged} acknowledged`;
}

/** A history with snapshots, a database and its log, left behind by a kill. */
export async function makeSound(folder: string): Promise<Sound> {
  const scratch = join(folder, "copies");
  mkdirSync(scratch, { recursive: true });
  const dataDir = join(folder, "sound");
  const server = await startServer(dataDir);
  const writers = new Writers();
  writers.start(server);
  const snapshots = join(dataDir, "snapshots");
  const until = Date.now() + WAIT_MS_MAX;
  const hasSnapshot = () =>
    existsSync(snapshots) && selectSnapshotNames(readdirSync(snapshots)).length > 0;
  while (!hasSnapshot() && Date.now() < until) await wait(50);
  // Some records behind it, as a kill leaves them.
  await wait(200);
  await server.kill();
  await writers.stop();
  return { dataDir, writers, scratch };
}

/** The outcomes as lines of a table, faults below. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  const lines = outcomes.flatMap(({ name, did, faults, skipped }) => {
    const verdict =
      skipped !== undefined ? "skipped " : faults.length > 0 ? "BROKEN  " : "survived";
    return [
      `${name.padEnd(width)}  ${verdict}  ${skipped ?? did}`,
      ...faults.slice(0, 10).map((fault) => `${"".padEnd(width)}  ${fault}`),
    ];
  });
  const count = (wanted: (outcome: Outcome) => boolean) => outcomes.filter(wanted).length;
  const broken = count(({ faults }) => faults.length > 0);
  const skipped = count((outcome) => outcome.skipped !== undefined);
  const survived = outcomes.length - broken - skipped;
  return `${lines.join("\n")}\n${survived} survived, ${broken} broken, ${skipped} skipped\n`;
}

/** mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
