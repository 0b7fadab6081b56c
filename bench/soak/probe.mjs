// Memory probe, preloaded into every isolate of the service under bench:soak (NODE_OPTIONS=--import). Main thread
// of each process: asks for a sample every TRUSTRANK_PROBE_EVERY_MS and appends it as a line of JSON to
// TRUSTRANK_PROBE_DIR/PID.jsonl. Every isolate: collects its garbage, then writes its figures to its cells in shared
// memory. A thread of a pool sleeps on an atomic between tasks and has no timers: its sleep is cut into parts.
import { appendFileSync, readFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import v8 from "node:v8";
import vm from "node:vm";
import worker from "node:worker_threads";

const KEY = "memory-probe";
const LOOK_EVERY_MS = 200;
/** Thread ids are not used twice: those of an hour, with runs of kaizen each minute. */
const THREADS_MAX = 4096;
const CELLS = 6;
const NAME_BYTES = 24;

v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");
const shared = worker.isMainThread ? create() : worker.getEnvironmentData(KEY);
const asked = new Int32Array(shared.asked);
const figures = new Float64Array(shared.figures);
const names = new Uint8Array(shared.names);
const id = worker.threadId % THREADS_MAX;
let answered = 0;
/** Bytes that DuckDB says it holds, in the isolate that opened it. */
let databaseBytes = Number.NaN;
let connection;

function create() {
  const made = {
    asked: new SharedArrayBuffer(4),
    figures: new SharedArrayBuffer(THREADS_MAX * CELLS * 8),
    names: new SharedArrayBuffer(THREADS_MAX * NAME_BYTES),
  };
  worker.setEnvironmentData(KEY, made);
  return made;
}

function answer() {
  const sample = Atomics.load(asked, 0);
  if (sample === answered) return;
  answered = sample;
  collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  const name = worker.isMainThread ? "main" : worker.threadName || process.argv[1] || "thread";
  const bytes = Buffer.from(name.slice(-NAME_BYTES));
  names.fill(0, id * NAME_BYTES, (id + 1) * NAME_BYTES).set(bytes, id * NAME_BYTES);
  figures.set([heapUsed, external, arrayBuffers, databaseBytes, performance.now()], id * CELLS + 1);
  figures[id * CELLS] = sample;
  void readDatabase();
}

async function readDatabase() {
  if (connection === undefined) return;
  try {
    const reader = await connection.runAndReadAll(
      "SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()",
    );
    databaseBytes = Number(reader.getRows()[0]?.[0] ?? Number.NaN);
  } catch {
    connection = undefined;
  }
}

setInterval(answer, LOOK_EVERY_MS).unref();
const wait = Atomics.wait;
Atomics.wait = (cells, at, value, timeoutMs = Number.POSITIVE_INFINITY) => {
  for (let left = timeoutMs; ; left -= LOOK_EVERY_MS) {
    const result = wait(cells, at, value, Math.min(left, LOOK_EVERY_MS));
    if (result !== "timed-out" || left <= LOOK_EVERY_MS) return result;
    answer();
  }
};

if (worker.threadName === "store") {
  const { DuckDBInstance } = createRequire(`${process.cwd()}/`)("@duckdb/node-api");
  const connect = DuckDBInstance.prototype.connect;
  DuckDBInstance.prototype.connect = async function connectProbed() {
    connection = await connect.call(this);
    return connect.call(this);
  };
}

if (worker.isMainThread) sampleProcess();

function sampleProcess() {
  const { TRUSTRANK_PROBE_DIR: directory, TRUSTRANK_PROBE_EVERY_MS: everyMs } = process.env;
  if (directory === undefined) return;
  const readMallocInfo = loadAddon(process.env.TRUSTRANK_PROBE_ADDON);
  setInterval(() => {
    const last = Atomics.load(asked, 0);
    // The answers to the last question: there has been time for the slowest isolate.
    if (last > 0) {
      const line = {
        at: Date.now(),
        isolates: readIsolates(last),
        arenas: readMallocInfo === undefined ? undefined : parseArenas(readMallocInfo()),
        mappings: readMappings(),
      };
      appendFileSync(`${directory}/${process.pid}.jsonl`, `${JSON.stringify(line)}\n`);
    }
    Atomics.add(asked, 0, 1);
  }, Number(everyMs)).unref();
}

function loadAddon(file) {
  if (!file) return undefined;
  const loaded = { exports: {} };
  process.dlopen(loaded, file);
  return loaded.exports;
}

function readIsolates(sample) {
  const found = [];
  for (let thread = 0; thread < THREADS_MAX; thread++) {
    const cells = figures.subarray(thread * CELLS, (thread + 1) * CELLS);
    if (cells[0] !== sample) continue;
    const name = Buffer.from(names.slice(thread * NAME_BYTES, (thread + 1) * NAME_BYTES));
    const database = Number.isNaN(cells[4]) ? undefined : cells[4];
    found.push({
      name: `${name.toString().replaceAll("\0", "")}#${thread}`,
      heap: cells[1],
      external: cells[2],
      arrayBuffers: cells[3],
      database,
    });
  }
  return found;
}

/** In use of each arena: what it took of the system less what it has free; those mapped singly last. */
function parseArenas(text) {
  const size = (part, pattern) => Number(pattern.exec(part)?.[1] ?? 0);
  const arenas = text
    .split("</heap>")
    .slice(0, -1)
    .map((part) => {
      const taken = size(part, /<system type="current" size="(\d+)"/);
      const fast = size(part, /<total type="fast" count="\d+" size="(\d+)"/);
      return taken - fast - size(part, /<total type="rest" count="\d+" size="(\d+)"/);
    });
  return [...arenas, size(text, /<total type="mmap" count="\d+" size="(\d+)"/)];
}

function readMappings() {
  const text = readFileSync("/proc/self/status", "utf8");
  const kib = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) * 1024;
  return { anonymous: kib("RssAnon"), file: kib("RssFile"), shared: kib("RssShmem") };
}
syncBuiltinESMExports();
