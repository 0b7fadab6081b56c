// Start time of ledger and service over a long history, by full replay and from a
// snapshot, and the pause of the ledger while a snapshot is taken. Generates the journal itself;
// `--dir DIR` keeps it for the next run. `--agents`, `--outcomes`, `--tail` (recorded after the
// snapshot), `--smoke`.
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsed } from "./load/parsed.ts";
import { openTableImage } from "../src/engine/image.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { resolveDataPaths } from "../src/journal/data-directory.ts";
import { type OpenLedger, startLedger } from "../src/ledger/client.ts";
import type { OutcomeRecord } from "../src/journal/records.ts";
import { machine, startServiceOver } from "./server-process.ts";
import { NOW_MS, recordOf, writeHistory } from "./long-history.ts";

interface Start {
  ledger: OpenLedger;
  memory: WebAssembly.Memory;
  seconds: number;
  notes: string[];
}

async function start(dataDir: string, snapshotOutcomes: number): Promise<Start> {
  const memory = createEngineMemory();
  const notes: string[] = [];
  const startedAt = performance.now();
  const ledger = await startLedger({
    dataDir,
    engineMemory: memory,
    onFatal: (exitCode) => process.exit(exitCode),
    clock: () => NOW_MS,
    snapshotPace: { outcomes: snapshotOutcomes, ms: Infinity, outcomesMin: Infinity },
    log: (event, detail) => notes.push(`${event} ${detail}`),
  });
  const seconds = (performance.now() - startedAt) / 1000;
  process.stderr.write(`started in ${seconds.toFixed(2)} s\n`);
  return { ledger, memory, seconds, notes };
}

/** Records the tail while the snapshot is taken, as live traffic would. */
async function recordTail(
  { ledger, notes }: Start,
  agents: number,
  outcomes: number,
  from: number,
): Promise<number> {
  let longestMs = 0;
  const isWritten = () => notes.some((note) => note.startsWith("snapshot_written"));
  for (let index = from; index < outcomes || !isWritten();) {
    const records: OutcomeRecord[] = [];
    for (; records.length < 200 && index < outcomes; index++) {
      records.push(recordOf(index, agents, outcomes));
    }
    const sentAt = performance.now();
    if (records.length > 0) await ledger.appendBatch(records);
    else await new Promise((resolve) => setTimeout(resolve, 20));
    if (records.length > 0) longestMs = Math.max(longestMs, performance.now() - sentAt);
  }
  return longestMs;
}

function fixed(value: number): number {
  return Number(value.toFixed(2));
}

/** Seconds from the start of the process until it reports ready. */
async function serviceSeconds(dataDir: string): Promise<number> {
  const startedAt = performance.now();
  const service = await startServiceOver(dataDir, () => undefined, "--no-sample");
  const seconds = (performance.now() - startedAt) / 1000;
  process.stderr.write(`service ready in ${seconds.toFixed(2)} s\n`);
  const code = await service.stop();
  if (code !== 0) throw new Error(`the service ended with ${code}`);
  return seconds;
}

interface Size {
  agents: number;
  outcomes: number;
  tail: number;
}

/** A journal with a snapshot before its last records; returns the cost of that snapshot. */
async function makeHistory(dataDir: string, { agents, outcomes, tail }: Size) {
  writeHistory(dataDir, agents, outcomes, outcomes - tail);
  const first = await start(dataDir, outcomes - tail);
  const slowestAckMs = await recordTail(first, agents, outcomes, outcomes - tail);
  await first.ledger.close();
  const copied = first.notes.find((note) => note.startsWith("snapshot_copied")) ?? "";
  return {
    snapshot_bytes: Number(/ (\d+) bytes/.exec(copied)?.[1] ?? Number.NaN),
    snapshot_pause_ms: Number(/ in ([\d.]+) ms/.exec(copied)?.[1] ?? Number.NaN),
    slowest_ack_ms: fixed(slowestAckMs),
  };
}

/** A replay of everything, without the snapshots, which are restored afterwards. */
async function startWithout(dataDir: string): Promise<Start> {
  const { snapshots } = resolveDataPaths(dataDir);
  const aside = `${snapshots}-aside`;
  renameSync(snapshots, aside);
  const opened = await start(dataDir, Infinity);
  await opened.ledger.close();
  rmSync(snapshots, { recursive: true });
  renameSync(aside, snapshots);
  return opened;
}

async function measure(dataDir: string, size: Size) {
  const made = path.join(dataDir, `made-${size.agents}-${size.outcomes}-${size.tail}`);
  const isMade = existsSync(made);
  if (!isMade && existsSync(dataDir) && readdirSync(dataDir).length > 0) {
    throw new Error(`${dataDir} holds something else`);
  }
  mkdirSync(dataDir, { recursive: true });
  const history = isMade ? {} : await makeHistory(dataDir, size);
  writeFileSync(made, "");
  const second = await start(dataDir, Infinity);
  await second.ledger.close();
  if (second.ledger.replay.snapshotLsn === undefined) {
    throw new Error(`another engine made the snapshot in ${dataDir}: remove it and begin again`);
  }
  const service = await serviceSeconds(dataDir);
  const third = await startWithout(dataDir);
  const [one, other] = [second, third].map(({ memory }) => openTableImage(memory).viewParts());
  return {
    agents: size.agents,
    outcomes: size.outcomes,
    start_seconds_snapshot: fixed(second.seconds),
    start_seconds_replay: fixed(third.seconds),
    service_seconds_snapshot: fixed(service),
    replayed_after_snapshot: size.outcomes - (second.ledger.replay.snapshotLsn ?? 0),
    same_bytes: one!.every((part, at) => Buffer.compare(part, other![at]!) === 0),
    ...history,
    machine: machine(),
  };
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: {
      agents: { type: "string", default: "1000000" },
      outcomes: { type: "string", default: "10000000" },
      tail: { type: "string", default: "500000" },
      dir: { type: "string" },
      smoke: { type: "boolean", default: false },
    },
  });
  const size = {
    agents: values.smoke ? 2000 : Number(values.agents),
    outcomes: values.smoke ? 20_000 : Number(values.outcomes),
    tail: values.smoke ? 2000 : Number(values.tail),
  };
  const dataDir = values.dir ?? mkdtempSync(path.join(tmpdir(), "trustrank-start-"));
  try {
    process.stdout.write(`${JSON.stringify(await measure(dataDir, size))}\n`);
  } finally {
    if (values.dir === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
