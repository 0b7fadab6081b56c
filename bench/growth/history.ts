// One size of history in the real service: a journal of so many outcomes, then starts, the store's
// catching up, queries and a run of kaizen over it, each as an operator would meet it.
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { endingWithMe } from "../load/children.ts";
import { QUIET_ENV, untilApplied } from "../load/filled-service.ts";
import { fillJournal } from "../made-history.ts";
import { ADMIN_KEY, type ServerProcess, startServiceWith } from "../server-process.ts";

/** Seconds but where named otherwise; null where the service gave up within its bound. */
export interface HistorySize {
  readonly outcomes: number;
  readonly agents: number;
  readonly journal_bytes: number;
  readonly store_bytes: number;
  /** Recorded durably in large batches, the making of them included. */
  readonly record_us: number;
  /** From the process to ready, as the service was left: with a snapshot where one was due. */
  readonly start_seconds: number;
  /** The same without a snapshot. */
  readonly replay_seconds: number;
  /** From ready until the store holds the whole journal. */
  readonly store_seconds: number;
  readonly resident_bytes: number;
  readonly queries: Readonly<Record<string, number | null>>;
  readonly kaizen_seconds: number | null;
  /** Of the whole service, at the highest during that run. */
  readonly kaizen_peak_bytes: number;
}

export const QUERIES = ["worst-agents", "value-at-risk", "reporter-agreement"] as const;
const SQL = fileURLToPath(new URL("../../examples/analyst", import.meta.url));
/** Journal, snapshots, store and the copy of it for queries: 330 at ten million outcomes. */
const BYTES_PER_OUTCOME = 500;
const SETTLE_MS_MAX = 7_200_000;
const POLL_MS = 200;

const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
const secondsSince = (from: number) => (performance.now() - from) / 1000;

/** @throws Error when the disk of temporary files is too small for it. */
export function assertRoom(outcomes: number, directory: string = tmpdir()): void {
  const { bavail, bsize } = statfsSync(directory);
  const [free, need] = [bavail * bsize, outcomes * BYTES_PER_OUTCOME];
  if (need <= free) return;
  const told = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new Error(
    `${outcomes} outcomes need some ${told(need)}, ${directory} has ${told(free)}: ` +
      "fewer --outcomes, or another TMPDIR",
  );
}

/** All of one size. The directory goes at the end, also after a failure. */
export async function historyOf(outcomes: number, agents: number): Promise<HistorySize> {
  assertRoom(outcomes);
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-growth-"));
  try {
    const recordSeconds = await fill(dataDir, outcomes, agents);
    const startedAt = performance.now();
    const service = await startOver(dataDir);
    const startSeconds = secondsSince(startedAt);
    const over = await within(service, () => measure(service, dataDir));
    rmSync(resolveDataPaths(dataDir).snapshots, { recursive: true, force: true });
    const againAt = performance.now();
    const again = await startOver(dataDir);
    const replaySeconds = secondsSince(againAt);
    await again.stop();
    return {
      outcomes,
      agents,
      journal_bytes: bytesOf(resolveDataPaths(dataDir).journal, /^seg-/),
      record_us: (recordSeconds / outcomes) * 1e6,
      start_seconds: startSeconds,
      replay_seconds: replaySeconds,
      ...over,
    };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function fill(dataDir: string, outcomes: number, agents: number): Promise<number> {
  // Now, so that a run of kaizen finds newest outcomes to test on.
  const nowMs = Date.now();
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => process.exit(code),
    clock: () => nowMs,
  });
  try {
    const startedAt = performance.now();
    await fillJournal(ledger, outcomes, nowMs, agents);
    return secondsSince(startedAt);
  } finally {
    await ledger.close();
  }
}

async function startOver(dataDir: string): Promise<ServerProcess> {
  const nothing = () => undefined;
  return endingWithMe(await startServiceWith(QUIET_ENV, dataDir, nothing, "--no-sample"));
}

async function within<Result>(
  service: ServerProcess,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } finally {
    await service.stop();
  }
}

async function measure(service: ServerProcess, dataDir: string) {
  const readyAt = performance.now();
  await untilApplied(service.url, SETTLE_MS_MAX);
  const storeSeconds = secondsSince(readyAt);
  const resident = statusBytes(service.pid, "VmRSS");
  const queries: Record<string, number | null> = {};
  // Once for nothing: the first query starts the query process and copies the store for it.
  await ask(service, QUERIES[0]);
  for (const name of QUERIES) queries[name] = await ask(service, name);
  forgetPeak(service.pid);
  const kaizenSeconds = await learn(service);
  return {
    store_bytes: bytesOf(resolveDataPaths(dataDir).store, /duckdb/),
    store_seconds: storeSeconds,
    resident_bytes: resident,
    queries,
    kaizen_seconds: kaizenSeconds,
    kaizen_peak_bytes: statusBytes(service.pid, "VmHWM"),
  };
}

/** Seconds; null when the query was refused: it took longer, or more memory, than it may. */
async function ask(service: ServerProcess, name: string): Promise<number | null> {
  const sql = readFileSync(path.join(SQL, `${name}.sql`), "utf8");
  const startedAt = performance.now();
  const body = JSON.stringify({ sql });
  const response = await fetch(`${service.url}/v1/query`, { method: "POST", headers, body });
  const said = await response.text();
  if (!response.ok) process.stderr.write(`${name}: ${response.status} ${said.slice(0, 300)}\n`);
  return response.ok ? secondsSince(startedAt) : null;
}

/** A dry run; null when it failed. */
async function learn({ url }: ServerProcess): Promise<number | null> {
  const body = JSON.stringify({ dry_run: true, wait: false });
  const started = await fetch(`${url}/v1/kaizen/run`, { method: "POST", headers, body });
  const { run_id } = (await started.json()) as { run_id: string };
  for (;;) {
    const seen = await fetch(`${url}/v1/kaizen/runs/${run_id}`, { headers });
    const run = (await seen.json()) as { state: string; duration_ms?: number };
    if (run.state === "failed") return null;
    if (run.state !== "running") return (run.duration_ms ?? Number.NaN) / 1000;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function bytesOf(directory: string, names: RegExp): number {
  const files = readdirSync(directory).filter((name) => names.test(name));
  return files.reduce((sum, name) => sum + statSync(path.join(directory, name)).size, 0);
}

function statusBytes(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** The highest so far is now the present (proc(5), clear_refs). */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
