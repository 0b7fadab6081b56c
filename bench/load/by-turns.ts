// Sides of a comparison by turns: each round loads every side once, by wrk unless told otherwise, in an
// order drawn anew, and ratios are taken round by round, so that a drift of the machine hits all alike.
import { cpuOf } from "./cpu.ts";
import { ask, type Generator } from "./generators.ts";
import { HEADERS } from "./questions.ts";
import { seeded, shuffled, type Spread, spreadOf } from "./spread.ts";

export interface Side {
  readonly name: string;
  readonly server: { readonly url: string; readonly pid: number };
  readonly route: string;
  /** Undefined asks by GET. */
  readonly body: string | readonly string[] | undefined;
  /** What one request asks for; 1 if not given. */
  readonly items?: number;
}

export interface Turns {
  readonly rounds: number;
  /** Of a side in a round. */
  readonly seconds: number;
  readonly connections: number;
  readonly seed: number;
  /** Seconds of each side before the first round; 0 for none. */
  readonly warmUpSeconds: number;
}

/** Of one item; CPU of the server process, all threads, microseconds. */
export interface Row {
  readonly cpu_us: Spread;
  readonly user_us: Spread;
  readonly system_us: Spread;
  readonly per_second: Spread;
  readonly p99_ms: Spread;
  /** CPU, of the first side, round by round. */
  readonly ratio: Spread;
}

interface Turn {
  readonly userUs: number;
  readonly systemUs: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** @throws Error when a request fails. */
export async function loadOnce(
  side: Side,
  {
    seconds,
    connections,
    generator = "wrk",
  }: Pick<Turns, "seconds" | "connections"> & { readonly generator?: Generator },
): Promise<Turn> {
  const { server, route, body, items = 1 } = side;
  const before = cpuOf(server.pid);
  const url = server.url + route;
  const answered = await ask(generator, { url, body, headers: HEADERS, connections, seconds });
  const after = cpuOf(server.pid);
  if (answered.errors > 0) throw new Error(`${answered.errors} requests of ${side.name} failed`);
  const perItem = (spent: number) => (spent / answered.requests / items) * 1e6;
  return {
    userUs: perItem(after.user - before.user),
    systemUs: perItem(after.system - before.system),
    perSecond: answered.perSecond * items,
    p99Ms: answered.p99Ms,
  };
}

/** Rows by name of side. */
export async function byTurns(sides: readonly Side[], turns: Turns): Promise<Record<string, Row>> {
  const random = seeded(turns.seed);
  const found = new Map<Side, Turn[]>(sides.map((side) => [side, []]));
  if (turns.warmUpSeconds > 0) {
    for (const side of sides) await loadOnce(side, { ...turns, seconds: turns.warmUpSeconds });
  }
  for (let round = 0; round < turns.rounds; round += 1) {
    process.stderr.write(`round ${round + 1} of ${turns.rounds}\n`);
    for (const side of shuffled(sides, random)) found.get(side)!.push(await loadOnce(side, turns));
  }
  const first = found.get(sides[0]!)!;
  return Object.fromEntries(sides.map((side) => [side.name, rowOf(found.get(side)!, first)]));
}

const cpuUs = ({ userUs, systemUs }: Turn): number => userUs + systemUs;

function rowOf(turns: readonly Turn[], first: readonly Turn[]): Row {
  const of = (pick: (turn: Turn) => number) => spreadOf(turns.map(pick));
  return {
    cpu_us: of(cpuUs),
    user_us: of(({ userUs }) => userUs),
    system_us: of(({ systemUs }) => systemUs),
    per_second: of(({ perSecond }) => perSecond),
    p99_ms: of(({ p99Ms }) => p99Ms),
    ratio: spreadOf(turns.map((turn, round) => cpuUs(turn) / cpuUs(first[round]!))),
  };
}
