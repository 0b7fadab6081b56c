// One chaos run: the parts started, faults in a seeded order under reports and reads, quiet, and the judgement
// of history, journals and tables.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import { setTimeout as wait } from "node:timers/promises";
import { quantile } from "../../bench/raw-client.ts";
import { machine } from "../../bench/server-process.ts";
import { LONG_FAULTS } from "./cuts.ts";
import { allWell, type Fault, FAULTS, type Ground } from "./faults.ts";
import {
  countLate,
  haveOneHistory,
  judge,
  judgeOrder,
  type Outage,
  readJournal,
} from "./history.ts";
import { createKeyFigures } from "./key-judge.ts";
import { LogServer, ServiceNode, startServers, streamState, until } from "./parts.ts";
import type { ReadFigures, ReaderData, ToReader } from "./reader-thread.ts";
import { AGENTS, evidenceOf, Reporters } from "./reporters.ts";
import { COUNT, SMALL, Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Parts of names of faults. */
  readonly only: readonly string[];
  readonly isOnce: boolean;
  /** How long the cuts of a long fault last. */
  readonly cutSeconds: number;
  /** Leave journals and logs behind. */
  readonly isKept: boolean;
  readonly program: string;
  readonly tell: (line: string) => void;
}

const SMALL_BYTES = 192 * 1024 * 1024;
const BYTES_PER_SECOND = 256 * 1024;
const REST_MS = 3000;
const REST_SHORT_MS = 500;
/** Between two reads, and two reports, of a lane; in the short form three quarters of the load are not needed. */
const READ_PAUSE_MS = 10;
const READ_PAUSE_SHORT_MS = 50;
const REPORT_PAUSE_SHORT_MS = 75;
const WRONG_SHOWN = 5;
const SENTENCE_LENGTH_MAX = 400;
/** Sums decay with time, and nodes are asked one after the other. */
const TOLERANCE = 1e-3;

export type ChaosReport = Awaited<ReturnType<typeof chaosRun>>;

export async function chaosRun(options: ChaosOptions) {
  const { seed, seconds, tell } = options;
  const folder = mkdtempSync(path.join(tmpdir(), "trustrank-chaos-"));
  const stage = await Stage.open(folder, SMALL_BYTES + seconds * BYTES_PER_SECOND);
  tell(`seed ${seed}\n   began   lasted  no receipt`);
  const random = seededRandom(seed);
  const parts = makeParts(stage, options.program);
  await startServers(parts.servers, ({ at }) => {
    rmSync(path.join(stage.disk("server", at), "jetstream"), { recursive: true, force: true });
  });
  startNodes(parts.nodes);
  const { nodes, servers } = parts;
  const readers = new Worker(new URL("reader-thread.ts", import.meta.url), {
    workerData: {
      urls: nodes.map(({ url }) => url),
      pauseMs: options.isOnce ? READ_PAUSE_SHORT_MS : READ_PAUSE_MS,
    } satisfies ReaderData,
  });
  const phase = (isQuiet: boolean, without: readonly number[]) => {
    readers.postMessage({ kind: "phase", isQuiet, without } satisfies ToReader);
  };
  const urls = nodes.map(({ url }) => url);
  const reportPauseMs = options.isOnce ? REPORT_PAUSE_SHORT_MS : undefined;
  const reporters = new Reporters(urls, random, `run${seed}`, reportPauseMs);
  const acknowledge = () => reporters.probe();
  const keys = createKeyFigures();
  const hit = (nodesHit: readonly number[]) => phase(false, nodesHit);
  const cutMs = options.cutSeconds * 1000;
  const ground: Ground = { stage, ...parts, random, hit, acknowledge, cutMs, keys };
  phase(false, [0, 1, 2]);
  await allWell(ground);
  reporters.start();
  const quiet = (isQuiet: boolean) => phase(isQuiet, []);
  const played = await playFaults(ground, options, reporters, quiet).catch((error: unknown) => {
    tell(`what is left is kept in ${keepAll(stage, nodes)}`);
    throw error;
  });
  tell("quiet");
  await reporters.stop();
  const read = once(readers, "message") as Promise<[ReadFigures]>;
  readers.postMessage({ kind: "end" } satisfies ToReader);
  const [reads] = await read;
  const tables = await compareTables(nodes);
  const isLevel = await allSame(ground);
  // All at once: a node that ends in peace has something to say to the others.
  await Promise.all(nodes.map((node) => node.end("SIGKILL")));
  for (const server of servers) await server.end("SIGKILL");
  const journals = nodes.map(({ dataDir }) => readJournal(dataDir));
  const { acknowledged } = reporters;
  const found = journals.map((journal, at) => judge(acknowledged, journal, `node ${at + 1}`));
  const order = judgeOrder(acknowledged);
  const unasked = [...servers, ...nodes].flatMap((part) => part.unasked);
  const wrong = [...reporters.wrong, ...found.flatMap((each) => each.wrong), ...order, ...tables];
  const isSame =
    isLevel &&
    haveOneHistory(
      nodes.map(({ dataDir }) => dataDir),
      journals,
    );
  const count = (wanted: string) => acknowledged.filter(({ verdict }) => verdict === wanted).length;
  const report = {
    bench: "cluster-chaos",
    machine: machine(),
    seed,
    seconds,
    acked: acknowledged.length,
    recorded: count("recorded"),
    duplicates: count("duplicate"),
    conflicts: count("conflict"),
    lost: Math.max(...found.map(({ lost }) => lost)),
    identical: isSame && tables.length === 0,
    wrong: wrong.length,
    wrong_shown: wrong.slice(0, WRONG_SHOWN).map((text) => text.slice(0, SENTENCE_LENGTH_MAX)),
    stale: keys.stale,
    wrong_keys: keys.wrongKeys,
    refused_fresh: keys.freshOf === 0 ? 0 : keys.refusedFresh / keys.freshOf,
    keys_judged: {
      stale: keys.staleOf,
      wrong_keys: keys.wrongKeysOf,
      refused_fresh: [keys.refusedFresh, keys.freshOf],
      shown: keys.shown,
    },
    long_faults: played.filter(({ isLong }) => isLong).length,
    late_acks: countLate(
      acknowledged,
      played.map(({ outage }) => outage),
    ),
    longest_ack_ms: reporters.slowest.ms,
    slowest: reporters.slowest,
    faults: played.length,
    played: Object.fromEntries(
      played.map(({ name, ms, pauseMs }, at) => [`${at + 1} ${name}`, [ms, pauseMs]]),
    ),
    journal: { lsn: journals[0]!.lsn, segments: journals[0]!.segments },
    refused: Object.fromEntries(reporters.refused),
    unknown: reporters.unknown,
    read_back: reporters.readBack,
    reads: figuresOf(reads),
    interventions: interventionsOf(nodes),
    ended_unasked: unasked,
  };
  const isBroken = options.isKept || wrong.length > 0 || report.lost > 0 || !report.identical;
  if (isBroken) tell(`what is left is kept in ${keepAll(stage, parts.nodes)}`);
  else stage.close();
  return report;
}

/** None of them started; `sync` is how the servers sync. */
export function makeParts(stage: Stage, program: string, sync = "always") {
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const servers = Array.from({ length: COUNT }, (_, at) => {
    return new LogServer(stage, at, program, sync);
  });
  const nodes = Array.from({ length: stage.counts.node }, (_, at) => {
    return new ServiceNode(stage, at, servers, key);
  });
  return { servers, nodes };
}

export function startNodes(nodes: readonly ServiceNode[]): void {
  for (const node of nodes) {
    node.prepare();
    node.start();
  }
}

interface Played {
  readonly name: string;
  /** From its beginning until all answered again. */
  readonly ms: number;
  /** Longest time without any acknowledgement. */
  readonly pauseMs: number;
  /** Empty while a majority of the servers was there. */
  readonly outage: Outage;
  readonly isLong: boolean;
}

/** Plays faults in rounds of all kinds, each round in another order. */
async function playFaults(
  ground: Ground,
  { seconds, only, isOnce, tell }: ChaosOptions,
  reporters: Reporters,
  rest: (isQuiet: boolean) => void,
): Promise<Played[]> {
  const isNamed = only.some((text) => text !== "");
  const possible = [...FAULTS, ...LONG_FAULTS].filter(
    ({ isPrivate = false, isLong = false, name }) =>
      (!isPrivate || ground.stage.isPrivate) &&
      (!isLong || !isOnce || isNamed) &&
      only.some((text) => name.includes(text)),
  );
  const played: Played[] = [];
  const begunAt = performance.now();
  const told = (ms: number) => (ms / 1000).toFixed(1).padStart(6);
  const endsAt = performance.now() + seconds * 1000;
  for (let round: Fault[] = []; ;) {
    rest(true);
    await wait(isOnce ? REST_SHORT_MS : REST_MS);
    if (round.length === 0) {
      if (isOnce && played.length > 0) break;
      round = shuffled(possible, ground.random);
    }
    if (!isOnce && performance.now() >= endsAt) break;
    const fault = round.pop()!;
    const startedAt = performance.now();
    rest(false);
    await fault.act(ground);
    const outageMs = fault.takesMajority === true ? performance.now() - startedAt : 0;
    await allWell(ground);
    const ms = Math.round(performance.now() - startedAt);
    const pauseMs = Math.round(reporters.pauseSince(startedAt));
    const outage = { fromMs: startedAt, toMs: startedAt + outageMs };
    played.push({ name: fault.name, ms, pauseMs, outage, isLong: fault.isLong === true });
    tell(`${told(startedAt - begunAt)} s  ${told(ms)} s  ${told(pauseMs)} s  ${fault.name}`);
  }
  return played;
}

/** Whether the nodes' journals come to one length and stay there, within a minute: ticks leave no record in them. */
export async function allSame({ servers, nodes }: Ground): Promise<boolean> {
  let before: unknown;
  return until(
    async () => {
      const isLed = (await streamState(servers)) !== undefined;
      const lsns = nodes.map(({ dataDir }) => lsnOf(dataDir));
      const isSame =
        isLed &&
        lsns.every(Number.isFinite) &&
        new Set(lsns).size === 1 &&
        isDeepStrictEqual(lsns, before);
      before = lsns;
      if (!isSame) await wait(1000);
      return isSame;
    },
    "the nodes do not reach the same place",
    60_000,
  ).then(
    () => true,
    () => false,
  );
}

/** Of a running node; NaN while it writes. */
function lsnOf(dataDir: string): number {
  try {
    return readJournal(dataDir).lsn;
  } catch {
    return Number.NaN;
  }
}

/** Agents whose evidence the nodes count differently. */
export async function compareTables(nodes: readonly ServiceNode[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const agent of AGENTS) {
    const counted = await Promise.all(nodes.map(({ url }) => evidenceOf(url, agent)));
    const [first, ...others] = counted;
    for (const [at, other] of others.entries()) {
      if (!isNear(first!, other)) {
        wrong.push(`node ${at + 2} counts ${agent} differently: ${JSON.stringify([first, other])}`);
      }
    }
  }
  return wrong;
}

function isNear(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  const names = Object.keys(one);
  if (names.length === 0 || names.length !== Object.keys(other).length) return false;
  return names.every((name) => {
    const [a, b] = [one[name], other[name]];
    if (typeof a !== "number" || typeof b !== "number") return a === b;
    const slack = Number.isInteger(a) && Number.isInteger(b) ? 0 : TOLERANCE;
    return Math.abs(a - b) <= slack * Math.max(1, Math.abs(a));
  });
}

function figuresOf({ quiet, faulted, failed }: ReadFigures) {
  const ms = (values: readonly number[]) => ({
    count: values.length,
    p50: rounded(quantile([...values], 0.5)),
    p99: rounded(quantile([...values], 0.99)),
  });
  const shown = failed.slice(0, WRONG_SHOWN);
  return { quiet: ms(quiet), during_faults: ms(faulted), failed: failed.length, shown };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** What the nodes' logs warn of, counted over all. */
function interventionsOf(nodes: readonly ServiceNode[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const node of nodes) {
    for (const [event, times] of node.warnings()) sum[event] = (sum[event] ?? 0) + times;
  }
  return sum;
}

/** The small disks go with the tool: what they hold is copied beside them. */
function keepAll(stage: Stage, nodes: readonly ServiceNode[]): string {
  const { folder } = stage;
  const journal = path.join(nodes[SMALL]!.dataDir, "journal");
  cpSync(journal, path.join(folder, "kept", "journal"), { recursive: true });
  cpSync(stage.disk("server", SMALL), path.join(folder, "kept", "server"), { recursive: true });
  return folder;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
  return order;
}

/** mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
