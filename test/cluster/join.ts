// cluster:join: a fourth node joins three that record: once from the log alone, once over a copied journal. How fast it
// catches up, what the reporters feel, and whether it ends up the same. One JSON object on the last line of stdout.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { quantile } from "../../bench/raw-client.ts";
import { ADMIN_KEY, COMMAND, machine } from "../../bench/server-process.ts";
import { allWell, type Ground, NO_CUTS } from "./faults.ts";
import { type Acknowledged, haveOneHistory, judge, readJournal } from "./history.ts";
import { type ServiceNode, startServers, until } from "./parts.ts";
import { ask, Reporters } from "./reporters.ts";
import { allSame, compareTables, makeParts, seededRandom, startNodes } from "./run.ts";
import { COUNT, isInside, natsServer, runInside, Stage } from "./stage.ts";

const HELP = `npm run --silent cluster:join -- [options]

  --rows <n>      outcomes recorded before (default 100000)
  --seconds <n>   reports before, between and after the joins (default 5)
  --seed <n>      of the outcomes (default 1)

Ends with 1 when the node that joined is not the same as the others, byte for byte. Needs nats-server 2.10.23 or later
(as cluster:chaos); without it, it ends with 3.
`;
const NOT_HERE = 3;
const SMALL_BYTES = 2 * 1024 ** 3;
const BATCH = 500;
const LANES = 4;
const SUBJECTS = 5000;
/** A node that is less behind than this has caught up. */
const LAG_MS = 1000;
/** After the load, until the reporters' connections are made. */
const SETTLE_MS = 2000;
const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "100000" },
    seconds: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

interface Join {
  readonly how: "log" | "copy";
  /** Records of the journal when it had caught up. */
  readonly records: number;
  /** Of the copy, before the start. */
  readonly copy_ms: number;
  /** From the start of the process until it was less than a second behind, with its copy. */
  readonly ms: number;
  readonly records_per_s: number;
  readonly ack_p50_ms: number;
  readonly ack_p99_ms: number;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const program = natsServer();
  if (program === undefined) {
    tell("nats-server is not on this machine: see --help");
    return NOT_HERE;
  }
  if (!isInside()) {
    const inside = runInside(process.argv.slice(1));
    if (inside !== undefined) return inside;
  }
  const report = await joinRun(mkdtempSync(path.join(tmpdir(), "trustrank-join-")), program);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  return report.identical && report.lost === 0 && report.wrong === 0 ? 0 : 1;
}

async function joinRun(folder: string, program: string) {
  const stage = await Stage.open(folder, SMALL_BYTES, COUNT + 1);
  const parts = makeParts(stage, program);
  const { nodes, servers } = parts;
  const [joining, first] = [nodes.at(-1)!, nodes.slice(0, COUNT)];
  const random = seededRandom(Number(values.seed));
  const urls = first.map(({ url }) => url);
  const reporters = new Reporters(urls, random, `join${values.seed}`);
  const acknowledge = () => reporters.probe();
  const ground: Ground = {
    stage,
    ...parts,
    nodes: first,
    random,
    hit: () => undefined,
    acknowledge,
    ...NO_CUTS,
  };
  await startServers(servers, ({ at }) => {
    rmSync(path.join(stage.disk("server", at), "jetstream"), { recursive: true, force: true });
  });
  startNodes(first);
  await allWell(ground);
  const loadedMs = await load(urls[0]!, Number(values.rows));
  tell(`${values.rows} outcomes recorded in ${Math.round(loadedMs)} ms`);
  reporters.start();
  const before = await quiet(reporters);
  const joins = [await join(joining, reporters, undefined)];
  await wait(Number(values.seconds) * 1000);
  await joining.end("SIGTERM");
  rmSync(joining.dataDir, { recursive: true });
  joins.push(await join(joining, reporters, urls[0]));
  await wait(Number(values.seconds) * 1000);
  await reporters.stop();
  const isLevel = await allSame({ ...ground, nodes });
  const tables = await compareTables(nodes);
  await Promise.all([...nodes, ...servers].map((part) => part.end("SIGKILL")));
  const journals = nodes.map(({ dataDir }) => readJournal(dataDir));
  const found = journals.map((journal, at) => {
    return judge(reporters.acknowledged, journal, `node ${at + 1}`);
  });
  const wrong = [...reporters.wrong, ...found.flatMap((each) => each.wrong), ...tables];
  stage.close();
  return {
    bench: "cluster-join",
    machine: machine(),
    rows: Number(values.rows),
    recorded_per_s: Math.round((Number(values.rows) / loadedMs) * 1000),
    acked: reporters.acknowledged.length,
    ack_before: before,
    joins,
    lost: Math.max(...found.map(({ lost }) => lost)),
    wrong: wrong.length,
    wrong_shown: wrong.slice(0, 5),
    identical:
      isLevel &&
      haveOneHistory(
        nodes.map(({ dataDir }) => dataDir),
        journals,
      ),
    lsns: journals.map(({ lsn }) => lsn),
    is_level: isLevel,
  };
}

/** Records outcomes in batches; ms that it took. */
async function load(url: string, rows: number): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < rows) {
      const from = next;
      next = Math.min(rows, from + BATCH);
      const items = Array.from({ length: next - from }, (_, at) => outcomeOf(from + at));
      const init = { method: "POST", headers: HEADERS, body: JSON.stringify(items) };
      await until(
        async () => (await ask(`${url}/v1/outcomes/batch`, init))?.status === 200,
        "a batch is not taken",
      );
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return performance.now() - startedAt;
}

function outcomeOf(number: number) {
  return {
    id: `history-${number}`,
    subject: `agent://past/seller-${number % SUBJECTS}`,
    reporter: `agent://past/buyer-${number % 997}`,
    outcome: number % 7 === 0 ? 0 : 1,
    stakes: (number % 97) + 1,
    grade: "counterparty",
  };
}

/** What reporters feel while nobody joins. */
async function quiet(reporters: Reporters) {
  await wait(SETTLE_MS);
  const sinceMs = performance.now();
  await wait(Number(values.seconds) * 1000);
  return acksSince(reporters.acknowledged, sinceMs);
}

/** Starts the node over an empty directory, or over a journal copied from `source`, until it has caught up. */
async function join(
  node: ServiceNode,
  reporters: Reporters,
  source: string | undefined,
): Promise<Join> {
  const sinceMs = performance.now();
  node.prepare();
  if (source !== undefined) await copyFrom(source, node.dataDir);
  const copiedMs = performance.now() - sinceMs;
  node.start();
  await until(() => hasCaughtUp(node.url), "the node does not catch up");
  const ms = performance.now() - sinceMs;
  const records = newestOf(reporters.acknowledged);
  const how = source === undefined ? "log" : "copy";
  const figures: Join = {
    how,
    records,
    copy_ms: source === undefined ? 0 : Math.round(copiedMs),
    ms: Math.round(ms),
    records_per_s: Math.round((records / ms) * 1000),
    ...acksSince(reporters.acknowledged, sinceMs),
  };
  tell(`joined by ${how}: ${figures.records} records, caught up after ${figures.ms} ms`);
  return figures;
}

async function copyFrom(source: string, dataDir: string): Promise<void> {
  const flags = ["cluster", "bootstrap", "--from", source, "--data-dir", dataDir];
  const env = { ...process.env, TRUSTRANK_ADMIN_KEY: ADMIN_KEY };
  const command = ["--disable-warning=ExperimentalWarning", COMMAND, ...flags];
  await promisify(execFile)(process.execPath, command, { env });
}

async function hasCaughtUp(url: string): Promise<boolean> {
  const answer = await ask(`${url}/readyz`, { headers: HEADERS });
  const lag = (answer?.body as { stream?: { lag_ms?: number | null } })?.stream?.lag_ms;
  return answer?.status === 200 && typeof lag === "number" && lag < LAG_MS;
}

/** Position of the newest record that was acknowledged: the node has it. */
function newestOf(acknowledged: readonly Acknowledged[]): number {
  return acknowledged.reduce((newest, { position }) => Math.max(newest, position), 0);
}

function acksSince(acknowledged: readonly Acknowledged[], sinceMs: number) {
  const times = acknowledged
    .filter(({ invokedMs }) => invokedMs >= sinceMs)
    .map(({ invokedMs, answeredMs }) => answeredMs - invokedMs);
  const rounded = (share: number) => Number(quantile(times, share).toFixed(1));
  return { ack_p50_ms: rounded(0.5), ack_p99_ms: rounded(0.99) };
}

process.exitCode = await main();
// What still runs ends with this process.
process.exit();
