// bench:soak: everyday work for --minutes with everything on that the service has, and what becomes of
// its memory. Two HTTP threads, gRPC, a listener for metrics and its scrapes, credibility from seeds,
// a dry run of kaizen and a batch of credibility each minute, an archive, webhooks and spans to a
// receiver here, lines of access, a quota, verdicts, outcomes, sources, queries, reads of the log and
// refusals in between, and callers who connect and say nothing. Agents are a
// fixed set: what grows then is the service. Every isolate collects its garbage before each sample (soak/probe.mjs);
// each part has a line over the time after the first third, in bytes a request. One JSON object on the last line of
// stdout; `--smoke` lasts a moment.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsed } from "./load/parsed.ts";
import { MemoryProbe } from "./soak/parts.ts";
import { everyday, failureOf, slopeOf } from "../test/attack/attacks/overload.ts";
import { delay, memoryMib } from "../test/attack/stage.ts";
import { requestBytes, Wire } from "../test/attack/wire.ts";
import { quantile } from "./raw-client.ts";
import { ADMIN_KEY, machine, startServiceWith } from "./server-process.ts";

const LANES = 8;
const SILENT_CONNECTIONS = 50;
const SAMPLE_EVERY_MS = 1000;
const SAMPLE_EVERY_SMOKE_MS = 50;
const SCRAPE_EVERY_MS = 5000;
const LEARN_EVERY_MS = 60_000;
const PROBE_EVERY_MS = 15_000;
const PROBE_EVERY_SMOKE_MS = 1000;
/** Growth of one part that passes for none. */
const BYTES_PER_REQUEST_MAX = 8;

const { values } = parsed(import.meta.filename, {
  options: {
    minutes: { type: "string", default: "10" },
    pause: { type: "string", default: "1" },
    smoke: { type: "boolean", default: false },
  },
});
const lastsMs = values.smoke ? 20_000 : Number(values.minutes) * 60_000;
const counts = { requests: 0, scrapes: 0, runs: 0, silent: 0, webhooks: 0, spans: 0 };

/** Takes what the service tells others: events and spans. */
const receiver = createServer((request, response) => {
  if (request.url === "/hook") counts.webhooks++;
  else counts.spans++;
  request.resume().on("end", () => response.writeHead(200).end("{}"));
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const probe = new MemoryProbe(values.smoke ? PROBE_EVERY_SMOKE_MS : PROBE_EVERY_MS);
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-soak-"));
const env = {
  ...probe.env,
  TRUSTRANK_SEEDS: "agent://crowd/0,agent://crowd/1",
  TRUSTRANK_SNAPSHOT_OUTCOMES: "20000",
  TRUSTRANK_WEBHOOK_ALLOW: "127.0.0.0/8",
  OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl,
  OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
  OTEL_TRACES_SAMPLER_ARG: "0.1",
};
const archive = mkdtempSync(path.join(tmpdir(), "trustrank-soak-archive-"));
const flags = ["--http-threads", "2", "--grpc-port", "0", "--metrics-listen", "127.0.0.1:0"];
flags.push("--archive", archive, "--access-log", "0.01");
const cleanUp = () => {
  for (const directory of [dataDir, archive]) rmSync(directory, { recursive: true, force: true });
};
const service = await startServiceWith(env, dataDir, cleanUp, ...flags);

const startedAt = performance.now();
const isOver = () => performance.now() - startedAt >= lastsMs;
const broken = new Map<string, number>();
const latencies: number[] = [];
const samples: [number, number][] = [];
/** Times of the wall clock and requests answered until then. */
const progress: [number, number][] = [];

function note(wrong: string | undefined): void {
  if (wrong !== undefined) broken.set(wrong, (broken.get(wrong) ?? 0) + 1);
}

/** Everyday work, a request at a time. */
async function work(lane: number): Promise<void> {
  const wire = new Wire(service.url);
  for (let turn = 0; !isOver(); turn++) {
    const [method, bytes] = everyday(ADMIN_KEY, lane * 1_000_003 + turn);
    const reply = await wire.send(bytes, { method });
    counts.requests++;
    note(failureOf(reply, bytes));
    // A sample: all of them would be this process's own growth.
    if (typeof reply !== "string" && turn % 50 === 0) latencies.push(reply.ms);
    await delay(Number(values.pause));
  }
  wire.close();
}

async function every(ms: number, action: () => Promise<void>): Promise<void> {
  for (let due = 0; !isOver(); due += ms) {
    await action();
    while (!isOver() && performance.now() - startedAt < due + ms) await delay(50);
  }
}

async function ask(method: string, route: string, body?: object): Promise<void> {
  const headers: Record<string, string> =
    body === undefined ? {} : { "content-type": "application/json" };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const wire = new Wire(service.url);
  const bytes = requestBytes({ method, path: route, key: ADMIN_KEY, headers, body: text });
  note(failureOf(await wire.send(bytes, { method, waitMs: 120_000 }), bytes));
  wire.close();
}

async function learn(): Promise<void> {
  counts.runs++;
  await ask("POST", "/v1/kaizen/run", { mode: "dry-run", wait: false });
  await ask("POST", "/v1/kaizen/credibility");
}

/** Connects and says nothing until it is cut off. */
function keepSilent(): void {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  counts.silent++;
  socket.on("error", () => undefined);
  socket.on("close", () => void (isOver() || setTimeout(keepSilent, 100).unref()));
  socket.unref();
}

await ask("POST", "/v1/webhooks", { url: `${receiverUrl}/hook`, events: ["decision.denied"] });
await ask("PUT", "/v1/quotas/default", { paid_reads_per_month: 1_000_000_000 });
for (let at = 0; at < SILENT_CONNECTIONS; at++) keepSilent();
await Promise.all([
  ...Array.from({ length: LANES }, (_, lane) => work(lane)),
  every(values.smoke ? SAMPLE_EVERY_SMOKE_MS : SAMPLE_EVERY_MS, async () => {
    samples.push([performance.now() - startedAt, memoryMib(service.pid)]);
    progress.push([Date.now(), counts.requests]);
  }),
  every(SCRAPE_EVERY_MS, async () => {
    counts.scrapes++;
    await ask("GET", "/metrics");
  }),
  every(LEARN_EVERY_MS, learn),
]);
const slope = slopeOf(samples, lastsMs);
const exitCode = await service.stop();
const parts = probe.measureGrowth(service.pid, progress);
probe.close();
const growing = Object.entries(parts)
  .filter(([, { bytes_per_request: bytes }]) => bytes > BYTES_PER_REQUEST_MAX)
  .map(([part, { bytes_per_request: bytes }]) => `${part} ${bytes}`);
receiver.close();
const report = {
  bench: "soak",
  machine: machine(),
  minutes: lastsMs / 60_000,
  ...counts,
  ms: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) },
  memory_mib: samples
    .filter((_, at) => at % Math.ceil(samples.length / 10) === 0)
    .map(([, mib]) => Math.round(mib)),
  slope_mib_per_min: Math.round(slope * 100) / 100,
  parts,
  growing,
  broken: Object.fromEntries(broken),
  exit_code: exitCode,
};
console.error(
  `memory ${report.slope_mib_per_min} MiB a minute; ${counts.requests} requests, ${broken.size} kinds broken`,
);
console.log(JSON.stringify(report));
