// cluster:power: the power of a whole cluster is cut, several times, while outcomes are reported; what the disks had
// at that moment is all that is left. Each receipt is then held against every node's journal, one of which is
// made again from the log alone. A table on stderr; one JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { machine } from "../../bench/server-process.ts";
import { mayMountImages, PowerDisks } from "./disks.ts";
import { allWell, type Ground, NO_CUTS } from "./faults.ts";
import { judge, judgeOrder, readJournal } from "./history.ts";
import { startServers, streamState } from "./parts.ts";
import { Reporters } from "./reporters.ts";
import { allSame, compareTables, makeParts, seededRandom, startNodes } from "./run.ts";
import { isInside, natsServer, runInside, SMALL, Stage } from "./stage.ts";

const HELP = `npm run --silent cluster:power -- [options]

  --cuts <n>      cuts of the power (default 3)
  --seconds <n>   outcomes are reported for so long before each (default 10)
  --seed <n>      order of the outcomes (default: by the clock)
  --unsynced      servers that acknowledge before they have synced: shows that the tool finds a loss

Needs nats-server 2.10.23 or later (as cluster:chaos), root, and loop devices; without them it ends with 3.
`;
const NOT_HERE = 3;
const DISK_BYTES = 768 * 1024 * 1024;
const WRONG_SHOWN = 5;

const { values } = parseArgs({
  options: {
    cuts: { type: "string", default: "3" },
    seconds: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    unsynced: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

interface Cut {
  /** Newest place in the log before it, and after it. */
  readonly log: readonly [before: number, after: number];
  /** From the start of the processes until every node had acknowledged an outcome. */
  readonly backMs: number;
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
    const inside = runInside([...process.argv.slice(1), "--seed", values.seed]);
    if (inside !== undefined) return inside;
    tell("no namespaces here: no power is cut");
    return NOT_HERE;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "trustrank-power-"));
  if (!mayMountImages(folder)) {
    rmSync(folder, { recursive: true });
    tell("no loop devices here: no power is cut");
    return NOT_HERE;
  }
  const report = await powerRun(folder, program);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  return report.lost > 0 || !report.identical || report.wrong > 0 ? 1 : 0;
}

async function powerRun(folder: string, program: string) {
  const seed = Number(values.seed);
  const stage = await Stage.open(folder, 1024 * 1024);
  const disks = new PowerDisks(stage, DISK_BYTES);
  const sync = values.unsynced ? "2m" : "always";
  const parts = makeParts(stage, program, sync);
  const { nodes, servers } = parts;
  const random = seededRandom(seed);
  const urls = nodes.map(({ url }) => url);
  const reporters = new Reporters(urls, random, `power${seed}`);
  const acknowledge = () => reporters.probe();
  const ground: Ground = { stage, ...parts, random, hit: () => undefined, acknowledge, ...NO_CUTS };
  await startServers(servers, ({ at }) => {
    disks.unmount("server", at);
    disks.renew("server", at);
  });
  startNodes(nodes);
  await allWell(ground);
  reporters.start();
  const cuts: Cut[] = [];
  const known = { stage, disks, seed, reporters, cuts };
  for (let at = 1; at <= Number(values.cuts); at++) {
    await wait(Number(values.seconds) * 1000);
    cuts.push(await cutPower(ground, disks));
    const { log, backMs } = cuts.at(-1)!;
    tell(`cut ${at}: the log was at ${log[0]}, is at ${log[1]}; all again after ${backMs} ms`);
    // A log that went back ends its nodes: there is nothing to wait for.
    if (log[1] < log[0]) return finish({ ...known, lost: log[0] - log[1] });
  }
  await reporters.stop();
  await fromLogAlone(ground, disks);
  const tables = await compareTables(nodes);
  await allSame(ground);
  await Promise.all([...nodes, ...servers].map((part) => part.end("SIGKILL")));
  const journals = nodes.map(({ dataDir }) => readJournal(dataDir));
  const { acknowledged } = reporters;
  const found = journals.map((journal, at) => judge(acknowledged, journal, `node ${at + 1}`));
  const wrong = [...reporters.wrong, ...found.flatMap((each) => each.wrong), ...tables];
  wrong.push(...judgeOrder(acknowledged));
  const isSame = journals.every(({ bytes, chain }) => {
    return bytes === journals[0]!.bytes && chain === journals[0]!.chain;
  });
  const lost = Math.max(...found.map((each) => each.lost));
  return finish({ ...known, lost, wrong, isSame });
}

/** Everything ends at once; the disks are what they were at that moment; everything starts again. */
async function cutPower(ground: Ground, disks: PowerDisks): Promise<Cut> {
  const { nodes, servers } = ground;
  const parts = [...nodes, ...servers];
  const before = (await streamState(servers))?.lastSeq ?? 0;
  await Promise.all(parts.map((part) => part.end("SIGKILL")));
  disks.copyAll();
  disks.replaceAll();
  const startedAt = performance.now();
  for (const server of servers) server.start();
  let after: number | undefined;
  while (after === undefined) {
    await wait(200);
    after = (await streamState(servers))?.lastSeq;
    if (performance.now() - startedAt > 60_000) after = 0;
  }
  if (after >= before) {
    for (const node of nodes) node.start();
    await allWell(ground);
  }
  return { log: [before, after], backMs: Math.round(performance.now() - startedAt) };
}

/** One node begins again without its disk: what it has then, the log had. */
async function fromLogAlone(ground: Ground, disks: PowerDisks): Promise<void> {
  const node = ground.nodes[SMALL]!;
  await node.end("SIGKILL");
  disks.unmount("node", SMALL);
  disks.renew("node", SMALL);
  node.prepare();
  node.start();
  await allWell(ground);
}

interface Found {
  readonly stage: Stage;
  readonly disks: PowerDisks;
  readonly seed: number;
  readonly reporters: Reporters;
  readonly cuts: readonly Cut[];
  readonly lost: number;
  readonly wrong?: readonly string[];
  readonly isSame?: boolean;
}

function finish({ stage, disks, seed, reporters, cuts, lost, wrong = [], isSame = false }: Found) {
  const isWhole = lost === 0 && isSame && wrong.length === 0;
  if (isWhole) {
    disks.close();
    stage.close();
  } else tell(`what is left, images and logs, is kept in ${stage.folder}`);
  return {
    bench: "cluster-power",
    machine: machine(),
    seed,
    synced: !values.unsynced,
    seconds: Number(values.seconds),
    cuts: cuts.length,
    acked: reporters.acknowledged.length,
    lost,
    identical: isSame,
    wrong: wrong.length,
    wrong_shown: wrong.slice(0, WRONG_SHOWN),
    log: cuts.map(({ log }) => log),
    back_ms: cuts.map(({ backMs }) => backMs),
  };
}

process.exitCode = await main();
// What still runs ends with this process.
process.exit();
