// Verify reads against all nodes while faults come and go, on a thread of their own so that what they measure
// is not the reporters' work. Nodes that a fault has hit are left alone until they answer again.
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { ADMIN_KEY } from "../../bench/server-process.ts";

/** Start data: addresses of the nodes. */
export interface ReaderData {
  readonly urls: readonly string[];
  /** Between two reads of a lane. */
  readonly pauseMs: number;
}

interface Phase {
  readonly isQuiet: boolean;
  /** Nodes that a fault has hit. */
  readonly without: readonly number[];
}

/** To the thread. */
export type ToReader =
  /** From here on reads count as those of this phase. */
  ({ kind: "phase" } & Phase) | { kind: "end" };

/** From the thread, at its end. */
export interface ReadFigures {
  readonly quiet: readonly number[];
  readonly faulted: readonly number[];
  /** Reads without an answer, or another one than 200, at nodes that no fault had hit. */
  readonly failed: readonly string[];
}

const LANES_PER_NODE = 2;
const WAIT_MS = 5000;
const AGENTS = 503;

const { urls, pauseMs } = workerData as ReaderData;
const agent = new Agent({ keepAlive: true });
const quiet: number[] = [];
const faulted: number[] = [];
const failed: string[] = [];
let phase: Phase = { isQuiet: true, without: [] };
let isOver = false;

/** Status of one verify. */
function verify(url: string, subject: number): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({
    agent_id: `agent://shop/seller-${subject % AGENTS}`,
    action: "shop.purchase",
    tool_level: "L1",
    context: {},
  });
  return new Promise((resolve, reject) => {
    const options = { agent, method: "POST", headers, timeout: WAIT_MS };
    const sent = request(`${url}/v1/trust/verify`, options, (reply) => {
      reply
        .resume()
        .on("end", () => resolve(reply.statusCode!))
        .on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer")));
    sent.on("error", reject);
    sent.end(body);
  });
}

async function read(node: number, lane: number): Promise<void> {
  for (let turn = lane; !isOver; turn += LANES_PER_NODE) {
    const before = phase;
    if (before.without.includes(node)) {
      await wait(pauseMs);
      continue;
    }
    const startedAt = performance.now();
    const answer = await verify(urls[node]!, turn).catch((error: Error) => error.message);
    const ms = performance.now() - startedAt;
    const isHit = before.without.includes(node) || phase.without.includes(node);
    if (!isHit && answer !== 200) failed.push(`node ${node + 1}: ${answer}`);
    // A read across two phases belongs to neither.
    if (before === phase && answer === 200) (before.isQuiet ? quiet : faulted).push(ms);
    await wait(pauseMs);
  }
}

const lanes = urls.flatMap((_, node) =>
  Array.from({ length: LANES_PER_NODE }, (_lane, lane) => read(node, lane)),
);
parentPort!.on("message", (message: ToReader) => {
  if (message.kind === "phase") phase = message;
  else isOver = true;
});
await Promise.all(lanes);
agent.destroy();
parentPort!.postMessage({ quiet, faulted, failed } satisfies ReadFigures);
parentPort!.close();
