// Thread that takes tokens of one key from shared buckets on request, and reports the number it
// got.
import { parentPort, workerData } from "node:worker_threads";
import { RateLimiter } from "../../../src/http/access/rate-limits.ts";
import type { RateLimit } from "../../../src/http/access/rate-limits.ts";

export interface BucketTask {
  memory: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  limit: RateLimit;
  takes: number;
}

const { memory, gate, limit, takes } = workerData as BucketTask;
const buckets = { memory, findKeyNumber: () => 7 };
const limiter = new RateLimiter({ score: limit }, () => 0, buckets);
const principal = {
  keyId: "k",
  tenant: "t",
  scopes: new Set<never>(),
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 2,
};
parentPort?.postMessage("ready");
Atomics.wait(new Int32Array(gate), 0, 0);
let taken = 0;
for (let i = 0; i < takes; i++) {
  if (limiter.take(principal, "score", 1)?.retryAfterSec === undefined) taken++;
}
parentPort?.postMessage(taken);
