// Load for bench -- kaizen: verify in an open loop during a kaizen run and without
// one. The service is a process of its own over the bench's data directory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import autocannon from "autocannon";
import { COMMAND } from "./server-process.ts";

const ADMIN_KEY = "bench-admin-key-0123456789abcdefghijklmnopqrstuv";
const CONNECTIONS = 50;
const WARM_UP_S_MAX = 2;
const START_TRIES = 1200;
const PAUSE_MS = 100;

const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

async function startOver(dataDir: string) {
  const flags = ["--disable-warning=ExperimentalWarning", COMMAND, "serve", "--port", "0"];
  const child = spawn(process.execPath, [...flags, "--no-sample", "--data-dir", dataDir], {
    env: {
      ...process.env,
      TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
      TRUSTRANK_KAIZEN: "off",
      TRUSTRANK_DRAIN_MS: "0",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (let tries = 0; tries < START_TRIES && child.exitCode === null; tries++) {
    await pause();
    try {
      const { url } = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as {
        url: string;
      };
      if ((await fetch(`${url}/readyz`)).ok) return { child, url };
    } catch {
      // Not there yet.
    }
  }
  throw new Error("the service did not start");
}

/** Waits until the store has applied the journal: its catching up is not to be measured. */
async function settled(url: string): Promise<void> {
  for (let tries = 0; tries < START_TRIES; tries++) {
    const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
    const gauge = (name: string) =>
      Number(new RegExp(`${name}(?:\\{[^}]*\\})? (\\d+)`).exec(metrics)?.[1]);
    if (gauge("store_position") === gauge("journal_position")) return;
    await pause();
  }
}

async function verifyFor(url: string, seconds: number, rate: number) {
  const result = await autocannon({
    url: `${url}/v1/trust/verify`,
    method: "POST",
    headers,
    body: JSON.stringify({
      agent_id: "agent://made/7",
      action: "order.place",
      tool_level: "L2",
      context: {},
    }),
    duration: seconds,
    connections: CONNECTIONS,
    overallRate: rate,
  });
  return {
    answered_rps: Math.round(result["2xx"] / result.duration),
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    errors: result.errors + result.timeouts + result.non2xx,
  };
}

interface Window {
  p50_ms: number;
  p99_ms: number;
  answered_rps: number;
  errors: number;
  /** A run was under way from the first request of the window to its last. */
  was_running: boolean;
}

async function startRun(url: string): Promise<string> {
  const body = JSON.stringify({ dry_run: true, wait: false });
  const started = await fetch(`${url}/v1/kaizen/run`, { method: "POST", headers, body });
  return ((await started.json()) as { run_id: string }).run_id;
}

async function findRun(url: string, id: string) {
  const seen = await fetch(`${url}/v1/kaizen/runs/${id}`, { headers });
  return (await seen.json()) as { state: string; reason: string };
}

/** One window of load while a run is under way; waits for the run's end. */
async function duringRun(url: string, seconds: number, rate: number): Promise<Window> {
  const id = await startRun(url);
  const seen = await verifyFor(url, seconds, rate);
  const was_running = (await findRun(url, id)).state === "running";
  let run = await findRun(url, id);
  for (; run.state === "running"; run = await findRun(url, id)) await pause();
  // A run with nothing to test would be no load.
  if (/^check: (no settled|insufficient)/.test(run.reason)) throw new Error(run.reason);
  return { ...seen, was_running };
}

const middleOf = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/**
 * p99 of verify without a run and during one, in turns, so that both see the same machine.
 * `rate`: requests offered in a second.
 */
export async function measureUnderLoad(
  dataDir: string,
  { seconds, rounds, rate }: Record<"seconds" | "rounds" | "rate", number>,
) {
  const { child, url } = await startOver(dataDir);
  try {
    await settled(url);
    await verifyFor(url, Math.min(seconds, WARM_UP_S_MAX), rate);
    const quiet: Window[] = [];
    const during: Window[] = [];
    for (let round = 1; round <= rounds; round++) {
      quiet.push({ ...(await verifyFor(url, seconds, rate)), was_running: false });
      during.push(await duringRun(url, seconds, rate));
      const [before, now] = [quiet.at(-1)!.p99_ms, during.at(-1)!.p99_ms];
      process.stderr.write(`round ${round}: p99 ${before} ms without, ${now} ms during a run\n`);
    }
    const p99 = (windows: Window[]) => middleOf(windows.map((window) => window.p99_ms));
    return {
      p99_quiet_ms: p99(quiet),
      p99_during_ms: p99(during),
      p99_ratio: p99(during) / p99(quiet),
      was_running_throughout: during.every((window) => window.was_running),
      errors: [...quiet, ...during].reduce((sum, window) => sum + window.errors, 0),
      quiet,
      during,
    };
  } finally {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}
