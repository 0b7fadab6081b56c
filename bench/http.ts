// bench:http: the real service against servers that do less, in one run. Sides take turns in an order
// drawn anew each round, so that a drift of the machine hits all alike; ratios are taken round by
// round. The generator is wrk, which saturates the server; `--generator autocannon` is the load that
// autocannon can make. CPU is that of the server process, all threads, per answered request.
import { parseArgs } from "node:util";
import { startCerbos, CERBOS_BODY, CERBOS_ROUTE } from "./load/cerbos.ts";
import { cpuByThread, cpuOf, stolenSeconds } from "./load/cpu.ts";
import { type Answered, ask, type Generator, GENERATORS } from "./load/generators.ts";
import { BODIES, HEADERS, ROUTE } from "./load/questions.ts";
import { rounded, seeded, shuffled, type Spread, spreadOf, tableOf, told } from "./load/spread.ts";
import { machine, startFloor, startService } from "./server-process.ts";

const HELP = `npm run bench:http -- [options]

  --generator NAME     wrk (default, Debian's package) or autocannon
  --sides A,B,...      of: uws, allowed, cited, denied, strangers, node, fastify, fastify+whole, cerbos
                       (default: all but cerbos, which npm installs into build/ at its first run)
  --rounds N           rounds, each with every side once (default 12)
  --seconds S          of a side in a round (default 2)
  --connections N      (default 64)
  --http-threads N     of the service (default 1)
  --seed N             of the order of the sides (default 1)
  --smoke              one short round, to see that it works

uws        uWebSockets echo: the body comes back unread. The floor: all ratios are to it.
allowed    verify at L2, allowed, nothing cited
cited      the same with two cited sources, unregistered
denied     verify of an unknown agent at L3, denied, each one in the decision log
strangers  the same of 1,000 unknown agents in turn: no two records alike
node       echo on node:http
fastify    schema of the body and of the answer, a constant verdict of two members
fastify+whole  the same with a key looked up and what a verify answers: its document and headers, made anew
               by its schema; nothing is decided
cerbos     one rule on an attribute of the principal, logs off

A table on stderr: median (10th to 90th percentile of the rounds). One JSON object on the last line.
`;

const FLOOR = "uws";
const SIDES = [
  FLOOR,
  "allowed",
  "cited",
  "denied",
  "strangers",
  "node",
  "fastify",
  "fastify+whole",
  "cerbos",
] as const;
type Side = (typeof SIDES)[number];

interface Server {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<unknown>;
}

interface Started {
  readonly server: Server;
  readonly route: string;
  readonly body: string | readonly string[];
}

interface Round extends Answered {
  readonly userUs: number;
  readonly systemUs: number;
  readonly cpuUs: number;
}

const { values } = parseArgs({
  options: {
    generator: { type: "string", default: "wrk" },
    sides: { type: "string", default: SIDES.filter((side) => side !== "cerbos").join(",") },
    rounds: { type: "string", default: "12" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "64" },
    "http-threads": { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** A service for each kind of question: one's log must not fall into another's rounds. */
async function start(side: Side): Promise<Started> {
  const service = () => startService("--http-threads", values["http-threads"]);
  const of = (server: Server, body: Started["body"], route = ROUTE) => ({ server, body, route });
  if (side === "allowed") return of(await service(), BODIES.plain);
  if (side === "cited") return of(await service(), BODIES.cited);
  if (side === "denied") return of(await service(), BODIES.denied);
  if (side === "strangers") return of(await service(), BODIES.strangers);
  if (side === "cerbos") return of(await startCerbos(), CERBOS_BODY, CERBOS_ROUTE);
  return of(await startFloor(side), BODIES.plain);
}

async function load({ server, route, body }: Started, seconds: number): Promise<Round> {
  const before = cpuOf(server.pid);
  const answered = await ask(values.generator as Generator, {
    url: server.url + route,
    body,
    headers: HEADERS,
    connections: Number(values.connections),
    seconds,
  });
  const after = cpuOf(server.pid);
  const perRequest = (spent: number) => (spent / answered.requests) * 1e6;
  const userUs = perRequest(after.user - before.user);
  const systemUs = perRequest(after.system - before.system);
  return { ...answered, userUs, systemUs, cpuUs: userUs + systemUs };
}

interface Row {
  readonly per_second: Spread;
  readonly cpu_us: Spread;
  readonly user_us: Spread;
  readonly system_us: Spread;
  readonly p99_ms: Spread;
  /** Of the floor, round by round. */
  readonly throughput_ratio: Spread;
  readonly cpu_ratio: Spread;
  readonly errors: number;
  /** CPU seconds of the server's threads since its start. */
  readonly threads: Record<string, number>;
}

function rowOf(rounds: readonly Round[], floor: readonly Round[], pid: number): Row {
  const of = (pick: (round: Round) => number) => spreadOf(rounds.map(pick));
  const ratio = (pick: (round: Round) => number) =>
    spreadOf(rounds.map((round, at) => pick(round) / pick(floor[at]!)));
  const threads = [...cpuByThread(pid)].filter(([, seconds]) => seconds >= 0.1);
  return {
    per_second: of((round) => round.perSecond),
    cpu_us: of((round) => round.cpuUs),
    user_us: of((round) => round.userUs),
    system_us: of((round) => round.systemUs),
    p99_ms: of((round) => round.p99Ms),
    throughput_ratio: ratio((round) => round.perSecond),
    cpu_ratio: ratio((round) => round.cpuUs),
    errors: rounds.reduce((sum, round) => sum + round.errors, 0),
    threads: Object.fromEntries(threads.map(([name, seconds]) => [name, rounded(seconds)])),
  };
}

function print(rows: ReadonlyMap<Side, Row>): void {
  const head = ["", "requests/s", "of uws", "CPU us", "of uws", "user us", "system us", "p99 ms"];
  const lines = [...rows].map(([side, row]) => [
    side,
    told(row.per_second),
    String(row.throughput_ratio.median),
    told(row.cpu_us),
    told(row.cpu_ratio),
    String(row.user_us.median),
    String(row.system_us.median),
    String(row.p99_ms.median),
  ]);
  process.stderr.write(tableOf(head, lines));
}

/** The sides asked for, the floor first whether named or not. @throws Error for another. */
function sidesOf(names: string): Side[] {
  const asked = names.split(",");
  const unknown = asked.find((name) => !(SIDES as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Error(`no side is called \`${unknown}\`: see --help`);
  return SIDES.filter((side) => side === FLOOR || asked.includes(side));
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  if (!(GENERATORS as readonly string[]).includes(values.generator)) {
    throw new Error(`the generator is one of ${GENERATORS.join(", ")}`);
  }
  const sides = sidesOf(values.sides);
  const seconds = values.smoke ? 1 : Number(values.seconds);
  const roundCount = values.smoke ? 1 : Number(values.rounds);
  const random = seeded(Number(values.seed));
  const started = new Map<Side, Started>();
  const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  try {
    for (const side of sides) started.set(side, await start(side));
    for (const side of values.smoke ? [] : sides) await load(started.get(side)!, 2);
    const stolenBefore = stolenSeconds();
    for (let round = 0; round < roundCount; round++) {
      process.stderr.write(`round ${round + 1} of ${roundCount}\n`);
      for (const side of shuffled(sides, random)) {
        rounds.get(side)!.push(await load(started.get(side)!, seconds));
      }
    }
    const stolen = stolenSeconds() - stolenBefore;
    const floor = rounds.get(FLOOR)!;
    const rows = new Map(
      sides.map((side) => [side, rowOf(rounds.get(side)!, floor, started.get(side)!.server.pid)]),
    );
    print(rows);
    const { generator, connections, seed, "http-threads": threads } = values;
    const report = {
      bench: "http",
      machine: machine(),
      stolen_seconds: rounded(stolen),
      generator,
      connections: Number(connections),
      http_threads: Number(threads),
      seed: Number(seed),
      rounds: roundCount,
      seconds,
      sides: Object.fromEntries(rows),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await Promise.all([...started.values()].map(({ server }) => server.stop()));
  }
}

await main();
