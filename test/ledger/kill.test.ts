// Real kill -9, real threads, real disk: what was acknowledged is there exactly once, in the
// journal and in the store, however often the process dies.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { diskFileLayer } from "../../src/platform/files.ts";
import { decodeOutcome } from "../../src/journal/outcome.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";
import { startStore } from "../../src/store/client.ts";
import { outcomeIdOf, seededRandom, temporaryDirectory } from "./_fixtures.ts";

const ROUNDS = Number(process.env["TRUSTRANK_KILL_ROUNDS"] ?? 5);
const CHILD = fileURLToPath(new URL("./_reporter-child.ts", import.meta.url));

/** Lets a child report from `first` on, kills it; returns what it was told is durable. */
async function runAndKill(
  dataDir: string,
  first: number,
  lifetimeMs: number,
): Promise<Map<number, number>> {
  // A file, not a pipe: a reader that is busy would make the child's writes fail.
  const path = join(temporaryDirectory(), "acknowledged");
  const output = fs.openSync(path, "a");
  const child = spawn(process.execPath, [CHILD, dataDir, String(first)], {
    stdio: ["ignore", output, "inherit"],
  });
  fs.closeSync(output);
  const closed = once(child, "close") as Promise<[number, string]>;
  await expect.poll(() => fs.statSync(path).size, { interval: 5 }).not.toBe(0);
  await setTimeout(lifetimeMs);
  child.kill("SIGKILL");
  const [, signal] = await closed;
  expect(signal).toBe("SIGKILL");
  // The last line may be cut by the kill.
  const lines = fs.readFileSync(path, "latin1").split("\n").slice(0, -1);
  return new Map(lines.map((line) => line.split(" ").map(Number) as [number, number]));
}

test(`${ROUNDS} kills: every acknowledged outcome is there once`, async () => {
  const dataDir = temporaryDirectory();
  const random = seededRandom(9);
  const acknowledged = new Map<number, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const told = await runAndKill(dataDir, 1 + round * 1_000_000, 5 + random() * 500);
    for (const [index, position] of told) acknowledged.set(index, position);
  }
  const found = new Map<string, number>();
  const recovery = recoverJournal(diskFileLayer, `${dataDir}/journal`, (bytes, at, lsn) => {
    const { outcomeId } = decodeOutcome(bytes, at);
    expect(found.has(outcomeId)).toBe(false);
    found.set(outcomeId, lsn);
  });
  expect(acknowledged.size).toBeGreaterThan(ROUNDS * 20);
  for (const [index, position] of acknowledged) {
    expect(found.get(outcomeIdOf(index)), `outcome ${index}`).toBe(position);
  }
  const report = verifyJournal(diskFileLayer, `${dataDir}/journal`);
  expect(report).toMatchObject({ damage: undefined, lsn: recovery.tail.lsn });

  const store = await startStore({ dataDir, isStandalone: true });
  const { rows } = await store.query(
    "SELECT count(*), count(DISTINCT outcome_id), max(position) FROM outcomes",
    { rowsMax: 10, timeoutMs: 5000 },
  );
  expect(rows).toEqual([[found.size, found.size, recovery.tail.lsn]]);
  // On a loaded machine a kill now and then costs the database its file: derived data, made anew.
  expect(store.status().rebuildCount).toBeLessThanOrEqual(1);
  await store.close();
});
