// Reader of the torn-reads run: reads the watched agent as fast as it can until it is stopped.
import { parentPort, workerData } from "node:worker_threads";
import { openEngineReader } from "../../src/engine/reader.ts";
import { NOW_MS, stateOf, StateWatch, WATCHED } from "./torn-reads.ts";

const READINGS_A_TURN = 500;

const { memory, slot, states } = workerData as {
  memory: WebAssembly.Memory;
  slot: number;
  states: readonly string[];
};
const reader = openEngineReader(memory, slot);
const watch = new StateWatch(states);
let isStopped = false;

parentPort!.on("message", () => (isStopped = true));
// The first state is met before anything is folded.
watch.see(stateOf(reader.check(WATCHED, 10, NOW_MS)));
parentPort!.postMessage("ready");

function turn(): void {
  for (let at = 0; at < READINGS_A_TURN; at++) {
    watch.see(stateOf(reader.check(WATCHED, 10, NOW_MS)));
  }
  if (!isStopped) return void setImmediate(turn);
  const { readings, torn, backwards, statesSeen, examples } = watch;
  parentPort!.postMessage({ readings, torn, backwards, statesSeen, examples });
}
turn();
