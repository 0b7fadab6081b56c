// bench:tail: p50 to p99.9 of verify against the offered rate, up to saturation, in an open loop that is
// corrected for coordinated omission, while the service records outcomes, learns and is queried; then
// what each of these costs the tail at the rate of the bar. Pauses of garbage collection by thread.
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { Company, type Kind, KINDS } from "./load/company.ts";
import { stolenSeconds } from "./load/cpu.ts";
import { agentsOf, startFilled } from "./load/filled-service.ts";
import { numberOf, numbersOf, report, wordsOf } from "./load/flags.ts";
import { openPauseLog } from "./load/gc-pauses.ts";
import type { Plan } from "./load/open-loop.ts";
import { startGenerator } from "./load/open-loop-client.ts";
import { watchOthers } from "./load/others.ts";
import { placementOf } from "./load/placement.ts";
import { rounded, seeded, shuffled, tableOf, told } from "./load/spread.ts";
import { ADMIN_KEY, machine, type ServerProcess } from "./server-process.ts";
import { isSaturated, type Row, rowOf, type Step, stepOf } from "./tail/steps.ts";

const HELP = `npm run bench:tail -- [options]

  --rates A,B,...     offered requests/s, ascending; a round ends at the first that saturates
                      (default 1000,2000,5000,10000,15000,20000,30000,40000)
  --bar-rate N        rate of the bar, p99.9 < 20 ms (default 10000); 0: none
  --seconds S         of a rate in a round (default 5)
  --rounds N          (default 3)
  --connections N     kept alive (default 64)
  --http-threads N    of the service (default 1)
  --levels A,B        tool levels asked for, in turn (default L2)
  --company A,B       what runs meanwhile, of ${KINDS.join(", ")} (default all; "" for none)
  --outcomes N        a second (default 500)
  --history N         outcomes recorded before (default 100000)
  --no-apart          leaves out what each company costs at the rate of the bar
  --no-gc             without pauses of garbage collection
  --pin auto|none|G:S cores of generator and service, as in 3:0-2 (auto: apart from 4 cores on)
  --spin              the generator looks at the clock without a pause: it takes a core
  --also-autocannon   the same rate by autocannon's overallRate, beside the bar
  --seed N            of agents and of the order of companies (default 1)
  --out FILE          the result for bench -- plot
  --smoke             a moment, to see that it works

Latency counts from when a request was due, whatever became of those before. Turned away is 503, an
error anything else that is not 2xx. A table on stderr, one JSON object on the last line of stdout.
`;
const BAR_MS = 20;
const AGENTS_ASKED = 256;
const WARM_UP_SECONDS = 2;

const { values } = parseArgs({
  allowNegative: true,
  options: {
    rates: { type: "string", default: "1000,2000,5000,10000,15000,20000,30000,40000" },
    "bar-rate": { type: "string", default: "10000" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    "http-threads": { type: "string", default: "1" },
    levels: { type: "string", default: "L2" },
    company: { type: "string", default: KINDS.join(",") },
    outcomes: { type: "string", default: "500" },
    history: { type: "string", default: "100000" },
    apart: { type: "boolean", default: true },
    gc: { type: "boolean", default: true },
    pin: { type: "string", default: "auto" },
    spin: { type: "boolean", default: false },
    "also-autocannon": { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function settingsOf() {
  const { smoke } = values;
  if (values.levels === "") throw new Error("--levels takes at least one level");
  const barRate = smoke ? 400 : numberOf("bar-rate", values["bar-rate"]);
  const rates = smoke ? [200, 400] : numbersOf("rates", values.rates, 1);
  return {
    rates: [...new Set([...rates, ...(barRate > 0 ? [barRate] : [])])].toSorted((a, b) => a - b),
    barRate,
    seconds: smoke ? 0.5 : numberOf("seconds", values.seconds, 0.1),
    rounds: smoke ? 1 : numberOf("rounds", values.rounds, 1),
    connections: numberOf("connections", values.connections, 1),
    httpThreads: numberOf("http-threads", values["http-threads"], 1),
    levels: wordsOf("levels", values.levels, ["L0", "L1", "L2", "L3"]),
    company: wordsOf("company", values.company, KINDS),
    outcomes: smoke ? 50 : numberOf("outcomes", values.outcomes, 1),
    history: smoke ? 2000 : numberOf("history", values.history, 1),
    seed: numberOf("seed", values.seed),
    placement: placementOf(values.pin),
  };
}
type Settings = ReturnType<typeof settingsOf>;

/** Verifies about agents of the history, drawn by the seed. */
function bodiesOf({ seed, history, levels }: Settings): string[] {
  const random = seeded(seed);
  return Array.from({ length: AGENTS_ASKED }, (_, at) =>
    JSON.stringify({
      agent_id: `agent://made/${Math.floor(random() * agentsOf(history))}`,
      action: "payments.transfer",
      tool_level: levels[at % levels.length],
      context: { session_duration_sec: 318 },
    }),
  );
}

interface Bench {
  readonly settings: Settings;
  readonly service: ServerProcess;
  readonly company: Company;
  readonly step: (perSecond: number, seconds?: number) => Promise<Step>;
}

/** By rate, the steps of all rounds that came so far. */
async function ladder({ settings, company, step }: Bench): Promise<Map<number, Step[]>> {
  const steps = new Map<number, Step[]>();
  for (let round = 1; round <= settings.rounds; round++) {
    await company.start(settings.company);
    for (const rate of settings.rates) {
      process.stderr.write(`round ${round} of ${settings.rounds}: ${rate}/s\n`);
      const made = await step(rate);
      steps.set(rate, [...(steps.get(rate) ?? []), made]);
      // The bar's rate is always asked for.
      if (isSaturated(made) && rate >= settings.barRate) break;
    }
    await company.stop();
  }
  return steps;
}

/** At the rate of the bar, by turns: alone, with each company, with all. */
async function apart({ settings, company, step }: Bench): Promise<Map<string, Step[]>> {
  const sides: [string, readonly Kind[]][] = [
    ["alone", []],
    ...settings.company.map((kind): [string, Kind[]] => [kind, [kind]]),
    ["all", settings.company],
  ];
  const random = seeded(settings.seed);
  const steps = new Map<string, Step[]>(sides.map(([name]) => [name, []]));
  for (let round = 1; round <= settings.rounds; round++) {
    for (const [name, kinds] of shuffled(sides, random)) {
      process.stderr.write(`company ${round} of ${settings.rounds}: ${name}\n`);
      await company.start(kinds);
      steps.get(name)!.push(await step(settings.barRate));
      await company.stop();
    }
  }
  return steps;
}

/** The other way to a rate: autocannon fills in the values that a stall has kept it from measuring. */
async function byAutocannon({ settings, service, company }: Bench, body: string) {
  await company.start(settings.company);
  const result = await autocannon({
    url: `${service.url}/v1/trust/verify`,
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body,
    connections: settings.connections,
    duration: Math.max(1, settings.seconds),
    overallRate: settings.barRate,
  });
  await company.stop();
  const { p50, p99, p99_9, max } = result.latency;
  const errors = result.errors + result.timeouts + result.non2xx;
  return { p50_ms: p50, p99_ms: p99, p99_9_ms: p99_9, max_ms: max, errors };
}

function print(title: string, rows: readonly (readonly [string, Row])[]): void {
  const head = [title, "answered/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "late ms"];
  head.push("busy", "CPU us", "turned away", "errors", "GC, longest ms");
  const lines = rows.map(([name, row]) => [
    name,
    row.answered_per_second.median.toLocaleString("en"),
    told(row.p50_ms),
    told(row.p99_ms),
    told(row.p99_9_ms),
    String(row.max_ms),
    String(row.generator_late_p99_9_ms),
    String(row.generator_busy),
    String(row.service_cpu_us.median),
    String(row.turned_away),
    String(Object.values(row.errors).reduce((sum, count) => sum + count, 0)),
    Object.entries(row.gc)
      .toSorted(([, one], [, other]) => other.longest_ms - one.longest_ms)
      .slice(0, 2)
      .map(([what, { longest_ms }]) => `${what} ${longest_ms}`)
      .join(", "),
  ]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
}

function isBarMet(row: Row): boolean {
  const isAllAnswered = row.turned_away + row.unsent === 0 && Object.keys(row.errors).length === 0;
  return isAllAnswered && row.p99_9_ms.median < BAR_MS;
}

async function measure(bench: Bench, body: string) {
  const { settings } = bench;
  await bench.step(Math.min(...settings.rates), values.smoke ? 0.2 : WARM_UP_SECONDS);
  const stolenBefore = stolenSeconds();
  const others = watchOthers();
  const steps = await ladder(bench);
  const rows = [...steps].map(([rate, made]) => rowOf(rate, made));
  print(
    "offered/s",
    rows.map((row) => [row.offered_per_second.toLocaleString("en"), row]),
  );
  const isApart = values.apart && settings.barRate > 0 && settings.company.length > 0;
  const sides = isApart ? [...(await apart(bench))] : [];
  const beside = sides.map(([name, made]) => [name, rowOf(settings.barRate, made)] as const);
  if (isApart) print(`beside ${settings.barRate}/s`, beside);
  const atBar = rows.find((row) => row.offered_per_second === settings.barRate);
  const bar = atBar && {
    per_second: settings.barRate,
    p99_9_ms: atBar.p99_9_ms.median,
    bar_ms: BAR_MS,
    is_met: isBarMet(atBar),
  };
  const isWithAutocannon = values["also-autocannon"];
  const other = isWithAutocannon ? await byAutocannon(bench, body) : undefined;
  if (other !== undefined) process.stderr.write(`autocannon: ${JSON.stringify(other)}\n`);
  if (bar !== undefined) {
    const { p99_9_ms, is_met } = bar;
    const found = `${p99_9_ms} ms at ${settings.barRate}/s, bar ${BAR_MS} ms`;
    process.stderr.write(`p99.9 ${found}: ${is_met ? "met" : "missed"}\n`);
  }
  return {
    bar,
    stolen_seconds: rounded(stolenSeconds() - stolenBefore),
    others_share: others(),
    company: bench.company.done(),
    rates: rows,
    ...(isApart ? { beside: Object.fromEntries(beside) } : {}),
    ...(other === undefined ? {} : { autocannon: other }),
  };
}

function headOf(settings: Settings) {
  return {
    bench: "tail",
    machine: machine(),
    pinned: settings.placement.words,
    seconds: settings.seconds,
    rounds: settings.rounds,
    connections: settings.connections,
    http_threads: settings.httpThreads,
    levels: settings.levels,
    meanwhile: settings.company,
    outcomes_per_second: settings.outcomes,
    history: settings.history,
    seed: settings.seed,
  };
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const settings = settingsOf();
  const { placement, seconds, connections } = settings;
  const bodies = bodiesOf(settings);
  const pauses = values.gc ? openPauseLog() : undefined;
  const generator = startGenerator(placement.generator);
  try {
    const service = await startFilled({
      outcomes: settings.history,
      env: pauses?.env ?? {},
      runner: placement.runner,
      flags: ["--http-threads", String(settings.httpThreads)],
    });
    const company = new Company(service, settings.outcomes, placement.generator);
    try {
      const plan = { url: service.url, route: "/v1/trust/verify", key: ADMIN_KEY, bodies };
      const step = (perSecond: number, lasts = seconds) => {
        const offered: Plan = {
          ...plan,
          perSecond,
          seconds: lasts,
          connections,
          isSpinning: values.spin,
        };
        return stepOf(generator, offered, service.pid, pauses);
      };
      const result = await measure({ settings, service, company, step }, bodies[0]!);
      report({ ...headOf(settings), ...result }, values.out);
    } finally {
      await company.close();
      await service.stop();
    }
  } finally {
    await generator.close();
    pauses?.close();
  }
}

await main();
