// bench:ledger: outcomes acknowledged durably through the real service over HTTP on this machine,
// generator included. Every way of reporting takes its turn in each round, so that a change of the
// machine's speed affects all of them; then 5,000 a second in an open loop with verify beside it.
// All bodies are made and signed before any clock starts. One JSON object on the last line of
// stdout; `--smoke` runs it tiny. `--only NAMES` (comma-separated, as in the report) runs those ways
// alone, without the open loop, and `--rounds N` as often: to tell two revisions apart by a few per cent.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parsed } from "./load/parsed.ts";
import { countCommits } from "./journal-commits.ts";
import { buildRequest, closedLoop, openLoop, quantile } from "./raw-client.ts";
import type { BuiltRequest } from "./raw-client.ts";
import { ADMIN_KEY, machine, type ServerProcess, startService } from "./server-process.ts";
import { registerReporter, type Reporter } from "./reporter.ts";

/** As many as a batch may hold; of signed items as many as fit into its 256 KiB. */
const BATCH_OUTCOMES = 1000;
const BATCH_ITEMS = 300;
/**
 * Connections; each waits for its answer before it sends the next (answers of outcomes are not
 * pipelined).
 */
const BATCH_LANES = 8;
const SINGLE_LANES = 128;
const OFFERED_OUTCOMES = 5000;
const OFFERED_VERIFIES = 1000;
const AGENTS = 2000;
const REPORTER = "agent://bench/settlement";
/** Has no key: a name with one is heard signed only. */
const KEYLESS_REPORTER = "agent://bench/keyless";
const PROBE = fileURLToPath(new URL("./ledger-probe.ts", import.meta.url));

interface Scale {
  rounds: number;
  batched: number;
  single: number;
  items: number;
  seconds: number;
  offered: number;
}

const FULL: Scale = {
  rounds: 3,
  batched: 100_000,
  single: 15_000,
  items: 15_000,
  seconds: 5,
  offered: OFFERED_OUTCOMES,
};
const SMOKE: Scale = {
  rounds: 1,
  batched: 2000,
  single: 400,
  items: 300,
  seconds: 1,
  offered: 200,
};

let serial = 0;

/** Unsigned ones have an id of their own: under a signature, its `jti` marks a repeat. */
function outcome(isUnsigned: boolean): string {
  const number = serial++;
  return JSON.stringify({
    subject: `agent://bench/seller-${number % AGENTS}`,
    reporter: isUnsigned ? KEYLESS_REPORTER : REPORTER,
    outcome: number % 9 === 0 ? 0 : 1,
    stakes: 1 + (number % 500),
    grade: "counterparty",
    ...(isUnsigned ? { id: `b${process.pid}-${number}` } : {}),
  });
}

function list(count: number, item: () => string): string {
  return `[${Array.from({ length: count }, item).join(",")}]`;
}

function many<Made>(count: number, make: () => Made): Made[] {
  return Array.from({ length: Math.ceil(count) }, make);
}

interface Way {
  readonly lanes: number;
  /** Requests of one round. */
  make(): BuiltRequest[];
}

/** The ways of reporting, by the name of their figure. */
function waysOf(url: URL, scale: Scale, reporter: Reporter): Record<string, Way> {
  const post = (route: string, body: string, outcomes: number, signature?: string) =>
    buildRequest(
      url,
      route,
      ADMIN_KEY,
      body,
      outcomes,
      signature === undefined ? [] : [`x-jws-signature: ${signature}`],
    );
  const batch = (isUnsigned: boolean) => list(BATCH_OUTCOMES, () => outcome(isUnsigned));
  const route = "/v1/outcomes/batch";
  const signedItem = () => {
    const body = outcome(false);
    return JSON.stringify({ body, signature: reporter.sign(body) });
  };
  return {
    outcomes: {
      lanes: BATCH_LANES,
      make: () =>
        many(scale.batched / BATCH_OUTCOMES, () => post(route, batch(true), BATCH_OUTCOMES)),
    },
    single_outcomes: {
      lanes: SINGLE_LANES,
      make: () => many(scale.single, () => post("/v1/outcomes", outcome(true), 1)),
    },
    signed_item_outcomes: {
      lanes: BATCH_LANES,
      make: () =>
        many(scale.items / BATCH_ITEMS, () =>
          post(route, list(BATCH_ITEMS, signedItem), BATCH_ITEMS),
        ),
    },
    signed_outcomes: {
      lanes: SINGLE_LANES,
      make: () =>
        many(scale.single, () => {
          const body = outcome(false);
          return post("/v1/outcomes", body, 1, reporter.sign(body));
        }),
    },
    signed_batch_outcomes: {
      lanes: BATCH_LANES,
      make: () =>
        many(scale.batched / BATCH_OUTCOMES, () => {
          const body = batch(false);
          return post(route, body, BATCH_OUTCOMES, reporter.sign(body));
        }),
    },
  };
}

/** CPU of this process, in seconds. */
function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

interface Round {
  perSecond: number;
  refused: number;
  serverMicros: number;
  generatorMicros: number;
}

async function runWay(service: ServerProcess, way: Way, requests: BuiltRequest[]): Promise<Round> {
  const [server, own] = [service.cpuSeconds(), ownCpu()];
  const result = await closedLoop(new URL(service.url), requests, way.lanes);
  return {
    perSecond: result.perSecond,
    refused: result.refused,
    serverMicros: ((service.cpuSeconds() - server) * 1e6) / result.accepted,
    generatorMicros: ((ownCpu() - own) * 1e6) / result.accepted,
  };
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Closed loops, all ways in each round; medians over the rounds, the first of them for nothing. */
async function closedLoops(
  service: ServerProcess,
  scale: Scale,
  reporter: Reporter,
  only: readonly string[] | undefined,
) {
  const all = Object.entries(waysOf(new URL(service.url), scale, reporter));
  const ways = all.filter(([name]) => only?.includes(name) !== false);
  const rounds: Record<string, Round>[] = [];
  for (let round = 0; round <= scale.rounds; round++) {
    const prepared = ways.map(([name, way]) => ({ name, way, requests: way.make() }));
    const results: Record<string, Round> = {};
    for (const { name, way, requests } of prepared) {
      process.stderr.write(`round ${round} of ${scale.rounds}: ${name}\n`);
      results[name] = await runWay(service, way, requests);
    }
    if (round > 0) rounds.push(results);
  }
  const report: Record<string, unknown> = {};
  let refused = 0;
  for (const [name] of ways) {
    const own = rounds.map((results) => results[name]!);
    report[`${name}_per_second`] = Math.round(median(own.map((each) => each.perSecond)));
    report[`${name}_cpu_us`] = {
      server: median(own.map((each) => each.serverMicros)),
      generator: median(own.map((each) => each.generatorMicros)),
    };
    refused += own.reduce((sum, each) => sum + each.refused, 0);
  }
  return { ...report, refused };
}

interface Probe {
  p99_ms: number;
  service_p99_ms: number;
  refused: number;
}

async function probe(url: string, seconds: number): Promise<Probe> {
  const args = [PROBE, url, ADMIN_KEY, String(OFFERED_VERIFIES), String(seconds)];
  const flags = ["--disable-warning=ExperimentalWarning", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  return JSON.parse(stdout) as Probe;
}

const SETTLE_POLL_MS = 200;
const SETTLE_MS_MAX = 120_000;

/** Waits until the rows of the closed loops are stored, so that none of their work is left over. */
async function settled(url: URL): Promise<void> {
  const until = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const text = await (await fetch(new URL("/metrics", url), { headers })).text();
    const gauge = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
    if (gauge("trustrank_store_position") >= gauge("trustrank_journal_position")) return;
    if (performance.now() > until) throw new Error("the store does not catch up");
    await new Promise((resolve) => setTimeout(resolve, SETTLE_POLL_MS));
  }
}

/** Verify alone and beside outcomes at the offered rate, by turns. */
async function offered(url: URL, scale: Scale) {
  const [idle, busy]: Probe[][] = [[], []];
  const latencies: number[] = [];
  let refused = 0;
  for (let round = 0; round < scale.rounds; round++) {
    const posts = many(scale.offered * scale.seconds, () =>
      buildRequest(url, "/v1/outcomes", ADMIN_KEY, outcome(true), 1),
    );
    process.stderr.write(`verify alone, ${round + 1} of ${scale.rounds}\n`);
    idle!.push(await probe(url.href, scale.seconds));
    process.stderr.write(`verify beside outcomes, ${round + 1} of ${scale.rounds}\n`);
    const next = (index: number) => posts[index]!;
    const posting = openLoop(url, next, scale.offered, scale.seconds, SINGLE_LANES);
    const [beside, outcomes] = await Promise.all([probe(url.href, scale.seconds), posting]);
    busy!.push(beside);
    latencies.push(...outcomes.latencies);
    refused += outcomes.refused;
  }
  const middle = (probes: readonly Probe[], pick: (each: Probe) => number) =>
    median(probes.map(pick));
  const all = [...idle!, ...busy!];
  return {
    offered_outcomes_per_second: scale.offered,
    ack_p50_ms: quantile(latencies, 0.5),
    ack_p99_ms: quantile(latencies, 0.99),
    verify_p99_ms_idle: middle(idle!, (each) => each.p99_ms),
    verify_p99_ms_busy: middle(busy!, (each) => each.p99_ms),
    // Without the lateness of the probe's process, which shares the cores.
    verify_service_p99_ms_idle: middle(idle!, (each) => each.service_p99_ms),
    verify_service_p99_ms_busy: middle(busy!, (each) => each.service_p99_ms),
    offered_refused: all.reduce((sum, each) => sum + each.refused, refused),
  };
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: {
      smoke: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
    },
  });
  const size = values.smoke ? SMOKE : FULL;
  const scale = { ...size, rounds: Number(values.rounds ?? size.rounds) };
  const only = values.only?.split(",");
  const service = await startService("--no-sample");
  try {
    const url = new URL(service.url);
    const reporter = await registerReporter(service.url, ADMIN_KEY, REPORTER);
    if (reporter === undefined) throw new Error("the service keeps no reporter keys");
    const closed = await closedLoops(service, scale, reporter, only);
    process.stderr.write("until the store has caught up\n");
    await settled(url);
    const open = only === undefined ? await offered(url, scale) : {};
    const report = {
      ...closed,
      ...open,
      fsyncs: countCommits(service.dataDir),
      machine: machine(),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await service.stop();
  }
}

await main();
