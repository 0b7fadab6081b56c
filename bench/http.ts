// bench:http: the real service against a uWebSockets echo that parses nothing and a Fastify that
// answers a constant, same body, same run, interleaved rounds, medians. Then an open loop at a
// fixed offered rate while outcomes are being recorded. `--http-threads N` starts the service with
// so many; the echo keeps its one. One JSON object on the last line.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { ADMIN_KEY, startFloor, startService } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

/** Short and many: the speed of a shared machine changes within seconds, for all sides alike. */
const ROUNDS = 24;
const SLICES_PER_SIDE = 8;
const CONNECTIONS = 50;
const PIPELINING = 10;
/**
 * Fewer for a fixed rate: with 50 the generator sends in bursts, and the echo alone shows 13 ms.
 */
const OPEN_CONNECTIONS = 10;
const OFFERED_RPS = 10_000;
const OUTCOMES_RPS = 500;
const MS_PER_S = 1000;

/** Of the sample history: `ledger-sync` is allowed at L2, an unknown agent is not at L3. */
const verifyBody = (agent: string, level: string): string =>
  JSON.stringify({
    agent_id: agent,
    action: "payments.transfer",
    tool_level: level,
    context: {
      content_hash: `sha256:${"ab".repeat(32)}`,
      cited_sources: ["doc:quarterly-report", "doc:price-list"],
      session_duration_sec: 318,
    },
  });
const VERIFY_BODY = verifyBody("agent://acme/ledger-sync", "L2");
const DENIED_BODY = verifyBody("agent://acme/unknown-bot", "L3");
const OUTCOME_BODY = JSON.stringify({
  subject: "agent://acme/procurement-bot",
  reporter: "agent://globex/settlement",
  outcome: 1,
  stakes: 25,
  grade: "counterparty",
});

const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };

interface Load {
  requestsPerSecond: number;
  cpuMicroseconds: number;
  p50Ms: number;
  p99Ms: number;
  errors: number;
}

/** Requests of a load in smoke mode, which measures nothing. */
const SMOKE_REQUESTS = 1000;

interface LoadOptions {
  path?: string;
  body?: string;
  seconds: number;
  /** Instead of the seconds. */
  requests?: number;
  connections?: number;
  pipelining?: number;
  ratePerSecond?: number;
}

async function load(server: ServerProcess, options: LoadOptions): Promise<Load> {
  const before = server.cpuSeconds();
  const result = await autocannon({
    url: server.url + (options.path ?? "/v1/trust/verify"),
    method: "POST",
    headers: HEADERS,
    body: options.body ?? VERIFY_BODY,
    ...(options.requests === undefined
      ? { duration: options.seconds }
      : { amount: options.requests }),
    connections: options.connections ?? CONNECTIONS,
    pipelining: options.pipelining ?? 1,
    ...(options.ratePerSecond === undefined ? {} : { overallRate: options.ratePerSecond }),
  });
  const answered = result["2xx"];
  const cpu = server.cpuSeconds() - before;
  return {
    requestsPerSecond: answered / result.duration,
    cpuMicroseconds: (cpu / answered) * 1e6,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    errors: result.errors + result.timeouts + result.non2xx,
  };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

interface Servers {
  floor: ServerProcess;
  service: ServerProcess;
  /** A service of its own for denials: its log must not fall into the others' rounds. */
  denying: ServerProcess;
  fastify: ServerProcess;
}

/** Closed loop: the three servers take turns, so that a drift of the machine hits all alike. */
async function closedLoop(servers: Servers, sideSeconds: number, isSmoke: boolean) {
  const roundCount = isSmoke ? 1 : ROUNDS;
  const length = {
    seconds: Math.max(1, Math.round(sideSeconds / SLICES_PER_SIDE)),
    ...(isSmoke ? { requests: SMOKE_REQUESTS } : {}),
  };
  const { floor, service, denying, fastify } = servers;
  const rounds: Record<"floor" | "verify" | "denied" | "pipelined" | "fastify", Load>[] = [];
  for (const server of [floor, service, denying, fastify])
    await load(server, { ...length, seconds: 1 });
  for (let round = 0; round < roundCount; round++) {
    process.stderr.write(`round ${round + 1} of ${roundCount}\n`);
    rounds.push({
      floor: await load(floor, length),
      verify: await load(service, length),
      denied: await load(denying, { ...length, body: DENIED_BODY }),
      pipelined: await load(service, { ...length, pipelining: PIPELINING }),
      fastify: await load(fastify, length),
    });
  }
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  return {
    floor_rps: Math.round(of((r) => r.floor.requestsPerSecond)),
    verify_rps: Math.round(of((r) => r.verify.requestsPerSecond)),
    ratio: rounded(of((r) => r.verify.requestsPerSecond / r.floor.requestsPerSecond)),
    floor_cpu_us: rounded(of((r) => r.floor.cpuMicroseconds)),
    verify_cpu_us: rounded(of((r) => r.verify.cpuMicroseconds)),
    cpu_ratio: rounded(of((r) => r.verify.cpuMicroseconds / r.floor.cpuMicroseconds)),
    denied_rps: Math.round(of((r) => r.denied.requestsPerSecond)),
    denied_cpu_us: rounded(of((r) => r.denied.cpuMicroseconds)),
    verify_p99_ms: of((r) => r.verify.p99Ms),
    pipelined_rps: Math.round(of((r) => r.pipelined.requestsPerSecond)),
    fastify_rps: Math.round(of((r) => r.fastify.requestsPerSecond)),
    fastify_cpu_us: rounded(of((r) => r.fastify.cpuMicroseconds)),
    errors: rounds.reduce(
      (sum, r) => sum + r.verify.errors + r.denied.errors + r.pipelined.errors,
      0,
    ),
  };
}

/** Open loop: requests are offered at a fixed rate, independent of the answers, beside outcomes. */
async function openLoop(service: ServerProcess, seconds: number, rate: number) {
  const [verify, outcomes] = await Promise.all([
    load(service, { seconds, connections: OPEN_CONNECTIONS, ratePerSecond: rate }),
    load(service, {
      path: "/v1/outcomes",
      body: OUTCOME_BODY,
      seconds,
      connections: 5,
      ratePerSecond: OUTCOMES_RPS,
    }),
  ]);
  return {
    offered_rps: rate,
    answered_rps: Math.round(verify.requestsPerSecond),
    p50_ms: verify.p50Ms,
    p99_ms: verify.p99Ms,
    outcomes_rps: Math.round(outcomes.requestsPerSecond),
    outcomes_p99_ms: outcomes.p99Ms,
    errors: verify.errors + outcomes.errors,
  };
}

function machine(): string {
  const memory = /MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? "0";
  const gibibytes = Math.round(Number(memory) / (MS_PER_S * MS_PER_S));
  return `${cpus().length} x ${cpus()[0]?.model}, ${gibibytes} GB, node ${process.version}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "8" },
      smoke: { type: "boolean", default: false },
      "http-threads": { type: "string", default: "1" },
    },
  });
  const seconds = values.smoke ? 1 : Number(values.seconds);
  const threads = values["http-threads"];
  const servers = {
    floor: await startFloor("uws"),
    service: await startService("--http-threads", threads),
    denying: await startService("--http-threads", threads),
    fastify: await startFloor("fastify"),
  };
  try {
    const closed = await closedLoop(servers, seconds, values.smoke);
    // The open loop has the machine to itself: one service and the load.
    const others = [servers.floor, servers.denying, servers.fastify];
    await Promise.all(others.map((server) => server.stop()));
    process.stderr.write("open loop\n");
    const open = await openLoop(servers.service, seconds, values.smoke ? 200 : OFFERED_RPS);
    const settings = { http_threads: Number(threads), machine: machine() };
    const report = { ...closed, open_loop: open, ...settings };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

await main();
