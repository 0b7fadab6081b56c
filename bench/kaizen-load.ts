// Verify under 5,000 requests/s of open-loop load while a kaizen run is under way and without one:
// for bench:kaizen. The service is a process of its own over the bench's data directory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";

const ADMIN_KEY = "bench-admin-key-0123456789abcdefghijklmnopqrstuv";
const OFFERED_RPS = 5000;
const CONNECTIONS = 50;
const START_TRIES = 1200;
const PAUSE_MS = 100;
const SCRIPT = fileURLToPath(new URL("../src/cli/trustrank.ts", import.meta.url));

const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

async function startOver(dataDir: string) {
  const flags = ["--disable-warning=ExperimentalWarning", SCRIPT, "serve", "--port", "0"];
  const child = spawn(process.execPath, [...flags, "--no-sample", "--data-dir", dataDir], {
    env: { ...process.env, TRUSTRANK_ADMIN_KEY: ADMIN_KEY, TRUSTRANK_KAIZEN: "off" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (let tries = 0; tries < START_TRIES && child.exitCode === null; tries++) {
    await pause();
    try {
      const { url } = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as {
        url: string;
      };
      if ((await fetch(`${url}/readyz`, { headers })).ok) return { child, url };
    } catch {
      // Not there yet.
    }
  }
  throw new Error("the service did not start");
}

/** Waits until the store has applied the journal: its catching up is not what is measured. */
async function settled(url: string): Promise<void> {
  for (let tries = 0; tries < START_TRIES; tries++) {
    const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
    const gauge = (name: string) =>
      Number(new RegExp(`${name}(?:\\{[^}]*\\})? (\\d+)`).exec(metrics)?.[1]);
    if (gauge("store_position") === gauge("journal_position")) return;
    await pause();
  }
}

async function verifyFor(url: string, seconds: number) {
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
    overallRate: OFFERED_RPS,
  });
  return {
    answered_rps: Math.round(result["2xx"] / result.duration),
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    errors: result.errors + result.timeouts + result.non2xx,
  };
}

/** p99 of verify without a run, then during one. */
export async function measureUnderLoad(dataDir: string, seconds: number) {
  const { child, url } = await startOver(dataDir);
  try {
    await settled(url);
    await verifyFor(url, 2);
    const quiet = await verifyFor(url, seconds);
    const body = JSON.stringify({ dry_run: true, wait: false });
    const started = await fetch(`${url}/v1/kaizen/run`, { method: "POST", headers, body });
    const { run_id: id } = (await started.json()) as { run_id: string };
    const during = await verifyFor(url, seconds);
    const seen = await fetch(`${url}/v1/kaizen/runs/${id}`, { headers });
    const { state } = (await seen.json()) as { state: string };
    return {
      quiet,
      during,
      p99_ratio: during.p99_ms / quiet.p99_ms,
      was_running_throughout: state === "running",
    };
  } finally {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}
