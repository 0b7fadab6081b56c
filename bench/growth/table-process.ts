// Process of one size of the agent table: builds it by folding, then reads and folds at random. A process
// of its own for each, so that no table lies beside another's garbage. `node table-process.ts <agents>
// <samples> <rounds>`; one JSON object on stdout.
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import { seeded } from "../load/spread.ts";

const NOW_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const BLOCKS = 20;

/** Times are nanoseconds of CPU of a call, by block; bytes are live. */
export interface TableSize {
  readonly agents: number;
  readonly pairs: number;
  readonly row_bytes: number;
  readonly index_bytes: number;
  readonly identifier_bytes: number;
  readonly pair_bytes: number;
  readonly resident_bytes: number;
  readonly build_seconds: number;
  readonly lookup_ns: readonly number[];
  readonly fold_ns: readonly number[];
}

const [agents, samples, rounds] = process.argv.slice(2).map(Number) as [number, number, number];
const random = seeded(agents);
const nameOf = (at: number) => `agent://bench/a${at}`;
/** Made in the order of use: the identifier of a request was just parsed and is itself warm. */
const drawn = () => Buffer.from(nameOf(Math.floor(random() * agents))).toString("latin1");

function outcomeAbout(subject: string): FoldOutcome {
  return {
    subject,
    reporter: nameOf(Math.floor(random() * agents)),
    outcome: random() < 0.9 ? 1 : 0,
    stakes: Math.exp(random() * 7),
    gradeIndex: 3,
    signatureIndex: 2,
    settledAtMs: NOW_MS - random() * 60 * DAY_MS,
  };
}

const memory = createEngineMemory();
const writer = openEngineWriter(memory, loadDefaultConfig(), 42n);
const reader = openEngineReader(memory, 1);
const startedAt = performance.now();
for (let at = 0; at < agents; at++) writer.fold(outcomeAbout(nameOf(at)));
const buildSeconds = (performance.now() - startedAt) / 1000;

const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Nanoseconds of one call, by block: CPU, so that what else runs does not count. */
function timed<Item>(items: readonly Item[], call: (item: Item) => void): number[] {
  const size = Math.floor(items.length / BLOCKS);
  return Array.from({ length: BLOCKS }, (_, block) => {
    const from = cpuUs();
    for (let at = block * size; at < (block + 1) * size; at++) call(items[at]!);
    return ((cpuUs() - from) / size) * 1e3;
  });
}

const bytes = writer.readTableByteCounts();
const names = Array.from({ length: samples }, drawn);
const outcomes = Array.from({ length: samples }, () => outcomeAbout(drawn()));
const look = (name: string) => void reader.check(name, 25, NOW_MS);
const fold = (outcome: FoldOutcome) => writer.fold(outcome);
timed(names, look);
timed(outcomes, fold);
const turns = Array.from({ length: rounds }, () => [timed(names, look), timed(outcomes, fold)]);
const size: TableSize = {
  agents: bytes.agents,
  pairs: bytes.pairs,
  row_bytes: bytes.rowBytes,
  index_bytes: bytes.indexBytes,
  identifier_bytes: bytes.identifierBytes,
  pair_bytes: bytes.pairBytes,
  resident_bytes: process.memoryUsage().rss,
  build_seconds: buildSeconds,
  lookup_ns: turns.flatMap(([lookups]) => lookups!),
  fold_ns: turns.flatMap(([, folds]) => folds!),
};
process.stdout.write(`${JSON.stringify(size)}\n`);
