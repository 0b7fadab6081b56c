// Share of paid reads that TrustGateway saves on Zipf workloads of agents and stakes,
// over rates, skews and spreads of stakes, and the cost of an answer from its cache. Virtual time
// for the hit rates, so that five minutes take no five minutes; real time for the cost. A table on
// stderr, one JSON object on stdout.
//   node bench/cache.ts [--smoke]
import { TrustRankClient } from "../src/client/client.ts";
import { TrustGateway } from "../src/client/gateway/gateway.ts";
import type { VerifyRequest } from "../src/client/messages.ts";
import { VERDICT_TTL_MS } from "../src/contract/limits.ts";
import type { CheckResponse } from "../src/contract/schemas/scores.ts";
import type { Decision } from "../src/contract/vocabulary.ts";

import { parsed } from "./load/parsed.ts";
import { levelRates, replyTo } from "./cache-levels.ts";

const { values: flags } = parsed(import.meta.filename, {
  options: { smoke: { type: "boolean", default: false } },
});
const isSmoke = flags.smoke;
const SEED = 12_345;
/** The lifetime of the specification; short in smoke, so that a minute holds several. */
const TTL_MS = isSmoke ? 12_000 : VERDICT_TTL_MS;
const MINUTES = isSmoke ? 1 : 20;
const AGENTS = isSmoke ? 2000 : 10_000;
const RATES = isSmoke ? [50, 500] : [10, 50, 100, 250, 500, 1000];
const SKEWS = isSmoke ? [1] : [0.8, 1, 1.2];

interface Workload {
  readonly agents: number;
  /** Zipf exponent of the requests over agents. */
  readonly skew: number;
  readonly requestsPerSec: number;
  /** Stakes: log-uniform between 1 and this; 0: the same stakes always. */
  readonly stakesMax: number;
  /** Capacity of the cache; default: for every agent. */
  readonly entriesMax?: number;
}

/** Workloads that vary each cause of the figure: traffic, skew, spread of stakes, capacity. */
const WORKLOADS: readonly Workload[] = [
  ...grid(RATES, 10_000),
  ...grid(isSmoke ? RATES : [10, 100, 500], 0),
  { agents: AGENTS * 10, skew: 1, requestsPerSec: 500, stakesMax: 10_000, entriesMax: AGENTS },
];
function grid(rates: readonly number[], stakesMax: number): Workload[] {
  return SKEWS.flatMap((skew) =>
    rates.map((requestsPerSec) => ({ agents: AGENTS, skew, requestsPerSec, stakesMax })),
  );
}

/** One busy gateway, its agents' stakes spread over four orders of size. */
const isHeadline = (workload: Workload) =>
  workload.skew === 1 && workload.requestsPerSec === 500 && workload.stakesMax === 10_000;

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Draws an index by cumulative weights 1 / rank^skew. */
function zipf(count: number, skew: number, random: () => number): () => number {
  const cumulative = new Float64Array(count);
  let sum = 0;
  for (let rank = 1; rank <= count; rank += 1) {
    sum += rank ** -skew;
    cumulative[rank - 1] = sum;
  }
  return () => {
    const target = random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulative[middle] as number) < target) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** Simulated service: each agent is proven up to some stakes; one in fifty is refused at any. */
function decisionOf(agent: number, stakes: number): { decision: Decision; max: number | null } {
  if (agent % 50 === 49) return { decision: "refuse", max: 0 };
  const proven = 10 ** (1 + (((agent * 2_654_435_761) >>> 0) / 4_294_967_296) * 5);
  if (stakes <= proven) return { decision: "connect", max: proven };
  const open = proven * 3;
  return { decision: stakes <= open ? "connect_with_verification" : "escalate", max: open };
}

function reply(agentId: string, stakes: number): CheckResponse {
  const { decision, max } = decisionOf(Number(agentId.slice(agentId.lastIndexOf("/") + 1)), stakes);
  return {
    request_id: "r",
    subject: agentId,
    stakes,
    allowed: decision === "connect" || decision === "connect_with_verification",
    decision,
    effective_score: 600,
    tier: "B",
    reasons: [],
    reason_codes: [],
    max_stakes: max,
    tool_level_max: "L1",
    enforced: true,
    config_version: "c",
    evaluated_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-01T00:05:00.000Z",
  };
}

const fetchReply = async (_url: string, init: RequestInit): Promise<Response> => {
  const { subject, stakes } = JSON.parse(init.body as string) as {
    subject: string;
    stakes: number;
  };
  return Response.json(reply(subject, stakes));
};

function nameOf({ agents, skew, requestsPerSec, stakesMax, entriesMax }: Workload): string {
  const stakes = stakesMax === 0 ? "one stakes value" : `stakes 1 to ${stakesMax}`;
  const room = entriesMax === undefined ? "" : `, ${entriesMax} entries`;
  return `zipf-${skew.toFixed(1)}, ${agents} agents, ${requestsPerSec}/s, ${stakes}${room}`;
}

/**
 * Expected hit rate of a cache of this lifetime with one stakes value: an agent asked about `rate`
 * times a lifetime is a miss once in `1 + rate`. The simulation has to agree with it.
 */
function expectedRate({ agents, skew, requestsPerSec }: Workload): number {
  const weights = Float64Array.from({ length: agents }, (_, index) => (index + 1) ** -skew);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const perLifetime = (requestsPerSec * TTL_MS) / 1000;
  return weights.reduce((total, weight) => {
    const asked = (weight / sum) * perLifetime;
    return total + ((weight / sum) * asked) / (1 + asked);
  }, 0);
}

const rounded = (value: number) => Math.round(1000 * value) / 1000;

async function hitRate(workload: Workload): Promise<Record<string, unknown>> {
  const { agents, skew, requestsPerSec, stakesMax, entriesMax = agents } = workload;
  const random = seededRandom(SEED);
  const drawAgent = zipf(agents, skew, random);
  let nowMs = 0;
  const gateway = new TrustGateway({
    follow: false,
    client: new TrustRankClient({ baseUrl: "http://bench", fetch: fetchReply, timeoutMs: 60_000 }),
    cache: { entriesMax, ttlMs: TTL_MS },
    monotonic: () => nowMs,
  });
  const requests = Math.round(requestsPerSec * 60 * MINUTES);
  // Of the first lifetime every agent's first question is a miss: the rest is the steady state.
  const warm = Math.round((requestsPerSec * TTL_MS) / 1000);
  let cachedWhenWarm = 0;
  let wrong = 0;
  for (let index = 0; index < requests; index += 1) {
    if (index === warm) cachedWhenWarm = gateway.counts.cached;
    nowMs = (index / requestsPerSec) * 1000;
    const agent = drawAgent();
    const stakes = stakesMax === 0 ? 100 : stakesMax ** random();
    const agentId = `agent://bench/${agent}`;
    const answer = await gateway.check({ agentId, toolLevel: "L3", stakes });
    // A cache with wrong answers could have any hit rate.
    if (answer.word !== decisionOf(agent, stakes).decision) wrong += 1;
  }
  const { cached, asked } = gateway.counts;
  return {
    workload: nameOf(workload),
    agents,
    skew,
    requests_per_sec: requestsPerSec,
    stakes_max: stakesMax,
    entries_max: entriesMax,
    minutes: MINUTES,
    requests,
    paid_reads: asked,
    hit_rate: rounded(cached / requests),
    steady_rate: rounded((cached - cachedWhenWarm) / (requests - warm)),
    ...(stakesMax === 0 ? { expected_rate: rounded(expectedRate(workload)) } : {}),
    wrong_answers: wrong,
  };
}

/** Nanoseconds per answer from the cache, awaited one by one; the median of several rounds. */
async function overhead(): Promise<{ check: number; authorize: number }> {
  const client = new TrustRankClient({
    baseUrl: "http://bench",
    fetch: async (url, init) => {
      if (url.endsWith("/check")) return fetchReply(url, init);
      return Response.json(replyTo(JSON.parse(init.body as string) as VerifyRequest));
    },
    timeoutMs: 60_000,
  });
  const gateway = new TrustGateway({ client, follow: false });
  const agentIds = Array.from({ length: 1000 }, (_, index) => `agent://bench/${index}`);
  const check = (agentId: string) => gateway.check({ agentId, toolLevel: "L3", stakes: 1 });
  const authorize = (agentId: string) =>
    gateway.authorize({ agentId, action: "a.b", toolLevel: "L2" });
  const rounds = isSmoke ? 3 : 21;
  const calls = isSmoke ? 2000 : 200_000;
  const timed = async (ask: (agentId: string) => Promise<unknown>) => {
    for (const agentId of agentIds) await ask(agentId);
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const startMs = performance.now();
      for (let index = 0; index < calls; index += 1) await ask(agentIds[index % 1000] as string);
      times.push(((performance.now() - startMs) * 1e6) / calls);
    }
    return Math.round(times.toSorted((a, b) => a - b)[rounds >> 1] as number);
  };
  return { check: await timed(check), authorize: await timed(authorize) };
}

function tableRow(cells: readonly unknown[]): void {
  process.stderr.write(`| ${cells.join(" | ")} |\n`);
}

tableRow(["workload", "hits from an empty cache", "hits in steady state", "expected"]);
tableRow(["---", "---", "---", "---"]);
const workloads: Record<string, unknown>[] = [];
let headline: Record<string, unknown> | undefined;
for (const workload of WORKLOADS) {
  const row = await hitRate(workload);
  workloads.push(row);
  if (isHeadline(workload)) headline ??= row;
  tableRow([row["workload"], row["hit_rate"], row["steady_rate"], row["expected_rate"] ?? ""]);
}

tableRow(["tools of four levels", "paid reads per request", "requests that wait for one"]);
tableRow(["---", "---", "---"]);
const levels: Record<string, unknown>[] = [];
for (const requestsPerSec of RATES) {
  for (const hasRefresh of [false, true]) {
    const random = seededRandom(SEED);
    const drawAgent = zipf(AGENTS, 1, random);
    const shape = { agents: AGENTS, requestsPerSec, minutes: MINUTES, ttlMs: TTL_MS };
    const row = await levelRates({ ...shape, hasRefresh, drawAgent, random });
    levels.push({ requests_per_sec: requestsPerSec, ...row });
    const name = `${requestsPerSec}/s${hasRefresh ? ", refreshed" : ""}`;
    tableRow([name, row["paid_per_request"], row["waiting_share"]]);
  }
}
const nanoseconds = await overhead();
const report = {
  seed: SEED,
  ttl_minutes: TTL_MS / 60_000,
  hit_rate: headline?.["hit_rate"],
  headline: headline?.["workload"],
  workloads,
  levels,
  // 1,000 agents in turn, all cached, one stakes value, awaited one by one.
  ns_per_cached_check: nanoseconds.check,
  ns_per_cached_authorize: nanoseconds.authorize,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
