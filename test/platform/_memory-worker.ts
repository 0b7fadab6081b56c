// Thread of the test of threads' memory: takes heap or a buffer on request and keeps both.
import { parentPort } from "node:worker_threads";

const kept: unknown[] = [];
parentPort!.on("message", ({ heapMib, bufferMib }: { heapMib: number; bufferMib: number }) => {
  // An array of doubles: eight bytes an element, all of them in the heap.
  kept.push(Array.from({ length: (heapMib * 1024 * 1024) / 8 }, (_, at) => at + 0.5));
  kept.push(new ArrayBuffer(bufferMib * 1024 * 1024));
  parentPort!.postMessage("taken");
});
