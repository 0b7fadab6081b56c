// bench:growth: what each agent and each outcome costs, from a thousand agents to ten million and up to
// a hundred million outcomes: memory, lookup and fold, journal and store, starts, queries, a run of
// kaizen; slopes through the sizes, and the plan of a deployment that they make.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { historyOf, type HistorySize, QUERIES } from "./growth/history.ts";
import { type Costs, type Plan, planOf } from "./growth/plan.ts";
import { type Point, type Slope, slopeOf, slopePerTenfold } from "./growth/slopes.ts";
import type { TableSize } from "./growth/table-process.ts";
import { stolenSeconds } from "./load/cpu.ts";
import { numberOf, numbersOf, report } from "./load/flags.ts";
import { watchOthers } from "./load/others.ts";
import { rounded, spreadOf, tableOf, told } from "./load/spread.ts";
import { machine } from "./server-process.ts";

const HELP = `npm run bench:growth -- [options]

  --agents A,B,...     sizes of the agent table, 1000 to 15000000 (default 1000,10000,100000,1000000)
  --outcomes A,B,...   sizes of the history in a service, up to 100000000 (default 50000,200000,1000000);
                       "" for none. Each takes some 500 bytes of disk an outcome meanwhile (TMPDIR)
  --outcomes-each N    outcomes of an agent of the history, on average (default 20)
  --rounds N           of lookups and folds (default 5)
  --plan-agents N      (default 1e10)    of the plan that is made from the slopes
  --plan-rps N         (default 1e6)
  --plan-outcomes N    a second (default 1e5)
  --plan-days N        that outcomes are kept (default 396)
  --request-us N       CPU of a request, from bench:http (default 12)
  --outcome-us N       CPU of an outcome in a batch, from bench:ledger (default 15)
  --out FILE           the result for bench -- plot
  --smoke              a moment, to see that it works

A table on stderr, one JSON object on the last line of stdout. Ten million agents take 6 GB of memory and
some minutes, a hundred million outcomes 50 GB of disk and hours.
`;
const AGENTS_MAX = 15_000_000;
const SAMPLES = 200_000;
const BUFFER_BYTES = 1e7;
const TABLE = fileURLToPath(new URL("growth/table-process.ts", import.meta.url));

const { values } = parseArgs({
  options: {
    agents: { type: "string", default: "1000,10000,100000,1000000" },
    outcomes: { type: "string", default: "50000,200000,1000000" },
    "outcomes-each": { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
    "plan-agents": { type: "string", default: "1e10" },
    "plan-rps": { type: "string", default: "1e6" },
    "plan-outcomes": { type: "string", default: "1e5" },
    "plan-days": { type: "string", default: "396" },
    "request-us": { type: "string", default: "12" },
    "outcome-us": { type: "string", default: "15" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function settingsOf() {
  const { smoke } = values;
  const agents = smoke ? [1000, 5000] : numbersOf("agents", values.agents, 100);
  if (agents.at(-1)! > AGENTS_MAX) {
    throw new Error(`a process holds at most some ${AGENTS_MAX} agents, not ${agents.at(-1)}`);
  }
  const histories = values.outcomes === "" ? [] : numbersOf("outcomes", values.outcomes, 1000);
  return {
    agents,
    outcomes: smoke ? [1000, 3000] : histories,
    each: numberOf("outcomes-each", values["outcomes-each"], 1),
    rounds: smoke ? 1 : numberOf("rounds", values.rounds, 1),
    samples: smoke ? 2000 : SAMPLES,
    demand: {
      agents: numberOf("plan-agents", values["plan-agents"], 1),
      requestsPerSecond: numberOf("plan-rps", values["plan-rps"]),
      outcomesPerSecond: numberOf("plan-outcomes", values["plan-outcomes"]),
      keptDays: numberOf("plan-days", values["plan-days"]),
    },
    requestUs: numberOf("request-us", values["request-us"]),
    outcomeUs: numberOf("outcome-us", values["outcome-us"]),
  };
}
type Settings = ReturnType<typeof settingsOf>;

async function tableOfSize(agents: number, { samples, rounds }: Settings): Promise<TableSize> {
  const flags = ["--disable-warning=ExperimentalWarning", TABLE];
  const sizes = [agents, samples, rounds].map(String);
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [...flags, ...sizes], { maxBuffer: BUFFER_BYTES });
  return JSON.parse(stdout) as TableSize;
}

/** Row, index, identifier; and the pairs of reporters with them. */
function bytesAnAgent(table: TableSize) {
  const alone = (table.row_bytes + table.index_bytes + table.identifier_bytes) / table.agents;
  return { alone, withPairs: alone + table.pair_bytes / table.agents };
}

function tableRow(table: TableSize) {
  const { alone, withPairs } = bytesAnAgent(table);
  return {
    agents: table.agents,
    bytes_an_agent: rounded(alone),
    bytes_an_agent_with_pairs: rounded(withPairs),
    table_bytes: table.row_bytes + table.index_bytes + table.identifier_bytes + table.pair_bytes,
    lookup_ns: spreadOf(table.lookup_ns),
    fold_ns: spreadOf(table.fold_ns),
    build_seconds: rounded(table.build_seconds),
    resident_bytes: table.resident_bytes,
  };
}
type TableRow = ReturnType<typeof tableRow>;

const tidy = ({ base, slope, r2, exponent, points }: Slope) => ({
  base: Number(base.toPrecision(4)),
  slope: Number(slope.toPrecision(4)),
  r2: rounded(r2),
  exponent: exponent === null ? null : rounded(exponent),
  points,
});

/** By name; what has fewer than two sizes has none. */
function slopesOf(tables: readonly TableRow[], histories: readonly HistorySize[]) {
  const slopes: Record<string, ReturnType<typeof tidy>> = {};
  const put = (name: string, points: readonly Point[], fit = slopeOf) => {
    if (points.length > 1) slopes[name] = tidy(fit(points));
  };
  const ofTable = (pick: (row: TableRow) => number) =>
    tables.map((row): Point => [row.agents, pick(row)]);
  const ofHistory = (pick: (size: HistorySize) => number | null) =>
    histories.flatMap((size): Point[] => {
      const cost = pick(size);
      return cost === null ? [] : [[size.outcomes, cost]];
    });
  put(
    "table_bytes",
    ofTable((row) => row.table_bytes),
  );
  put(
    "lookup_ns_a_tenfold",
    ofTable((row) => row.lookup_ns.median),
    slopePerTenfold,
  );
  put(
    "fold_ns_a_tenfold",
    ofTable((row) => row.fold_ns.median),
    slopePerTenfold,
  );
  put(
    "journal_bytes",
    ofHistory((size) => size.journal_bytes),
  );
  put(
    "store_bytes",
    ofHistory((size) => size.store_bytes),
  );
  put(
    "resident_bytes",
    ofHistory((size) => size.resident_bytes),
  );
  put(
    "start_seconds",
    ofHistory((size) => size.start_seconds),
  );
  put(
    "replay_seconds",
    ofHistory((size) => size.replay_seconds),
  );
  put(
    "store_seconds",
    ofHistory((size) => size.store_seconds),
  );
  for (const name of QUERIES)
    put(
      `query ${name}`,
      ofHistory((size) => size.queries[name] ?? null),
    );
  put(
    "kaizen_seconds",
    ofHistory((size) => size.kaizen_seconds),
  );
  put(
    "kaizen_peak_bytes",
    ofHistory((size) => size.kaizen_peak_bytes),
  );
  return slopes;
}

/** From the largest sizes; undefined without a history. */
function planFrom(
  settings: Settings,
  tables: readonly TableSize[],
  histories: readonly HistorySize[],
  slopes: ReturnType<typeof slopesOf>,
): { costs: Costs; plan: Plan } | undefined {
  const [table, history] = [tables.at(-1), histories.at(-1)];
  if (table === undefined || history === undefined) return undefined;
  const perOutcome = (name: string, whole: number) =>
    Math.max(0, slopes[name]?.slope ?? whole / history.outcomes);
  const costs = {
    agentBytes: bytesAnAgent(table).withPairs,
    baseBytes: Math.max(0, slopes["resident_bytes"]?.base ?? history.resident_bytes),
    requestUs: settings.requestUs,
    outcomeUs: settings.outcomeUs,
    journalBytes: perOutcome("journal_bytes", history.journal_bytes),
    storeBytes: perOutcome("store_bytes", history.store_bytes),
    replayUs: perOutcome("replay_seconds", history.replay_seconds) * 1e6,
  };
  return { costs, plan: planOf(settings.demand, costs) };
}

function printTables(rows: readonly TableRow[]): void {
  const head = ["agents", "bytes/agent", "with pairs", "lookup ns", "fold ns", "build s", "RSS MB"];
  const lines = rows.map((row) => [
    row.agents.toLocaleString("en"),
    String(row.bytes_an_agent),
    String(row.bytes_an_agent_with_pairs),
    told(row.lookup_ns),
    told(row.fold_ns),
    String(row.build_seconds),
    String(Math.round(row.resident_bytes / 1e6)),
  ]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
}

function printHistories(sizes: readonly HistorySize[]): void {
  const head = ["outcomes", "agents", "journal B", "store B", "record us", "start s", "replay s"];
  head.push("store s", "RSS MB", ...QUERIES.map((name) => `${name} s`), "kaizen s", "peak MB");
  const seconds = (value: number | null | undefined) =>
    typeof value === "number" ? String(rounded(value)) : "none";
  const lines = sizes.map((size) => [
    size.outcomes.toLocaleString("en"),
    size.agents.toLocaleString("en"),
    String(Math.round(size.journal_bytes / size.outcomes)),
    String(Math.round(size.store_bytes / size.outcomes)),
    String(rounded(size.record_us)),
    seconds(size.start_seconds),
    seconds(size.replay_seconds),
    seconds(size.store_seconds),
    String(Math.round(size.resident_bytes / 1e6)),
    ...QUERIES.map((name) => seconds(size.queries[name])),
    seconds(size.kaizen_seconds),
    String(Math.round(size.kaizen_peak_bytes / 1e6)),
  ]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
}

function printSlopes(slopes: ReturnType<typeof slopesOf>): void {
  const lines = Object.entries(slopes).map(([name, { base, slope, r2, exponent }]) => [
    name,
    String(base),
    slope.toPrecision(3),
    String(r2),
    String(exponent ?? ""),
  ]);
  process.stderr.write(`\n${tableOf(["", "base", "slope", "R2", "exponent"], lines)}`);
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const settings = settingsOf();
  const stolenBefore = stolenSeconds();
  const others = watchOthers();
  const tables: TableSize[] = [];
  for (const agents of settings.agents) {
    process.stderr.write(`table of ${agents.toLocaleString("en")} agents\n`);
    tables.push(await tableOfSize(agents, settings));
  }
  const rows = tables.map(tableRow);
  printTables(rows);
  const histories: HistorySize[] = [];
  for (const outcomes of settings.outcomes) {
    process.stderr.write(`history of ${outcomes.toLocaleString("en")} outcomes\n`);
    histories.push(await historyOf(outcomes, Math.ceil(outcomes / settings.each)));
  }
  if (histories.length > 0) printHistories(histories);
  const slopes = slopesOf(rows, histories);
  printSlopes(slopes);
  const planned = planFrom(settings, tables, histories, slopes);
  if (planned !== undefined) process.stderr.write(`\n${JSON.stringify(planned, null, 1)}\n`);
  const stolen_seconds = rounded(stolenSeconds() - stolenBefore);
  const head = { bench: "growth", machine: machine(), stolen_seconds, others_share: others() };
  report(
    { ...head, tables: rows, histories, slopes, demand: settings.demand, ...planned },
    values.out,
  );
}

await main();
