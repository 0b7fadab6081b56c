// Gateway examples on the service itself: verdicts of four agents at four levels, end clients' waits while the service
// hangs (SIGSTOP) and while it is gone (SIGKILL), for HAProxy, nginx and Caddy before one node and two with the limits
// of their examples; then rolling restarts behind HAProxy. Fails for a wrong status, a missing `Retry-After` or a lost
// request; times are printed and not judged. `--requests`, `--rounds` (each restarts both nodes), `--repeats`
// (measurements of each wait), `--programs` (`--programs=` for the restarts alone), `--smoke`.
import { loadavg } from "node:os";
import { DRAIN_MS } from "../src/contract/setting-defaults.ts";
import { TOOL_LEVELS } from "../src/contract/vocabulary.ts";
import { PATHS, type Program } from "../test/gateways/_edge.ts";
import {
  addNewcomers,
  type GatewayOnNodes,
  NEWCOMERS,
  openOnNodes,
  VERDICTS,
} from "../test/gateways/_nodes.ts";
import { restartInTurn } from "../test/gateways/_rolling.ts";
import { parsed } from "./load/parsed.ts";
import { machine } from "./server-process.ts";

const { values } = parsed(import.meta.filename, {
  options: {
    requests: { type: "string", default: "10000" },
    rounds: { type: "string", default: "3" },
    repeats: { type: "string", default: "20" },
    programs: { type: "string", default: "haproxy,nginx,caddy" },
    smoke: { type: "boolean", default: false },
  },
});

/** The limits of the examples. */
const BUDGET_MS = 100;
const BACK_EVERY_MS = 50;
/** Longer than any gateway leaves a node alone that failed. */
const FORGOTTEN_MS = 1500;
const CALLERS = 8;
const PAUSE_MS = 40;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const rounded = (ms: number) => Math.round(ms * 10) / 10;

/** Answers of the fail policy at L0 to L3. */
const WITHOUT_VERDICT = ["200 L0_open", "200 L1_open", "503 L2_closed 1", "503 L3_closed 1"];

async function ask(edge: GatewayOnNodes, agent: string, level: keyof typeof PATHS) {
  const startedAt = performance.now();
  const response = await edge.ask(PATHS[level], agent);
  await response.arrayBuffer();
  const ms = performance.now() - startedAt;
  const marks = ["x-trust-degraded", "retry-after"].map((name) => response.headers.get(name));
  return { ms, seen: [response.status, ...marks.filter((mark) => mark !== null)].join(" ") };
}

async function untilBack(edge: GatewayOnNodes): Promise<void> {
  for (let inRow = 0; inRow < 3;) {
    inRow = (await ask(edge, "connect", "L3")).seen === "200" ? inRow + 1 : 0;
    await pause(BACK_EVERY_MS);
  }
}

/** Waits of end clients at all levels, as a new outage and as one that the gateway knows of. */
async function measureWaits(edge: GatewayOnNodes, wrong: string[], name: string) {
  const first: number[] = [];
  const later: number[] = [];
  for (const [at, level] of TOOL_LEVELS.entries()) {
    const { ms, seen } = await ask(edge, "connect", level);
    (at === 0 ? first : later).push(ms);
    if (seen !== WITHOUT_VERDICT[at]) wrong.push(`${name} ${level}: ${seen}`);
  }
  return { first, later };
}

const summaryOf = (times: number[]) => {
  const sorted = times.toSorted((one, other) => one - other);
  return { median: rounded(sorted[sorted.length >> 1]!), max: rounded(sorted.at(-1)!) };
};

async function measureProgram(program: Program, nodeCount: 1 | 2, repeats: number) {
  const wrong: string[] = [];
  const edge = await openOnNodes(program, { nodeCount, budgetMs: BUDGET_MS });
  try {
    await untilBack(edge);
    let right = 0;
    for (const [agent, statuses] of Object.entries(VERDICTS)) {
      for (const [at, level] of TOOL_LEVELS.entries()) {
        const { seen } = await ask(edge, agent, level);
        if (seen === String(statuses[at])) right += 1;
        else wrong.push(`${agent} ${level}: ${seen}`);
      }
    }
    const hung: number[] = [];
    const hungLater: number[] = [];
    for (let at = 0; at < repeats; at += 1) {
      for (const node of edge.nodes) node.freeze();
      const { first, later } = await measureWaits(edge, wrong, "hung");
      for (const node of edge.nodes) node.thaw();
      hung.push(...first);
      hungLater.push(...later);
      await pause(FORGOTTEN_MS);
      await untilBack(edge);
    }
    await Promise.all(edge.nodes.map((node) => node.end("SIGKILL")));
    const gone: number[] = [];
    for (let at = 0; at < repeats; at += 1) {
      const { first, later } = await measureWaits(edge, wrong, "gone");
      gone.push(...first, ...later);
    }
    const waits = {
      hung: summaryOf(hung),
      hung_later: summaryOf(hungLater),
      gone: summaryOf(gone),
    };
    return { program, nodes: nodeCount, right, of: 16, ...waits, wrong };
  } finally {
    await edge.stop();
  }
}

async function measureRestarts(requests: number, rounds: number) {
  const environment = { TRUSTRANK_DRAIN_MS: `${DRAIN_MS}` };
  const nodes = { nodeCount: 2, change: addNewcomers, environment, budgetMs: BUDGET_MS } as const;
  const edge = await openOnNodes("haproxy", nodes);
  try {
    await untilBack(edge);
    const agents = [["connect", 200] as const, ...NEWCOMERS.map((name) => [name, 403] as const)];
    const options = { requests, rounds, callers: CALLERS, pauseMs: PAUSE_MS, agents };
    return await restartInTurn(edge, options);
  } finally {
    await edge.stop();
  }
}

const repeats = values.smoke ? 1 : Number(values.repeats);
const rows = [];
const programs = values.programs.split(",").filter((name) => name !== "") as Program[];
for (const program of programs) {
  for (const nodeCount of [1, 2] as const) {
    const row = await measureProgram(program, nodeCount, repeats);
    process.stderr.write(`${JSON.stringify(row)}\n`);
    rows.push(row);
  }
}
const load = rounded(loadavg()[0]!);
const rolling = values.smoke
  ? undefined
  : await measureRestarts(Number(values.requests), Number(values.rounds));
const isWrong = rows.some(({ wrong }) => wrong.length > 0);
const isLost = rolling !== undefined && Object.keys(rolling.wrong).length > 0;
console.log(
  JSON.stringify({ bench: "gateways", machine: machine(), load, repeats, rows, rolling }),
);
process.exitCode = isWrong || isLost ? 1 : 0;
