// The main part of the crash harness: rounds of kill -9 at random moments under eight writers, each
// followed by a start that must find everything that was acknowledged, once.
import { setTimeout as wait } from "node:timers/promises";
import { Evidence } from "./evidence.ts";
import { launchServer, startServer } from "./server.ts";
import { Writers } from "./writers.ts";

const LIFE_MS = [20, 2000] as const;
/** One kill in so many falls into the start itself. */
const START_KILL_EVERY = 5;

export interface KillReport {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly recorded: number;
  /** Failed texts on record. */
  readonly assessed: number;
  readonly faults: string[];
}

/**
 * Runs `rounds` of kill -9 over one data directory. Ends early at the first broken promise.
 * @param random in [0, 1): decides every moment.
 */
export async function killRounds(
  dataDir: string,
  rounds: number,
  random: () => number,
  progress: (line: string) => void,
): Promise<KillReport> {
  const evidence = new Evidence(dataDir);
  const writers = new Writers();
  const faults: string[] = [];
  let round = 0;
  for (; round < rounds && faults.length === 0; round++) {
    const lifeMs = LIFE_MS[0] + random() * (LIFE_MS[1] - LIFE_MS[0]);
    if (round % START_KILL_EVERY === START_KILL_EVERY - 1) {
      const started = launchServer(dataDir);
      await wait(lifeMs / 2);
      started.process.kill("SIGKILL");
      await started.ended;
    } else {
      const server = await startServer(dataDir);
      faults.push(...(await evidence.tableFaults(server)));
      faults.push(...(await evidence.storeFaults(server)));
      writers.start(server);
      await wait(lifeMs);
      await server.kill();
      await writers.stop();
    }
    faults.push(...evidence.follow(), ...evidence.missing(writers.acknowledged));
    faults.push(...writers.broken);
    progress(`kill ${round + 1} of ${rounds}: ${writers.acknowledged.size} acknowledged`);
  }
  if (faults.length === 0) {
    const server = await startServer(dataDir);
    faults.push(...(await evidence.tableFaults(server)));
    faults.push(...(await evidence.storeFaults(server)));
    await server.kill("SIGTERM");
  }
  const acknowledged = writers.acknowledged.size;
  return {
    rounds: round,
    acknowledged,
    recorded: evidence.found.size,
    assessed: evidence.assessedCount,
    faults,
  };
}
