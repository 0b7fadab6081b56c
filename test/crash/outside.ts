// Faults from outside the process: a full disk, a sync that fails, a frozen process, a clock that
// jumps. Those that need a missing privilege or package report so and are skipped.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { BALLAST_FILE } from "../../src/ledger/disk/reserve.ts";
import type { Ended } from "../cli/_process.ts";
import { Evidence } from "./evidence.ts";
import type { Outcome } from "./damage.ts";
import { attachServer, type CrashServer, launchServer, startServer } from "./server.ts";
import { Writers } from "./writers.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const EXIT_SYNC_FAILED = 70;
const FROZEN_MS = 5000;
const BUSY_MS = 700;
const TMPFS_MEGABYTES = 192;
const FAKETIME = [
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/** Starts once more over `dataDir` and compares journal, table and DuckDB with the promises. */
async function checkAll(dataDir: string, writers: Writers): Promise<string[]> {
  const server = await startServer(dataDir);
  const evidence = new Evidence(dataDir);
  const faults = [...evidence.follow(), ...evidence.missing(writers.acknowledged)];
  faults.push(...writers.broken, ...(await evidence.tableFaults(server)));
  faults.push(...(await evidence.storeFaults(server)));
  await server.kill("SIGTERM");
  return faults;
}

/** Fills a small file system under the running server, then gives the room back. */
export async function fullDisk(folder: string): Promise<Outcome> {
  const name = "disk full and healed";
  const mount = join(folder, "small");
  fs.mkdirSync(mount, { recursive: true });
  try {
    const size = `size=${TMPFS_MEGABYTES}m`;
    execFileSync("mount", ["-t", "tmpfs", "-o", size, "tmpfs", mount], { stdio: "ignore" });
  } catch {
    return { name, did: "", faults: [], skipped: "mounting a tmpfs needs root" };
  }
  try {
    return { name, ...(await fillAndHeal(join(mount, "data"), join(mount, "filler"))) };
  } finally {
    execFileSync("umount", ["-l", mount]);
  }
}

/** Waits until it is so, or has not been for as long as a test may wait. */
async function until(isSo: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MS_MAX;
  while (!isSo() && Date.now() < endMs) await wait(50);
}

async function fillAndHeal(dataDir: string, filler: string) {
  const server = await startServer(dataDir);
  const writers = new Writers();
  writers.start(server);
  await wait(BUSY_MS);
  fill(filler);
  const faults: string[] = [];
  await until(() => writers.refused.has(503));
  const refused = writers.refused.get(503) ?? 0;
  if (refused === 0) faults.push("no outcome was refused on the full disk");
  if ((await check(server)) !== 200) faults.push("scores stopped on the full disk");
  if ((await server.get("/readyz")).status !== 503) faults.push("said it was ready on a full disk");
  const ballast = join(dataDir, "journal", BALLAST_FILE);
  await until(() => !fs.existsSync(ballast));
  if (fs.existsSync(ballast)) faults.push("the ballast was not given up on the full disk");
  fs.rmSync(filler);
  const before = writers.acknowledged.size;
  await until(() => writers.acknowledged.size > before);
  await wait(BUSY_MS);
  if (writers.acknowledged.size === before) faults.push("did not heal when room came back");
  if ((await server.get("/readyz")).status !== 200) faults.push("not ready after healing");
  await until(() => fs.existsSync(ballast));
  if (!fs.existsSync(ballast)) faults.push("the ballast was not made again after healing");
  // Full once more: an orderly end must not need room that is not there.
  fill(filler);
  const ended = await server.kill("SIGTERM");
  if (!hasEndedWith(ended, 0)) faults.push(`ended with ${ended.code} on the full disk`);
  await writers.stop();
  fs.rmSync(filler);
  faults.push(...(await checkAll(dataDir, writers)));
  const did = `503 for outcomes, scores went on, ended in order; ${writers.acknowledged.size} kept`;
  return { did, faults };
}

/** Takes the last byte: what is freed by others is taken too, until nothing is left twice. */
function fill(path: string): void {
  const descriptor = fs.openSync(path, "w");
  const block = Buffer.alloc(1024 * 1024);
  for (let bytes = block.byteLength; bytes >= 512;) {
    try {
      fs.writeSync(descriptor, block, 0, bytes);
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
  fs.closeSync(descriptor);
}

async function check(server: CrashServer): Promise<number> {
  const body = JSON.stringify({ subject: "agent://crash/1", stakes: 5 });
  return (await server.post("/v1/check", body)).status;
}

/**
 * Whether the process ended for the reason that the exit code stands for. On a busy machine a call into the database
 * may not return in time: the service then kills itself instead of exiting, after it has logged the code.
 */
function hasEndedWith({ code, stderr }: Pick<Ended, "code" | "stderr">, expected: number): boolean {
  if (code === expected) return true;
  const reason = expected === 0 ? '"service_ending"' : `"exit_code":${expected}`;
  return code === null && stderr.includes("service_end_forced") && stderr.includes(reason);
}

/** Every fdatasync of the ledger fails from the n-th on: acknowledge nothing more, end with 70. */
export async function failedSync(folder: string): Promise<Outcome> {
  const name = "sync failing";
  try {
    execFileSync("strace", ["-qq", "-e", "trace=none", "true"], { stdio: "ignore" });
  } catch {
    return { name, did: "", faults: [], skipped: "needs the Debian package strace and ptrace" };
  }
  const { ended, writers, dataDir } = await failSyncs(join(folder, "sync"));
  const faults = await checkAll(dataDir, writers);
  if (!hasEndedWith(ended, EXIT_SYNC_FAILED)) faults.push(`ended with ${ended.code}, expected 70`);
  const { size } = writers.acknowledged;
  return { name, did: `EIO from the 40th sync; ${size} acknowledged before`, faults };
}

async function failSyncs(dataDir: string) {
  // The directories exist before, so that only the journal's own syncs are counted.
  await (await startServer(dataDir)).kill("SIGTERM");
  const inject = "inject=fdatasync:error=EIO:when=40+";
  const tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", inject];
  const writers = new Writers();
  const started = launchServer(dataDir, { tracer });
  writers.start(await attachServer(started));
  const ended = await started.ended;
  await writers.stop();
  return { ended, writers, dataDir };
}

export async function frozen(folder: string): Promise<Outcome> {
  const dataDir = join(folder, "frozen");
  const server = await startServer(dataDir);
  const writers = new Writers();
  writers.start(server);
  await wait(BUSY_MS);
  process.kill(server.pid, "SIGSTOP");
  // What left the server before it stopped may still arrive.
  await wait(100);
  const before = writers.acknowledged.size;
  await wait(FROZEN_MS);
  const meanwhile = writers.acknowledged.size - before;
  process.kill(server.pid, "SIGCONT");
  await until(() => writers.acknowledged.size > before + meanwhile);
  const after = writers.acknowledged.size - before;
  await server.kill();
  await writers.stop();
  const faults = after > 0 ? [] : ["did not go on after SIGCONT"];
  if (meanwhile > 0) faults.push(`${meanwhile} acknowledged while stopped`);
  faults.push(...(await checkAll(dataDir, writers)));
  return { name: "SIGSTOP for 5 s", did: `went on with ${after} more`, faults };
}

/** The wall clock goes back an hour, then two forward, under load. */
export async function clockJump(folder: string): Promise<Outcome> {
  const name = "clock jumped by an hour";
  const library = FAKETIME.find((path) => fs.existsSync(path));
  if (library === undefined) {
    return { name, did: "", faults: [], skipped: "needs the Debian package libfaketime" };
  }
  const dataDir = join(folder, "clock");
  const clock = join(folder, "clock-offset");
  fs.writeFileSync(clock, "+0");
  const environment = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
  const server = await startServer(dataDir, { environment });
  const writers = new Writers();
  writers.start(server);
  const counts: number[] = [];
  for (const offset of ["+0", "-1h", "+1h"]) {
    fs.writeFileSync(clock, offset);
    const before = writers.acknowledged.size;
    await until(() => writers.acknowledged.size > before);
    await wait(BUSY_MS);
    counts.push(writers.acknowledged.size - before);
  }
  await server.kill();
  await writers.stop();
  const faults = counts.every((count) => count > 0) ? [] : ["stopped acknowledging"];
  faults.push(...(await checkAll(dataDir, writers)));
  return { name, did: `acknowledged ${counts.join(", ")} at +0, -1 h, +1 h`, faults };
}
