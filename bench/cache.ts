// bench:cache: how many paid reads TrustGateway saves on Zipf workloads of agents and stakes, and
// what an answer from its cache costs. Virtual time for the hit rates, so that five minutes take no
// five minutes; real time for the cost. Progress on stderr, one JSON object on stdout.
//   node bench/cache.ts [--smoke]
import { TrustRankClient } from "../src/client/client.ts";
import { TrustGateway } from "../src/client/gateway.ts";
import type { CheckResponse } from "../src/contract/messages.ts";
import type { Decision } from "../src/contract/vocabulary.ts";

const isSmoke = process.argv.includes("--smoke");
const SEED = 12_345;

interface Workload {
  readonly name: string;
  readonly agents: number;
  /** Zipf exponent of how requests fall on agents. */
  readonly skew: number;
  readonly requestsPerSec: number;
  readonly minutes: number;
  /** Stakes: log-uniform between 1 and this; 0: the same stakes always. */
  readonly stakesMax: number;
  readonly entriesMax?: number;
}

/**
 * The first is the headline: one busy gateway, its agents' stakes spread over four orders of size.
 * The others say what the figure hangs on: traffic, skew, spread of stakes, room in the cache.
 */
const WORKLOADS: readonly Workload[] = [
  {
    name: "zipf-1.0, 10,000 agents, 500/s, stakes 1 to 10,000",
    agents: 10_000,
    skew: 1,
    requestsPerSec: 500,
    minutes: 15,
    stakesMax: 10_000,
  },
  {
    name: "zipf-1.0, 10,000 agents, 50/s, stakes 1 to 10,000",
    agents: 10_000,
    skew: 1,
    requestsPerSec: 50,
    minutes: 30,
    stakesMax: 10_000,
  },
  {
    name: "zipf-1.2, 10,000 agents, 50/s, stakes 1 to 10,000",
    agents: 10_000,
    skew: 1.2,
    requestsPerSec: 50,
    minutes: 30,
    stakesMax: 10_000,
  },
  {
    name: "zipf-0.8, 10,000 agents, 50/s, stakes 1 to 10,000",
    agents: 10_000,
    skew: 0.8,
    requestsPerSec: 50,
    minutes: 30,
    stakesMax: 10_000,
  },
  {
    name: "zipf-1.0, 10,000 agents, 500/s, one stakes value",
    agents: 10_000,
    skew: 1,
    requestsPerSec: 500,
    minutes: 15,
    stakesMax: 0,
  },
  {
    name: "zipf-1.0, 100,000 agents, 500/s, 10,000 entries, stakes 1 to 10,000",
    agents: 100_000,
    skew: 1,
    requestsPerSec: 500,
    minutes: 15,
    stakesMax: 10_000,
    entriesMax: 10_000,
  },
];

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

/** What the service would say: each agent is proven up to some stakes, and refused far above. */
function decisionOf(agent: number, stakes: number): { decision: Decision; max: number | null } {
  const proven = 10 ** (1 + (((agent * 2_654_435_761) >>> 0) / 4_294_967_296) * 5);
  const bounds = [proven, proven * 3, proven * 30];
  const words: Decision[] = ["connect", "connect_with_verification", "escalate", "refuse"];
  const index = bounds.findIndex((bound) => stakes <= bound);
  return index < 0
    ? { decision: "refuse", max: null }
    : { decision: words[index] as Decision, max: bounds[index] as number };
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

async function hitRate(workload: Workload): Promise<Record<string, unknown>> {
  const random = seededRandom(SEED);
  const drawAgent = zipf(workload.agents, workload.skew, random);
  let nowMs = 0;
  const gateway = new TrustGateway({
    client: new TrustRankClient({
      baseUrl: "http://bench",
      fetch: fetchReply,
      timeoutMs: 60_000,
    }),
    cache: { entriesMax: workload.entriesMax ?? workload.agents },
    monotonic: () => nowMs,
  });
  const minutes = isSmoke ? 1 : workload.minutes;
  const requests = Math.round(workload.requestsPerSec * 60 * minutes);
  let wrong = 0;
  for (let index = 0; index < requests; index += 1) {
    nowMs = (index / workload.requestsPerSec) * 1000;
    const agent = drawAgent();
    const stakes = workload.stakesMax === 0 ? 100 : workload.stakesMax ** random();
    const agentId = `agent://bench/${agent}`;
    const answer = await gateway.check({ agentId, toolLevel: "L3", stakes });
    // A cache that answers wrongly has any hit rate one likes.
    if (answer.word !== decisionOf(agent, stakes).decision) wrong += 1;
  }
  const { cached, asked } = gateway.counts;
  process.stderr.write(`${workload.name}: ${((100 * cached) / requests).toFixed(1)} %\n`);
  return {
    workload: workload.name,
    requests,
    paid_reads: asked,
    hit_rate: Math.round((1000 * cached) / requests) / 1000,
    wrong_answers: wrong,
  };
}

/** Nanoseconds per answer from the cache, awaited one by one; the median of several rounds. */
async function overhead(): Promise<{ check: number; authorize: number }> {
  const client = new TrustRankClient({
    baseUrl: "http://bench",
    fetch: async (url, init) => (url.endsWith("/check") ? fetchReply(url, init) : verifyReply()),
    timeoutMs: 60_000,
  });
  const gateway = new TrustGateway({ client });
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

function verifyReply(): Response {
  return Response.json({
    request_id: "r",
    trust_evaluation: {
      score: 60,
      threshold_met: true,
      risk_level: "LOW",
      internal_score: 630,
      tier: "B",
      confidence: 0.9,
    },
    provenance_data: { is_hallucinated: false, source_verified: true, reason: "no sources" },
    policy_action: { verdict: "ALLOW", log_reason: "TRUST_SUFFICIENT" },
    reason_codes: [],
    enforced: true,
    config_version: "c",
    evaluated_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-01T00:05:00.000Z",
  });
}

const workloads: Record<string, unknown>[] = [];
for (const workload of WORKLOADS) workloads.push(await hitRate(workload));
const nanoseconds = await overhead();
const report = {
  seed: SEED,
  ttl_minutes: 5,
  hit_rate: workloads[0]?.["hit_rate"],
  headline: workloads[0]?.["workload"],
  workloads,
  ns_per_cached_check: nanoseconds.check,
  ns_per_cached_authorize: nanoseconds.authorize,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
