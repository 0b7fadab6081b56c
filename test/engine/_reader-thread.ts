// Reader thread: reads one agent as fast as it can until it is stopped, then reports every distinct
// (config version, score) it saw.
import { parentPort, workerData } from "node:worker_threads";
import { openEngineReader } from "../../src/engine/reader.ts";

const { memory, slot, anchor, nowMs } = workerData as {
  memory: WebAssembly.Memory;
  slot: number;
  anchor: string;
  nowMs: number;
};
const reader = openEngineReader(memory, slot);
const seen = new Map<string, [string, number]>();
let readings = 0;
let isStopped = false;

parentPort!.on("message", () => (isStopped = true));
parentPort!.postMessage("ready");

function turn(): void {
  for (let i = 0; i < 2000; i++) {
    const reading = reader.check(anchor, 10, nowMs);
    const version = reader.findConfigVersion(reading.configNumber);
    const score = reading.scoreInternal;
    seen.set(`${version} ${score}`, [version, score]);
    readings++;
  }
  if (isStopped) parentPort!.postMessage({ readings, seen: [...seen.values()] });
  else setImmediate(turn);
}
turn();
