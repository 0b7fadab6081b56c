// Pages of the list of agents in every order, by name and by tier, over a store of so many
// made agents, as the service answers them: the table in shared memory, its reading into rows, and the
// pages of the store thread. A table on stderr, one JSON object on stdout.
//   node bench/agents.ts [--agents 1000000] [--rounds 15] [--smoke]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsed } from "./load/parsed.ts";
import { AGENT_ORDERS, type AgentFilter } from "../src/contract/schemas/agents.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import { startStore } from "../src/store/client.ts";
import { machine } from "./server-process.ts";

const { values: flags } = parsed(import.meta.filename, {
  options: {
    agents: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "15" },
    smoke: { type: "boolean", default: false },
  },
});
const AGENTS = flags.smoke ? 5000 : Number(flags.agents);
const ROUNDS = flags.smoke ? 3 : Number(flags.rounds);
const PAGE = 50;
const START_MS = Date.now();

/** Agents of a thousand namespaces, one outcome each, a tenth of them bad. */
function madeTable(): WebAssembly.Memory {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  for (let n = 0; n < AGENTS - 1; n++) {
    writer.fold({
      subject: `agent://made-${(n * 7919) % 1000}/worker-${n}`,
      reporter: "agent://made-0/voice",
      outcome: (n * 31) % 10 === 0 ? 0 : 1,
      stakes: 1 + (n % 900),
      gradeIndex: 3,
      signatureIndex: 0,
      settledAtMs: START_MS - ((n * 104_729) % (90 * 86_400_000)),
      voice: 0,
    });
  }
  return memory;
}

const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-bench-agents-"));
const store = await startStore({
  dataDir,
  isStandalone: true,
  decisionsKeptDays: 1,
  outcomesKeptDays: 1,
});
try {
  const base: AgentFilter = { tenant: undefined, isAnalyst: true, order: "name", limit: PAGE };
  store.setAgentTable(madeTable());
  const readAt = performance.now();
  for (;;) {
    const { total } = await store.agentDirectory.read("agents", base);
    if (total === AGENTS) break;
    process.stderr.write(`read ${total} of ${AGENTS}\n`);
  }
  const reading_seconds = (performance.now() - readAt) / 1000;
  const asks: [string, Partial<AgentFilter>][] = [
    ...AGENT_ORDERS.map((order): [string, Partial<AgentFilter>] => [order, { order }]),
    ["prefix", { prefix: "agent://made-77/" }],
    ["contains", { contains: "-9999" }],
    ["tier, -outcomes", { tier: "REVIEW", order: "-outcomes" }],
  ];
  const pages: Record<string, { first_ms: number; behind_ms: number }> = {};
  for (const [name, ask] of asks) {
    const { last } = await store.agentDirectory.read("agents", { ...base, ...ask });
    const first_ms = await medianMs({ ...base, ...ask });
    const behind_ms = last === undefined ? 0 : await medianMs({ ...base, ...ask, after: last });
    pages[name] = { first_ms, behind_ms };
    process.stderr.write(`${name}: first ${first_ms} ms, next ${behind_ms} ms\n`);
  }
  const slowest_ms = Math.max(...Object.values(pages).flatMap((page) => Object.values(page)));
  const report = {
    machine: machine(),
    agents: AGENTS,
    page: PAGE,
    reading_seconds,
    slowest_ms,
    pages,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
} finally {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function medianMs(filter: AgentFilter): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await store.agentDirectory.read("agents", filter);
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  return Math.round(times[times.length >> 1]! * 10) / 10;
}
