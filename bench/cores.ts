// Verify over 1 to 15 HTTP threads, as cores allow: requests/s, CPU of a request, how
// evenly connections came to threads and what was the limit; then readers beside a writer that folds
// and grows the table, each reading held against the states that there really were.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { HTTP_THREADS_MAX } from "../src/threads/scoring/modes.ts";
import { type Evenness, evennessOf, type Limit, limitOf, markOf } from "./cores/evenness.ts";
import { tornReads } from "./cores/torn-reads.ts";
import { endingWithMe } from "./load/children.ts";
import { cpuOf, stolenSeconds } from "./load/cpu.ts";
import { numberOf, numbersOf, report, wordsOf } from "./load/flags.ts";
import { type Answered, ask, type Generator, GENERATORS } from "./load/generators.ts";
import { BODIES, HEADERS, ROUTE } from "./load/questions.ts";
import { watchOthers } from "./load/others.ts";
import { rounded, seeded, shuffled, type Spread, spreadOf, tableOf, told } from "./load/spread.ts";
import { machine, type ServerProcess, startService } from "./server-process.ts";

const THREADS = [1, 2, 4, 8, HTTP_THREADS_MAX];
const HELP = `npm run bench -- cores [options]

  --threads A,B,...   HTTP threads of the services, 1 to ${HTTP_THREADS_MAX} (default ${THREADS.join(",")}, no more than cores)
  --connections N     over all generators (default 64)
  --generators N      processes of wrk (default: as many as threads, at most half of the cores)
  --generator NAME    wrk (default) or autocannon
  --seconds S         of a service in a round (default 3)
  --rounds N          (default 6)
  --torn-seconds S    of the readers beside a writer (default 10); 0: none
  --readers N         threads of it, 1 to ${HTTP_THREADS_MAX} (default: as many as cores)
  --seed N            of the order in a round (default 1)
  --out FILE          the result for bench -- plot
  --smoke             a moment, to see that it works

Limits: "HTTP threads" (all full), "skew of connections" (one full, another not), "cores" (the machine has no
idle time), "callers" (none of these: more connections or generators would get more). A table on stderr,
median (10th to 90th percentile of the rounds), one JSON object on the last line of stdout. Ends with 1
when a reading was torn.
`;
const FOLDS = 400_000;

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "" },
    connections: { type: "string", default: "64" },
    generators: { type: "string", default: "" },
    generator: { type: "string", default: "wrk" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "6" },
    "torn-seconds": { type: "string", default: "10" },
    readers: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function settingsOf(cores: number) {
  const { smoke } = values;
  const asked =
    values.threads === ""
      ? THREADS.filter((threads) => threads <= cores)
      : numbersOf("threads", values.threads, 1);
  const tooMany = [...asked, Number(values.readers)].find((count) => count > HTTP_THREADS_MAX);
  if (tooMany !== undefined) throw new Error(`at most ${HTTP_THREADS_MAX} threads, not ${tooMany}`);
  const [generator] = wordsOf("generator", values.generator, GENERATORS);
  return {
    threads: smoke ? [1, 2] : asked,
    connections: numberOf("connections", values.connections, 1),
    generators: values.generators === "" ? undefined : numberOf("generators", values.generators, 1),
    generator: generator ?? "wrk",
    seconds: smoke ? 1 : numberOf("seconds", values.seconds, 1),
    rounds: smoke ? 1 : numberOf("rounds", values.rounds, 1),
    tornSeconds: smoke ? 0.1 : numberOf("torn-seconds", values["torn-seconds"]),
    readers:
      values.readers === ""
        ? Math.min(cores, HTTP_THREADS_MAX)
        : numberOf("readers", values.readers, 1),
    folds: smoke ? 20_000 : FOLDS,
    seed: numberOf("seed", values.seed),
  };
}
type Settings = ReturnType<typeof settingsOf>;

interface Round {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly p99Ms: number;
  readonly errors: number;
  readonly evenness: Evenness;
  readonly limit: Limit;
}

/** Several generators at once: one has a single thread. */
async function askBy(
  generator: Generator,
  count: number,
  { connections, seconds }: Settings,
  url: string,
): Promise<Answered[]> {
  const question = { url: url + ROUTE, body: BODIES.plain, headers: HEADERS, seconds };
  const each = Math.max(1, Math.round(connections / count));
  return Promise.all(
    Array.from({ length: count }, () => ask(generator, { ...question, connections: each })),
  );
}

async function load(
  service: ServerProcess,
  threads: number,
  cores: number,
  settings: Settings,
): Promise<Round> {
  const count = settings.generators ?? Math.max(1, Math.min(threads, Math.floor(cores / 2)));
  const [before, cpuBefore] = [await markOf(service.url), cpuOf(service.pid)];
  const answers = await askBy(settings.generator, count, settings, service.url);
  const [cpuAfter, after] = [cpuOf(service.pid), await markOf(service.url)];
  const spent = cpuAfter.user + cpuAfter.system - cpuBefore.user - cpuBefore.system;
  const sum = (pick: (answered: Answered) => number) =>
    answers.reduce((total, answered) => total + pick(answered), 0);
  const evenness = evennessOf(before, after, cores);
  return {
    perSecond: sum(({ perSecond }) => perSecond),
    cpuUs: (spent / sum(({ requests }) => requests)) * 1e6,
    p99Ms: Math.max(...answers.map(({ p99Ms }) => p99Ms)),
    errors: sum(({ errors }) => errors),
    evenness,
    limit: limitOf(evenness),
  };
}

interface Row {
  readonly threads: number;
  readonly per_second: Spread;
  /** Of the least threads' service, round by round. */
  readonly speed_up: Spread;
  readonly cpu_us: Spread;
  readonly p99_ms: Spread;
  readonly most_to_mean: Spread;
  readonly least_to_mean: Spread;
  readonly busy: Spread;
  readonly machine_idle: Spread;
  readonly limits: Readonly<Partial<Record<Limit, number>>>;
  /** Answers by thread, over all rounds. */
  readonly by_thread: readonly number[];
  readonly errors: number;
}

function rowOf(threads: number, rounds: readonly Round[], base: readonly Round[]): Row {
  const of = (pick: (round: Round) => number) => spreadOf(rounds.map(pick));
  const limits: Partial<Record<Limit, number>> = {};
  for (const { limit } of rounds) limits[limit] = (limits[limit] ?? 0) + 1;
  return {
    threads,
    per_second: of(({ perSecond }) => perSecond),
    speed_up: spreadOf(rounds.map(({ perSecond }, at) => perSecond / base[at]!.perSecond)),
    cpu_us: of(({ cpuUs }) => cpuUs),
    p99_ms: of(({ p99Ms }) => p99Ms),
    most_to_mean: of(({ evenness }) => evenness.most_to_mean),
    least_to_mean: of(({ evenness }) => evenness.least_to_mean),
    busy: spreadOf(rounds.flatMap(({ evenness }) => evenness.busy)),
    machine_idle: of(({ evenness }) => evenness.machine_idle),
    limits,
    by_thread: Array.from({ length: threads }, (_, thread) =>
      rounds.reduce((sum, { evenness }) => sum + evenness.requests[thread]!, 0),
    ),
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
  };
}

function print(rows: readonly Row[]): void {
  const head = ["HTTP threads", "requests/s", "speed-up", "CPU us", "p99 ms", "most/mean"];
  head.push("least/mean", "busy", "idle", "errors", "limit (rounds)");
  const lines = rows.map((row) => [
    String(row.threads),
    told(row.per_second),
    told(row.speed_up),
    told(row.cpu_us),
    String(row.p99_ms.median),
    told(row.most_to_mean),
    told(row.least_to_mean),
    told(row.busy),
    String(row.machine_idle.median),
    String(row.errors),
    Object.entries(row.limits)
      .map(([limit, count]) => `${limit} ${count}`)
      .join(", "),
  ]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
}

async function measure(settings: Settings, cores: number): Promise<Row[]> {
  const services = new Map<number, ServerProcess>();
  const rounds = new Map<number, Round[]>(settings.threads.map((threads) => [threads, []]));
  const random = seeded(settings.seed);
  try {
    for (const threads of settings.threads) {
      const service = await startService("--http-threads", String(threads));
      services.set(threads, endingWithMe(service));
    }
    for (const [threads, service] of values.smoke ? [] : services) {
      await load(service, threads, cores, settings);
    }
    for (let round = 1; round <= settings.rounds; round++) {
      process.stderr.write(`round ${round} of ${settings.rounds}\n`);
      for (const threads of shuffled(settings.threads, random)) {
        rounds.get(threads)!.push(await load(services.get(threads)!, threads, cores, settings));
      }
    }
  } finally {
    await Promise.all([...services.values()].map((service) => service.stop()));
  }
  const base = rounds.get(Math.min(...settings.threads))!;
  return settings.threads.map((threads) => rowOf(threads, rounds.get(threads)!, base));
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const cores = availableParallelism();
  const settings = settingsOf(cores);
  const stolenBefore = stolenSeconds();
  const others = watchOthers();
  const rows = await measure(settings, cores);
  const stolen = rounded(stolenSeconds() - stolenBefore);
  print(rows);
  const others_share = others();
  const { readers, tornSeconds, folds } = settings;
  const torn = tornSeconds > 0 ? await tornReads(readers, tornSeconds, folds) : undefined;
  if (torn !== undefined) {
    const { readings, states_seen, folds: folded } = torn;
    const found = `${torn.torn} torn, ${torn.backwards} backwards`;
    const read = `${readings.toLocaleString("en")} readings by ${readers} threads`;
    const beside = `beside ${folded.toLocaleString("en")} folds, ${states_seen} states met`;
    process.stderr.write(`${read} ${beside}: ${found}\n`);
    if (torn.torn + torn.backwards > 0) process.exitCode = 1;
  }
  const { generator, connections, rounds, seconds, seed } = settings;
  const head = { bench: "cores", machine: machine(), stolen_seconds: stolen, others_share, cores };
  const flags = { generator, connections, rounds, seconds, seed };
  report({ ...head, ...flags, rows, torn_reads: torn }, values.out);
}

await main();
