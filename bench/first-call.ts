// bench:first-call: the first check of a fresh process, against its budget of 100 ms. The real service
// on loopback, one fresh process for each row, in turn: a bare `fetch` of the same route (the
// runtime's own part), the client, and the client after `warmUp`. A table on stderr, one JSON object
// on the last line of stdout; `--smoke` starts two processes a row.
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { parsed } from "./load/parsed.ts";
import { ADMIN_KEY, machine, startService } from "./server-process.ts";

const PROCESSES = 20;
const PROCESSES_SMOKE = 2;
const BUDGET_MS = 100;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MODES = ["fetch", "client", "warmed"] as const;

/** Program of one process: prints milliseconds of wall and CPU time of the first check, and its end. */
const PROGRAM = `
import { TrustRankClient } from "./src/client/entry.ts";
const [mode, baseUrl, apiKey] = process.argv.slice(1);
const client = mode === "fetch" ? undefined : new TrustRankClient({ baseUrl, apiKey });
if (mode === "warmed") await client.warmUp();
const body = JSON.stringify({ subject: "agent://acme/ledger-sync", stakes: 5 });
const headers = { "content-type": "application/json", authorization: "Bearer " + apiKey };
const cpu = process.cpuUsage();
const startedAt = performance.now();
let end = "answered";
if (client === undefined) {
  await (await fetch(baseUrl + "/v1/check", { method: "POST", headers, body })).json();
} else {
  await client.check("agent://acme/ledger-sync", { stakes: 5 }).catch((error) => (end = error.code));
}
const ms = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, end }));
process.exit(0);
`;

interface First {
  ms: number;
  cpuMs: number;
  end: string;
}

async function ask(mode: (typeof MODES)[number], url: string): Promise<First> {
  const flags = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROGRAM];
  const given = [mode, url, ADMIN_KEY];
  const cwd = path.resolve(ROOT);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...given], { cwd });
  return JSON.parse(stdout) as First;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1);
  return Math.round(sorted[at]! * 10) / 10;
}

const { values } = parsed(import.meta.filename, {
  options: { smoke: { type: "boolean", default: false } },
});
const service = await startService();
const found: Record<string, First[]> = { fetch: [], client: [], warmed: [] };
for (let i = 0; i < (values.smoke ? PROCESSES_SMOKE : PROCESSES); i++) {
  for (const mode of MODES) found[mode]!.push(await ask(mode, service.url));
}
await service.stop();
const rows = MODES.map((mode) => {
  const all = found[mode]!;
  const ms = all.map((first) => first.ms);
  return {
    mode,
    processes: all.length,
    p50_ms: quantile(ms, 0.5),
    p95_ms: quantile(ms, 0.95),
    cpu_p50_ms: quantile(
      all.map(({ cpuMs }) => cpuMs),
      0.5,
    ),
    timed_out: all.filter(({ end }) => end !== "answered").length,
  };
});
console.error(machine());
for (const { mode, p50_ms, p95_ms, cpu_p50_ms, timed_out } of rows) {
  console.error(
    `${mode.padEnd(8)} p50 ${p50_ms} ms, p95 ${p95_ms} ms, CPU ${cpu_p50_ms} ms, timed out ${timed_out}`,
  );
}
console.log(JSON.stringify({ budget_ms: BUDGET_MS, rows }));
