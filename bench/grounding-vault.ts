// bench -- grounding --vault N: cost of a verify without content beside a vault of N sources and
// beside an empty one. In one process, interleaved: nanoseconds of the assessment alone, for ids
// that repeat and ids that hardly do. Over HTTP, interleaved: requests per second and CPU time.
import { generateKeyPairSync } from "node:crypto";
import autocannon from "autocannon";

import type { VerifyContext } from "../src/contract/schemas/scores.ts";
import { buildBureauKey } from "../src/journal/signing-key.ts";
import { VaultAssessor } from "../src/vault/assessment/assessor.ts";
import { createVaultMemory } from "../src/vault/memory.ts";
import { Vault } from "../src/vault/vault.ts";
import { ADMIN_KEY, startService } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

const ROUNDS = 5;
const ITEMS = 1000;
const CALLS_MAX = 50_000;
/** Sources that callers use repeatedly. */
const POPULAR = 100;

const idOf = (at: number) => `https://wiki.example.org/page/${at}`;
const digestOf = (at: number) => `sha256:${at.toString(16).padStart(8, "0").repeat(8)}`;
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Sources by digest alone: their number is what counts here. */
function itemsOf(from: number, count: number) {
  return Array.from({ length: count }, (_, at) => ({
    source_id: idOf(from + at),
    sha256: digestOf(from + at),
    kind: "text/plain",
    title: "A page",
    visibility: "tenant" as const,
    state: "active" as const,
  }));
}

async function openAssessor(sources: number): Promise<VaultAssessor> {
  const memory = createVaultMemory();
  const vault = new Vault({
    memory,
    journal: { appendSource: () => Promise.resolve() },
    clock: Date.now,
    signer: buildBureauKey(generateKeyPairSync("ed25519").privateKey),
    measure: () => Promise.resolve([]),
  });
  const by = { tenant: "operator", keyId: "bench", isAdmin: true };
  for (let from = 0; from < sources; from += ITEMS) {
    await vault.register(itemsOf(from, Math.min(ITEMS, sources - from)), by);
  }
  return new VaultAssessor(memory, Date.now);
}

/** Contexts without content, two sources each of `spread`; ids are new strings, as from a parse. */
function contextsOf(spread: number, calls: number): VerifyContext[] {
  return Array.from({ length: calls }, (_, at) => ({
    content_hash: digestOf(at * 7 + 1),
    cited_sources: [idOf((at * 7919) % spread), idOf((at * 104_729) % spread)],
    session_duration_sec: 318,
  }));
}

/** CPU time, so that a neighbour on the machine does not count. */
function nanoseconds(assessor: VaultAssessor, contexts: readonly VerifyContext[]): number {
  const before = process.cpuUsage();
  for (const context of contexts) assessor.assess(context, "operator");
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / contexts.length;
}

/** The assessment alone. */
async function inProcess(sources: number) {
  const [empty, full] = [await openAssessor(0), await openAssessor(sources)];
  const figures: Record<string, number> = {};
  const calls = Math.min(CALLS_MAX, sources * 10);
  for (const [name, spread] of [
    ["popular", Math.min(POPULAR, sources)],
    ["spread", sources],
  ] as const) {
    const rounds = { empty: [] as number[], full: [] as number[] };
    for (let round = 0; round < ROUNDS + 1; round++) {
      rounds.empty.push(nanoseconds(empty, contextsOf(spread, calls)));
      rounds.full.push(nanoseconds(full, contextsOf(spread, calls)));
    }
    figures[`ns_${name}_empty`] = Math.round(median(rounds.empty.slice(1)));
    figures[`ns_${name}_full`] = Math.round(median(rounds.full.slice(1)));
  }
  const bare: VerifyContext = { session_duration_sec: 318 };
  const repeated = Array.from({ length: calls }, () => bare);
  figures["ns_nothing_cited"] = Math.round(nanoseconds(full, repeated));
  return figures;
}

const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };

function bodyOf(context: VerifyContext): string {
  const agent_id = "agent://acme/ledger-sync";
  return JSON.stringify({ agent_id, action: "report.publish", tool_level: "L1", context });
}

async function fill(server: ServerProcess, sources: number): Promise<void> {
  for (let from = 0; from < sources; from += ITEMS) {
    const items = itemsOf(from, Math.min(ITEMS, sources - from));
    const body = JSON.stringify({ items });
    const response = await fetch(`${server.url}/v1/evidence`, {
      method: "POST",
      headers: HEADERS,
      body,
    });
    if (!response.ok) throw new Error(`registering was answered ${response.status}`);
    await response.arrayBuffer();
  }
}

async function load(server: ServerProcess, body: string, seconds: number) {
  const before = server.cpuSeconds();
  const result = await autocannon({
    url: `${server.url}/v1/trust/verify`,
    method: "POST",
    headers: HEADERS,
    body,
    duration: seconds,
    connections: 50,
  });
  const answered = result["2xx"];
  const cpu = ((server.cpuSeconds() - before) / answered) * 1e6;
  return { rps: answered / result.duration, cpu, errors: result.non2xx + result.errors };
}

/** The whole service, both kinds of request against both vaults in turn. */
async function overHttp(sources: number, seconds: number) {
  const [empty, full] = [await startService("--no-sample"), await startService("--no-sample")];
  try {
    await fill(full, sources);
    const nothing = bodyOf({ session_duration_sec: 318 });
    const citing = bodyOf({ content_hash: digestOf(7), cited_sources: [idOf(1), idOf(2)] });
    const cases = { nothing_empty: [empty, nothing], nothing_full: [full, nothing] } as const;
    const more = { citing_empty: [empty, citing], citing_full: [full, citing] } as const;
    const all = Object.entries({ ...cases, ...more });
    const rounds = new Map(all.map(([name]) => [name, [] as Awaited<ReturnType<typeof load>>[]]));
    for (const [, [server, body]] of all) await load(server, body, 1);
    for (let round = 0; round < 3; round++) {
      process.stderr.write(`round ${round + 1} of 3\n`);
      for (const [name, [server, body]] of all) {
        rounds.get(name)!.push(await load(server, body, seconds));
      }
    }
    const errors = [...rounds.values()].flat().reduce((sum, each) => sum + each.errors, 0);
    const figures = [...rounds].map(([name, each]) => [
      name,
      {
        rps: Math.round(median(each.map(({ rps }) => rps))),
        cpu_us: Math.round(median(each.map(({ cpu }) => cpu)) * 100) / 100,
      },
    ]);
    return { ...Object.fromEntries(figures), errors };
  } finally {
    await Promise.all([empty.stop(), full.stop()]);
  }
}

/** Members of the report: `assess` in nanoseconds, `http` where `seconds` is not 0. */
export async function benchVault(sources: number, seconds: number) {
  const assess = await inProcess(sources);
  return { sources, assess, ...(seconds === 0 ? {} : { http: await overHttp(sources, seconds) }) };
}
