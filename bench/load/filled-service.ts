// The real service over a made-up year of history, settled: what has to be applied or copied after a
// start is applied before anything is measured. The same history for the same number of outcomes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { fillJournal } from "../made-history.ts";
import { ADMIN_KEY, type ServerProcess, startServiceLogged } from "../server-process.ts";
import { endingWithMe } from "./children.ts";

const SETTLE_MS_MAX = 600_000;
const POLL_MS = 100;
/** Nothing else runs than what a bench starts, and stderr is the bench's. */
export const QUIET_ENV = { TRUSTRANK_KAIZEN: "off", TRUSTRANK_LOG_LEVEL: "warn" };

export interface Filling {
  readonly outcomes: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Put before the command, as `taskset -c 0`. */
  readonly runner?: readonly string[];
  readonly flags?: readonly string[];
}

/** Agents of such a history: `agent://made/0` to one less. */
export function agentsOf(outcomes: number): number {
  return Math.ceil(outcomes / 20);
}

/** Starts it on a directory that goes when it stops. Nothing stays when that fails. */
export async function startFilled(filling: Filling): Promise<ServerProcess> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-filled-"));
  const cleanUp = () => rmSync(dataDir, { recursive: true, force: true });
  try {
    await fillDirectory(dataDir, filling.outcomes);
    const { runner = [], flags = [] } = filling;
    const env = { ...QUIET_ENV, ...filling.env };
    const all = ["--no-sample", ...flags];
    const service = await startServiceLogged("inherit", runner, env, dataDir, cleanUp, ...all);
    return await settled(endingWithMe(service));
  } catch (error) {
    cleanUp();
    throw error;
  }
}

/** Writes such a history into a data directory that nobody owns. */
export async function fillDirectory(dataDir: string, outcomes: number): Promise<void> {
  // Now, so that a run of kaizen finds newest outcomes to test on.
  const nowMs = Date.now();
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => process.exit(code),
    clock: () => nowMs,
  });
  try {
    await fillJournal(ledger, outcomes, nowMs);
  } finally {
    await ledger.close();
  }
}

async function settled(service: ServerProcess): Promise<ServerProcess> {
  try {
    await untilApplied(service.url, SETTLE_MS_MAX);
    return service;
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/** The service's metrics as text. */
export async function metricsOf(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  return (await fetch(`${url}/metrics`, { headers })).text();
}

/** Waits until the store has applied the journal. @throws Error when that takes too long. */
export async function untilApplied(url: string, msMax: number): Promise<void> {
  const until = performance.now() + msMax;
  while (performance.now() < until) {
    const metrics = await metricsOf(url);
    const gauge = (name: string) =>
      Number(new RegExp(`trustrank_${name}(?:\\{[^}]*\\})? (\\d+)`).exec(metrics)?.[1]);
    if (gauge("store_position") === gauge("journal_position")) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`the store has not applied the journal in ${msMax / 1000} s`);
}
