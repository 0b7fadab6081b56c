// bench:kernel: nanoseconds per read and fold of the engine, bytes per agent, and the same read by
// the plain JavaScript reference. Tasks run interleaved within one process; medians are quoted.
// One JSON object on the last line of stdout. `--smoke` runs everything tiny (inside the tests).
import { cpus } from "node:os";
import { Bench } from "tinybench";
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import type { FoldOutcome } from "../src/engine/reading.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import { ReferenceBureau } from "../test/reference/score.ts";

const NOW_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
/** Operations per timed sample: far above the timer's resolution. */
const BATCH = 2000;

/** Small deterministic generator (mulberry32): the same table on every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function outcomeAbout(subject: string, reporter: string, random: () => number): FoldOutcome {
  return {
    subject,
    reporter,
    outcome: random() < 0.9 ? 1 : 0,
    stakes: Math.exp(random() * 7),
    gradeIndex: 3,
    signatureIndex: 2,
    settledAtMs: NOW_MS - random() * 60 * DAY_MS,
  };
}

function openTable(agents: number) {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 42n);
  const reader = openEngineReader(memory, 1);
  const ids = Array.from({ length: agents }, (_, i) => `agent://bench/a${i}`);
  const random = generator(7);
  for (let i = 0; i < agents; i++) {
    const reporter = ids[Math.floor(random() * agents)]!;
    writer.fold(outcomeAbout(ids[i]!, reporter, random));
  }
  return { writer, reader, ids };
}

type Table = ReturnType<typeof openTable>;

/**
 * Identifiers in uniform random order, which defeats every cache of the table. Each is a string of
 * its own, made in the order of use: a request's identifier was just parsed and is itself warm.
 */
function shuffled(ids: readonly string[], count: number, seed: number): string[] {
  const random = generator(seed);
  return Array.from({ length: count }, () =>
    Buffer.from(ids[Math.floor(random() * ids.length)]!).toString("latin1"),
  );
}

function checkBatch(table: Table, order: readonly string[]): () => void {
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      table.reader.check(order[at]!, 25, NOW_MS);
      at = at + 1 === order.length ? 0 : at + 1;
    }
  };
}

function handshakeBatch(table: Table, order: readonly string[]): () => void {
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      const next = at + 1 === order.length ? 0 : at + 1;
      table.reader.handshake(order[at]!, order[next]!, 25, NOW_MS);
      at = next;
    }
  };
}

function foldBatch(table: Table, order: readonly string[]): () => void {
  const random = generator(9);
  const outcomes = order.map((subject, i) =>
    outcomeAbout(subject, order[(i * 31 + 7) % order.length]!, random),
  );
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      table.writer.fold(outcomes[at]!);
      at = at + 1 === outcomes.length ? 0 : at + 1;
    }
  };
}

function rangeBatch(table: Table): () => void {
  let first = 0;
  return () => {
    const written = table.reader.scoreRange(first, 1000, NOW_MS).length;
    first = written < 1000 ? 0 : first + written;
  };
}

function referenceBatch(agents: number): () => void {
  const reference = new ReferenceBureau(loadDefaultConfig());
  const random = generator(7);
  const ids = Array.from({ length: agents }, (_, i) => `agent://bench/a${i}`);
  for (const id of ids) {
    reference.fold(outcomeAbout(id, ids[Math.floor(random() * agents)]!, random));
  }
  const order = shuffled(ids, agents * 4, 3);
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      reference.score(order[at]!, null, 25, NOW_MS);
      at = at + 1 === order.length ? 0 : at + 1;
    }
  };
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: { smoke: { type: "boolean", default: false } },
  });
  const isSmoke = values.smoke;
  const large = isSmoke ? 5000 : 1_000_000;
  process.stderr.write(`building tables of 1,000 and ${large.toLocaleString("en")} agents\n`);
  const small = openTable(1000);
  const big = openTable(large);
  const bytes = big.writer.readTableByteCounts();
  const order = shuffled(big.ids, isSmoke ? 5000 : 400_000, 3);
  const smallOrder = shuffled(small.ids, 20_000, 3);
  const bench = new Bench({
    time: isSmoke ? 10 : 3000,
    warmupTime: isSmoke ? 5 : 500,
    warmupIterations: 2,
    iterations: 3,
  });
  bench
    .add("check", checkBatch(small, smallOrder))
    .add("check at large", checkBatch(big, order))
    .add("handshake", handshakeBatch(small, smallOrder))
    .add("fold", foldBatch(small, smallOrder))
    .add("range", rangeBatch(big))
    .add("reference", referenceBatch(1000));
  await bench.run();
  const nanoseconds = (name: string, operations = BATCH): number => {
    const result = bench.getTask(name)!.result;
    if (result.state !== "completed") throw new Error(`${name} did not complete`);
    return Number(((result.latency.p50 * 1e6) / operations).toFixed(1));
  };
  const check = nanoseconds("check");
  const report = {
    ns_per_check: check,
    ns_per_check_1m_agents: nanoseconds("check at large"),
    lookup_ratio_1m_to_1k: Number((nanoseconds("check at large") / check).toFixed(2)),
    ns_per_leg: nanoseconds("handshake") / 2,
    ns_per_fold: nanoseconds("fold"),
    rows_per_second_batch: Math.round(1e9 / nanoseconds("range", 1000)),
    reference_js_ns: nanoseconds("reference"),
    bytes_per_agent: (bytes.rowBytes + bytes.indexBytes + bytes.identifierBytes) / bytes.agents,
    bytes_per_pair: bytes.pairBytes / bytes.pairs,
    agents: bytes.agents,
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, node ${process.version}`,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

await main();
