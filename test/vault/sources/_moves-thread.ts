// Reader that looks until a miss counts, and says at which count of moves it did.
import { parentPort, workerData } from "node:worker_threads";
import { isLookupConclusive, readMoveCount } from "../../../src/vault/sources/slots.ts";

const { header } = workerData as { header: Uint32Array };
parentPort!.postMessage("ready");
for (let looks = 0; ; looks++) {
  const moves = readMoveCount(header);
  if (!isLookupConclusive(header, moves, looks)) continue;
  parentPort!.postMessage(moves);
  break;
}
