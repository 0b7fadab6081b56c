// bench:backup: backup of a long history while outcomes come in, the next backup, verification, and
// restores to the end and to a point in time. Acknowledgements are timed without and beside the
// backup. Tables are compared by their bytes. `--outcomes`, `--agents`, `--rate` (a second),
// `--seconds` (without a backup), `--dir DIR`, `--smoke`.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { tableImage } from "../src/engine/image.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { startLedger } from "../src/ledger/client.ts";
import { NOW_MS, writeHistory } from "./long-history.ts";
import { buildRequest, openLoop, quantile } from "./raw-client.ts";
import { ADMIN_KEY, COMMAND, machine, startServiceOver } from "./server-process.ts";

const run = promisify(execFile);
const LANES = 64;
/** Of traffic, until the backup beside it has ended. */
const CHUNK_SECONDS = 2;

interface Size {
  readonly agents: number;
  readonly outcomes: number;
  readonly rate: number;
  readonly seconds: number;
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
  const request = (index: number) => {
    const body = JSON.stringify({
      subject: `agent://bench/${index % size.agents}`,
      reporter: "agent://bench/r1",
      outcome: index % 11 === 0 ? 0 : 1,
      stakes: 1 + (index % 900),
      grade: "counterparty",
    });
    return buildRequest(url, "/v1/outcomes", ADMIN_KEY, body, 1);
  };
  let left = seconds;
  do {
    const length = left > 0 ? left : CHUNK_SECONDS;
    const tally = await openLoop(url, request, size.rate, length, LANES);
    sum.accepted += tally.accepted;
    sum.refused += tally.refused;
    for (const latency of tally.latencies) sum.latencies.push(latency);
    for (const latency of tally.services) sum.services.push(latency);
    left = 0;
  } while (!isOver());
  return sum;
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
  for (const part of tableImage(memory).parts()) digest.update(part);
  return { hash: digest.digest("hex"), snapshot: ledger.replay.snapshotLsn !== undefined };
}

async function measure(root: string, size: Size) {
  const at = (name: string) => path.join(root, name);
  const [dataDir, backup] = [at("data"), at("backup")];
  mkdirSync(dataDir, { recursive: true });
  writeHistory(dataDir, size.agents, size.outcomes, size.outcomes);
  const service = await startServiceOver(dataDir, () => undefined, "--no-sample");
  const url = new URL(service.url);
  const source = ["--data-dir", dataDir];
  const alone = await traffic(url, size, size.seconds, () => true);
  let first: Ran | undefined;
  const running = command("backup", backup, ...source).then((ran) => (first = ran));
  const beside = await traffic(url, size, 0, () => first !== undefined);
  await running;
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
  // A chain names its whole history: that of the cut journal must be that of the backup made then.
  const partly = await command("backup", at("of-cut"), "--data-dir", at("cut"));
  return {
    outcomes: size.outcomes,
    agents: size.agents,
    ack_p50_ms_alone: quantile(alone.latencies, 0.5),
    ack_p99_ms_alone: quantile(alone.latencies, 0.99),
    ack_p50_ms_beside: quantile(beside.latencies, 0.5),
    ack_p99_ms_beside: quantile(beside.latencies, 0.99),
    // Without the lateness of this process, which shares the cores.
    ack_service_p99_ms_alone: quantile(alone.services, 0.99),
    ack_service_p99_ms_beside: quantile(beside.services, 0.99),
    accepted_beside: beside.accepted,
    refused: alone.refused + beside.refused,
    backup_bytes: first!.facts["bytes"],
    backup_seconds: first!.seconds,
    next_backup_seconds: next.seconds,
    next_backup_bytes: next.facts["bytes_written"],
    position: last.facts["position"],
    verify_seconds: verified.seconds,
    restore_seconds: whole.seconds,
    restored_with_snapshot: restored.snapshot,
    same_table: original.hash === restored.hash,
    until: position,
    until_seconds: cut.seconds,
    same_chain_until: partly.facts["chain"] === first!.facts["chain"],
    machine: machine(),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      agents: { type: "string", default: "1000000" },
      outcomes: { type: "string", default: "10000000" },
      rate: { type: "string", default: "5000" },
      seconds: { type: "string", default: "10" },
      dir: { type: "string" },
      smoke: { type: "boolean", default: false },
    },
  });
  const size: Size = values.smoke
    ? { agents: 2000, outcomes: 20_000, rate: 300, seconds: 1 }
    : {
        agents: Number(values.agents),
        outcomes: Number(values.outcomes),
        rate: Number(values.rate),
        seconds: Number(values.seconds),
      };
  const root = values.dir ?? mkdtempSync(path.join(tmpdir(), "trustrank-backup-"));
  try {
    process.stdout.write(`${JSON.stringify(await measure(root, size))}\n`);
  } finally {
    if (values.dir === undefined) rmSync(root, { recursive: true, force: true });
  }
}

await main();
