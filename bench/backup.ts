// Backup of a long history while outcomes come in by batches, the next backup,
// verification, and restores to the end and to a point in time. Acknowledgements are timed before,
// beside and after the backup. Tables are compared by their bytes. `--outcomes`, `--agents`, `--rate`
// (outcomes a second), `--batch`, `--seconds` (before and after), `--archive` (the service ships to an
// archive besides), `--dir DIR`, `--smoke`.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { parsed } from "./load/parsed.ts";
import { openTableImage } from "../src/engine/image.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { startLedger } from "../src/ledger/client.ts";
import { NOW_MS, writeHistory } from "./long-history.ts";
import { buildRequest, openLoop, quantile } from "./raw-client.ts";
import { ADMIN_KEY, COMMAND, machine, startServiceWith } from "./server-process.ts";

const run = promisify(execFile);
const LANES = 64;
/** Of traffic, until the backup beside it has ended. */
const CHUNK_SECONDS = 2;
/** Of traffic that is not counted: code that was never run is slow. */
const WARM_SECONDS = 3;
/** DuckDB reads a history that it has not seen before anything is timed, if it does in this time. */
const CATCH_UP_MS_MAX = 150_000;

/** A history that ends months ago has missed its weekly run. */
const NO_RUN = { TRUSTRANK_KAIZEN: "off" };

interface Size {
  readonly agents: number;
  readonly outcomes: number;
  /** Outcomes a second. */
  readonly rate: number;
  /** Outcomes a request. */
  readonly batch: number;
  readonly seconds: number;
  readonly isArchived: boolean;
}

interface Ran {
  readonly seconds: number;
  readonly facts: Record<string, unknown>;
}

/** Runs a command with `--json`. */
async function command(...parameters: string[]): Promise<Ran> {
  const startedAt = performance.now();
  const flags = ["--disable-warning=ExperimentalWarning", COMMAND, ...parameters, "--json"];
  const { stdout } = await run(process.execPath, flags);
  const seconds = fixed((performance.now() - startedAt) / 1000);
  process.stderr.write(`${parameters[0]} in ${seconds} s\n`);
  return { seconds, facts: JSON.parse(stdout) as Record<string, unknown> };
}

function fixed(value: number): number {
  return Number(value.toFixed(2));
}

interface Acks {
  accepted: number;
  refused: number;
  latencies: number[];
  services: number[];
}

/** Posts outcomes at the rate for so long, and then until `isOver`. */
async function traffic(url: URL, size: Size, seconds: number, isOver: () => boolean) {
  const sum: Acks = { accepted: 0, refused: 0, latencies: [], services: [] };
  const outcome = (index: number) => ({
    subject: `agent://bench/${index % size.agents}`,
    reporter: "agent://bench/r1",
    outcome: index % 11 === 0 ? 0 : 1,
    stakes: 1 + (index % 900),
    grade: "counterparty",
  });
  const request = (index: number) => {
    const from = index * size.batch;
    const outcomes = Array.from({ length: size.batch }, (_, offset) => outcome(from + offset));
    const body = JSON.stringify(outcomes);
    return buildRequest(url, "/v1/outcomes/batch", ADMIN_KEY, body, size.batch);
  };
  let left = seconds;
  do {
    const length = left > 0 ? left : CHUNK_SECONDS;
    const tally = await openLoop(url, request, size.rate / size.batch, length, LANES);
    sum.accepted += tally.accepted;
    sum.refused += tally.refused;
    for (const latency of tally.latencies) sum.latencies.push(latency);
    for (const latency of tally.services) sum.services.push(latency);
    left = 0;
  } while (!isOver());
  return sum;
}

/** Of requests, in ms: from when each was due, and without the lateness of this process. */
function timesOf({ latencies, services }: Acks) {
  const of = (values: readonly number[]) => ({
    p50: quantile(values, 0.5),
    p99: quantile(values, 0.99),
    max: quantile(values, 1),
  });
  return { due: of(latencies), sent: of(services) };
}

/** Whether DuckDB has all that the journal has; it gives up after a while. */
async function caughtUp(url: URL): Promise<boolean> {
  const until = performance.now() + CATCH_UP_MS_MAX;
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  while (performance.now() < until) {
    const text = await (await fetch(new URL("/metrics", url), { headers })).text();
    if (/^trustrank_store_lag_records 0$/m.test(text)) return true;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return false;
}

/** SHA-256 of the agent table that a start makes of a directory. */
async function tableHash(dataDir: string): Promise<{ hash: string; snapshot: boolean }> {
  const memory = createEngineMemory();
  const ledger = await startLedger({
    dataDir,
    engineMemory: memory,
    onFatal: (exitCode) => process.exit(exitCode),
    clock: () => NOW_MS,
    snapshotPace: { outcomes: Infinity, ms: Infinity, outcomesMin: Infinity },
  });
  await ledger.close();
  const digest = createHash("sha256");
  for (const part of openTableImage(memory).viewParts()) digest.update(part);
  return { hash: digest.digest("hex"), snapshot: ledger.replay.snapshotLsn !== undefined };
}

async function measure(root: string, size: Size) {
  const at = (name: string) => path.join(root, name);
  const [dataDir, backup] = [at("data"), at("backup")];
  mkdirSync(dataDir, { recursive: true });
  writeHistory(dataDir, size.agents, size.outcomes, size.outcomes);
  const archive = size.isArchived ? ["--archive", at("archive")] : [];
  const service = await startServiceWith(
    NO_RUN,
    dataDir,
    () => undefined,
    "--no-sample",
    ...archive,
  );
  const url = new URL(service.url);
  const source = ["--data-dir", dataDir];
  const hasCaughtUp = await caughtUp(url);
  await traffic(url, size, WARM_SECONDS, () => true);
  const before = await traffic(url, size, size.seconds, () => true);
  let first: Ran | undefined;
  const running = command("backup", backup, ...source).then((ran) => (first = ran));
  const beside = await traffic(url, size, 0, () => first !== undefined);
  await running;
  const after = await traffic(url, size, size.seconds, () => true);
  const next = await command("backup", backup, ...source);
  const exit = await service.stop();
  if (exit !== 0) throw new Error(`the service ended with ${exit}`);
  const last = await command("backup", backup, ...source);
  const verified = await command("backup", backup, "--verify");
  const position = Number(first!.facts["position"]);
  const whole = await command("restore", backup, "--data-dir", at("whole"));
  const cut = await command(
    "restore",
    backup,
    "--until",
    String(position),
    "--data-dir",
    at("cut"),
  );
  const original = await tableHash(dataDir);
  const restored = await tableHash(at("whole"));
  if (size.isArchived) await command("restore", at("archive"), "--data-dir", at("archived"));
  const archived = size.isArchived ? await tableHash(at("archived")) : undefined;
  // A chain names its whole history: that of the cut journal must be that of the backup made then.
  const partly = await command("backup", at("of-cut"), "--data-dir", at("cut"));
  return {
    outcomes: size.outcomes,
    agents: size.agents,
    rate: size.rate,
    batch: size.batch,
    store_had_caught_up: hasCaughtUp,
    ack_ms_before: timesOf(before),
    ack_ms_beside: timesOf(beside),
    ack_ms_after: timesOf(after),
    accepted_beside: beside.accepted,
    refused: before.refused + beside.refused + after.refused,
    backup_bytes: first!.facts["bytes"],
    backup_seconds: first!.seconds,
    next_backup_seconds: next.seconds,
    next_backup_bytes: next.facts["bytes_written"],
    position: last.facts["position"],
    verify_seconds: verified.seconds,
    restore_seconds: whole.seconds,
    restored_with_snapshot: restored.snapshot,
    same_table: original.hash === restored.hash,
    ...(archived === undefined ? {} : { archive_same_table: original.hash === archived.hash }),
    until: position,
    until_seconds: cut.seconds,
    same_chain_until: partly.facts["chain"] === first!.facts["chain"],
    machine: machine(),
  };
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: {
      agents: { type: "string", default: "1000000" },
      outcomes: { type: "string", default: "10000000" },
      rate: { type: "string", default: "5000" },
      batch: { type: "string", default: "50" },
      seconds: { type: "string", default: "10" },
      archive: { type: "boolean", default: false },
      dir: { type: "string" },
      smoke: { type: "boolean", default: false },
    },
  });
  const size: Size = values.smoke
    ? { agents: 2000, outcomes: 20_000, rate: 300, batch: 10, seconds: 1, isArchived: true }
    : {
        agents: Number(values.agents),
        outcomes: Number(values.outcomes),
        rate: Number(values.rate),
        batch: Number(values.batch),
        seconds: Number(values.seconds),
        isArchived: values.archive,
      };
  const root = values.dir ?? mkdtempSync(path.join(tmpdir(), "trustrank-backup-"));
  try {
    process.stdout.write(`${JSON.stringify(await measure(root, size))}\n`);
  } finally {
    if (values.dir === undefined) rmSync(root, { recursive: true, force: true });
  }
}

await main();
