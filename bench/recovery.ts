// Outage after the process is killed: the service by the command line and limits of its systemd unit, killed under
// load by SIGSEGV and SIGKILL in turn and started again after the unit's pause, until the first verify is answered.
// Fails above two seconds in the median, or when an acknowledged outcome is gone. `--outcomes` (in the directory),
// `--rounds`, `--callers`, `--between` (ms of load before a kill), `--smoke`.
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsed } from "./load/parsed.ts";
import { probePort } from "../src/http/server/port-probe.ts";
import { fillDirectory, metricsOf, untilApplied } from "./load/filled-service.ts";
import { BODIES, HEADERS, ROUTE } from "./load/questions.ts";
import { Supervised } from "./recovery/unit.ts";
import { machine } from "./server-process.ts";

/** Median of the time from the kill to the first verdict. */
const BAR_SECONDS = 2;
const SIGNALS = ["SIGSEGV", "SIGKILL"] as const;
const ASK_EVERY_MS = 5;
/** Of a caller that finds nobody: a generator that only reconnects would take the start's CPU. */
const RETRY_MS = 50;
const START_MS_MAX = 120_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The status of an answer; 0 for none. */
function ask(
  port: number,
  route: string,
  body: string,
  agent: http.Agent | false,
): Promise<number> {
  return new Promise((resolve) => {
    const options = {
      host: "127.0.0.1",
      port,
      path: route,
      method: "POST",
      headers: HEADERS,
      agent,
    };
    const sent = http.request(options, (reply) => {
      reply.resume().on("error", () => resolve(0));
      reply.on("end", () => resolve(reply.complete ? (reply.statusCode ?? 0) : 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}

/** Callers that ask and report without end, over a service that comes and goes. */
class Load {
  answered = 0;
  acknowledged = 0;
  #isOver = false;
  readonly #port: number;
  readonly #agent: http.Agent;
  readonly #callers: Promise<void>[];

  constructor(port: number, callers: number) {
    this.#port = port;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: callers });
    this.#callers = Array.from({ length: callers }, (_, number) => this.#call(number));
  }

  async #call(number: number): Promise<void> {
    const parties = { subject: "agent://made/1", reporter: `agent://bench/r${number}` };
    const outcome = JSON.stringify({ ...parties, outcome: 1, stakes: 1, grade: "escrow" });
    // One in eight reports: what it is told is durable must be there after the kill.
    const isReporter = number % 8 === 0;
    while (!this.#isOver) {
      const [route, body] = isReporter ? ["/v1/outcomes", outcome] : [ROUTE, BODIES.plain];
      const status = await ask(this.#port, route, body, this.#agent);
      if (status === 0) await pause(RETRY_MS);
      else if (isReporter && status === 201) this.acknowledged += 1;
      else if (status === 200) this.answered += 1;
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#agent.destroy();
    await Promise.all(this.#callers);
  }
}

/** Ms until a verify is answered, each try on a connection of its own. */
async function untilAnswered(port: number, supervised: Supervised): Promise<number> {
  const start = performance.now();
  while ((await ask(port, ROUTE, BODIES.plain, false)) !== 200) {
    if (performance.now() - start > START_MS_MAX) throw new Error(`no answer: ${supervised.said}`);
    await pause(ASK_EVERY_MS);
  }
  return performance.now() - start;
}

async function positionOf(port: number): Promise<number> {
  const metrics = await metricsOf(`http://127.0.0.1:${port}`);
  return Number(/^trustrank_journal_position (\d+)/m.exec(metrics)?.[1]);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const seconds = (ms: number) => Number((ms / 1000).toFixed(3));

async function measure(
  folder: string,
  flags: Record<"outcomes" | "rounds" | "callers" | "between", number>,
) {
  const dataDir = path.join(folder, "data");
  await fillDirectory(dataDir, flags.outcomes);
  const port = await probePort("127.0.0.1", 0);
  const supervised = new Supervised(path.join(folder, "etc"), dataDir, port);
  const times = new Map<string, number[]>(SIGNALS.map((signal) => [signal, []]));
  supervised.start();
  try {
    const first = await untilAnswered(port, supervised);
    await untilApplied(`http://127.0.0.1:${port}`, START_MS_MAX);
    const before = await positionOf(port);
    const load = new Load(port, flags.callers);
    for (let round = 0; round < flags.rounds; round++) {
      await pause(flags.between);
      const signal = SIGNALS[round % SIGNALS.length]!;
      process.kill(supervised.pid, signal);
      const ms = await untilAnswered(port, supervised);
      times.get(signal)!.push(ms);
      process.stderr.write(`${signal}: ${seconds(ms)} s\n`);
    }
    await load.end();
    const lost = Math.max(0, before + load.acknowledged - (await positionOf(port)));
    const all = [...times.values()].flat();
    return {
      outcomes: flags.outcomes,
      callers: flags.callers,
      first_start_seconds: seconds(first),
      restart_pause_seconds: seconds(supervised.pauseMs),
      ends: supervised.ends,
      seconds_median: seconds(median(all)),
      seconds_max: seconds(Math.max(...all)),
      seconds_by_signal: Object.fromEntries(
        [...times].map(([signal, each]) => [signal, each.map(seconds)]),
      ),
      bar_seconds: BAR_SECONDS,
      answered: load.answered,
      acknowledged: load.acknowledged,
      lost,
    };
  } finally {
    await supervised.stop();
  }
}

const { values } = parsed(import.meta.filename, {
  options: {
    outcomes: { type: "string", default: "100000" },
    rounds: { type: "string", default: "10" },
    callers: { type: "string", default: "32" },
    between: { type: "string", default: "2000" },
    smoke: { type: "boolean", default: false },
  },
});
const smoke = { outcomes: 500, rounds: 2, callers: 8, between: 200 };
const asked = {
  outcomes: Number(values.outcomes),
  rounds: Number(values.rounds),
  callers: Number(values.callers),
  between: Number(values.between),
};
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-recovery-"));
try {
  const figures = await measure(folder, values.smoke ? smoke : asked);
  process.stdout.write(`${JSON.stringify({ ...figures, machine: machine() })}\n`);
  const isSlow = !values.smoke && figures.seconds_median > BAR_SECONDS;
  process.exitCode = figures.lost > 0 || isSlow ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
