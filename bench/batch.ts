// Cost of scoring verify batches in place and on the pool. The same batches against a
// service of each kind, taking turns: median latency by size, and the effect on single
// verifications beside them. One JSON object on the last line of stdout.
import autocannon from "autocannon";
import { parsed } from "./load/parsed.ts";
import { ADMIN_KEY, startService } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
const SIZES = [5, 10, 25, 50, 100, 250, 1000];
const SINGLE_RPS = 2000;

function batchOf(items: number): string {
  const item = (i: number) => ({
    agent_id: `agent://acme/batch-${i}`,
    action: "payments.transfer",
    tool_level: "L2",
    context: { session_duration_sec: i },
  });
  return JSON.stringify({ items: Array.from({ length: items }, (_, i) => item(i)) });
}

async function latencyMs(server: ServerProcess, body: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${server.url}/v1/trust/verify/batch`, {
    method: "POST",
    headers: HEADERS,
    body,
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`a batch got status ${response.status}`);
  return performance.now() - startedAt;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

async function bySize(inline: ServerProcess, pool: ServerProcess, rounds: number) {
  const rows: { items: number; bytes: number; inline_ms: number; pool_ms: number }[] = [];
  for (const items of SIZES) {
    const body = batchOf(items);
    const times = { inline: [] as number[], pool: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.inline.push(await latencyMs(inline, body));
      times.pool.push(await latencyMs(pool, body));
    }
    rows.push({
      items,
      bytes: body.length,
      inline_ms: Number(median(times.inline).toFixed(3)),
      pool_ms: Number(median(times.pool).toFixed(3)),
    });
  }
  return rows;
}

/** p99 of single verifications at a fixed rate while large batches come one after the other. */
async function beside(server: ServerProcess, seconds: number) {
  const body = batchOf(1000);
  let isOver = false;
  const batches = (async () => {
    let count = 0;
    while (!isOver) {
      await latencyMs(server, body);
      count++;
    }
    return count / seconds;
  })();
  const result = await autocannon({
    url: `${server.url}/v1/trust/verify`,
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ agent_id: "a", action: "a.b", tool_level: "L1", context: {} }),
    duration: seconds,
    connections: 10,
    overallRate: SINGLE_RPS,
  });
  isOver = true;
  return {
    verify_p50_ms: result.latency.p50,
    verify_p99_ms: result.latency.p99,
    batches_per_second: Number((await batches).toFixed(1)),
  };
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: { smoke: { type: "boolean", default: false } },
  });
  const inline = await startService("--scoring", "inline");
  const pool = await startService("--scoring", "pool");
  try {
    const seconds = values.smoke ? 1 : 6;
    await bySize(inline, pool, values.smoke ? 2 : 20);
    const report = {
      by_size: await bySize(inline, pool, values.smoke ? 2 : 60),
      inline: await beside(inline, seconds),
      pool: await beside(pool, seconds),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await Promise.all([inline.stop(), pool.stop()]);
  }
}

await main();
