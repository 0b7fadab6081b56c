// Memory of threads as the main thread reads it: it moves with what they take.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { openPool, type Pool } from "../../src/platform/pool.ts";
import { ThreadHeaps } from "../../src/platform/thread-heaps.ts";

const MIB = 1024 * 1024;
const heaps = new ThreadHeaps();
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A thread that `heaps` follows; it is told of on the next turn of the event loop. */
async function startThread(name: string): Promise<Worker> {
  const worker = new Worker(new URL("_memory-worker.ts", import.meta.url), { name });
  closers.push(() => worker.terminate());
  await once(worker, "online");
  return worker;
}

async function take(worker: Worker, heapMib: number, bufferMib: number): Promise<void> {
  worker.postMessage({ heapMib, bufferMib });
  await once(worker, "message");
}

async function readThread(name: string) {
  return (await heaps.read()).find((heap) => heap.name === name);
}

test("a thread's heap and its buffers are told apart, and end with it", async () => {
  const worker = await startThread("taker");
  const before = (await readThread("taker"))!;
  await take(worker, 32, 0);
  const heap = (await readThread("taker"))!;
  expect(heap.used - before.used).toBeGreaterThan(30 * MIB);
  expect(heap.committed - before.committed).toBeGreaterThan(30 * MIB);
  expect(Math.abs(heap.external - before.external)).toBeLessThan(16 * MIB);
  await take(worker, 0, 48);
  const buffer = (await readThread("taker"))!;
  expect(buffer.external - heap.external).toBeGreaterThan(46 * MIB);
  await worker.terminate();
  expect(await readThread("taker")).toBeUndefined();
});

test("the main thread comes first; threads of one name are one", async () => {
  await startThread("twin");
  const alone = (await readThread("twin"))!;
  await startThread("twin");
  const both = await heaps.read();
  expect(both[0]).toMatchObject({ name: "main" });
  expect(both.filter(({ name }) => name === "twin")).toHaveLength(1);
  expect(both.find(({ name }) => name === "twin")!.committed).toBeGreaterThan(
    1.5 * alone.committed,
  );
});

test("threads of a pool have its name, asleep too", async () => {
  const filename = new URL("_echo-worker.ts", import.meta.url).href;
  const pool: Pool = openPool({ name: "echo", filename, workerData: undefined, threads: 1 });
  closers.push(() => pool.close());
  expect(await pool.run("here")).toBe("here");
  expect((await readThread("echo"))!.used).toBeGreaterThan(MIB);
});
