// Another tenant, who asks for a verdict a hundred times a second while an attack goes on: in a thread of its
// own, since an attacker who makes bodies as fast as it can would delay what it measures.
import { Agent } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { send } from "./send.ts";

const AGENT = "agent://acme/ledger-sync";
const ASK_EVERY_MS = 10;
/** Asked before anything is measured: the connection, and code that is new to the asker. */
const WARM_ASKS = 50;

/** What the other tenant saw. Milliseconds. */
export interface Waits {
  readonly asked: number;
  readonly failed: number;
  /** The first failure, for the reader. */
  readonly failure: string;
  readonly p50: number;
  readonly p99: number;
}

interface Task {
  readonly url: string;
  readonly key: string;
}

/** Asks while `work` goes on, which begins once the asker is warm; rejects as it does. */
export async function waitsDuring(task: Task, work: () => Promise<void>): Promise<Waits> {
  const worker = new Worker(new URL(import.meta.url), { workerData: task });
  const failed = new Promise<never>((_, reject) => worker.once("error", reject));
  failed.catch(() => undefined);
  const next = () =>
    Promise.race([failed, new Promise((resolve) => worker.once("message", resolve))]);
  await next();
  const waits = next();
  try {
    await work();
  } finally {
    worker.postMessage("over");
  }
  return (await waits) as Waits;
}

async function askUntilOver({ url, key }: Task, isOver: () => boolean): Promise<Waits> {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const question = { agent_id: AGENT, action: "order.place", tool_level: "L2", context: {} };
  const body = JSON.stringify(question);
  const ask = () => {
    const options = { agent, method: "POST", headers };
    return send(`${url}/v1/trust/verify`, options, body).catch(String);
  };
  for (let count = 0; count < WARM_ASKS; count++) await ask();
  parentPort!.postMessage("warm");
  const times: number[] = [];
  let failed = 0;
  let failure = "";
  while (!isOver()) {
    const startedAt = performance.now();
    const reply = await ask();
    const wrong = typeof reply === "string" ? reply : reply.status === 200 ? "" : reply.text;
    if (wrong !== "") failed++;
    failure ||= wrong;
    const tookMs = performance.now() - startedAt;
    times.push(tookMs);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, ASK_EVERY_MS - tookMs)));
  }
  agent.destroy();
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  return { asked: times.length, failed, failure, p50, p99 };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

if (!isMainThread) {
  let isOver = false;
  parentPort!.once("message", () => (isOver = true));
  parentPort!.postMessage(await askUntilOver(workerData as Task, () => isOver));
}
