// bench:kaizen: features, fit and gates over a large made-up history in a journal, as the service
// runs them: seconds and peak memory of the run. One JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createEngineMemory } from "../src/engine/memory.ts";
import { KaizenService } from "../src/kaizen/service/service.ts";
import { seededRandom } from "../src/kaizen/model/random.ts";
import { dataPaths } from "../src/journal/data-directory.ts";
import { startLedger } from "../src/ledger/client.ts";
import type { OpenLedger } from "../src/ledger/client.ts";
import type { OutcomeRecord } from "../src/journal/records.ts";
import { measureUnderLoad } from "./kaizen-load.ts";

const DAY_MS = 86_400_000;
const DAYS = 365;
const BATCH = 20_000;
const COUNTERPARTY = 3;

/** Outcomes of agents with lasting quality and reporters of lasting severity. */
function* outcomesOf(count: number, nowMs: number): Generator<OutcomeRecord[]> {
  const random = seededRandom(1);
  const agents = Math.ceil(count / 20);
  const quality = Float64Array.from({ length: agents }, () => -2.5 + 1.4 * random.normal());
  const severity = Float64Array.from({ length: agents }, () => 0.6 * random.normal());
  let batch: OutcomeRecord[] = [];
  for (let i = 0; i < count; i++) {
    const subject = Math.floor(agents * random.uniform() ** 2);
    const reporter = Math.floor(agents * random.uniform() ** 2);
    const settledAtMs = nowMs - DAYS * DAY_MS + Math.floor((i / count) * DAYS * DAY_MS);
    const p = 1 / (1 + Math.exp(-(quality[subject]! + severity[reporter]!)));
    batch.push({
      outcomeId: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
      idempotencyKey: "",
      subject: `agent://made/${subject}`,
      reporter: `agent://voice/${reporter}`,
      outcome: random.uniform() < p ? 0 : 1,
      stakes: 1 + Math.floor(random.uniform() * 10),
      gradeIndex: COUNTERPARTY,
      signature: "bureau",
      settledAtMs,
      recordedAtMs: settledAtMs,
      isAgentFault: true,
      tenant: "bench",
      action: "",
      requestId: "",
      source: "import:bench",
      body: new Uint8Array(0),
    });
    if (batch.length < BATCH && i < count - 1) continue;
    yield batch;
    batch = [];
  }
}

async function fill(ledger: OpenLedger, count: number, nowMs: number): Promise<void> {
  let done = 0;
  for (const batch of outcomesOf(count, nowMs)) {
    await ledger.appendBatch(batch);
    done += batch.length;
    if (done % 200_000 === 0) process.stderr.write(`journaled ${done} of ${count}\n`);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "8" },
      rounds: { type: "string", default: "3" },
    },
  });
  // Now, so that the service's own runs under load find the newest outcomes to test on.
  const nowMs = Date.now();
  const dataDir = mkdtempSync(join(tmpdir(), "kaizen-bench-"));
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => process.exit(code),
    clock: () => nowMs,
  });
  try {
    await fill(ledger, Number(values.rows), nowMs);
    const silent = () => undefined;
    const kaizen = new KaizenService({
      dataDir,
      journal: dataPaths(dataDir).journal,
      ledger,
      clock: () => nowMs,
      log: { info: silent, warn: silent, error: silent },
    });
    const before = process.memoryUsage().rss;
    let peak = 0;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
    const startedAt = performance.now();
    const request = { isDryRun: true, isSignedOff: false, startedBy: "bench" };
    const run = await kaizen.start(request)!.done;
    const elapsedMs = performance.now() - startedAt;
    clearInterval(timer);
    await ledger.close();
    process.stderr.write("verify under load, without a run and during one, in turns\n");
    const { seconds, rounds } = values;
    const load = await measureUnderLoad(dataDir, Number(seconds), Number(rounds));
    const report = {
      rows: run.rows,
      state: run.state,
      seconds: elapsedMs / 1000,
      peak_rss_mib: Math.round(peak / 2 ** 20),
      rss_before_mib: Math.round(before / 2 ** 20),
      reason: run.reason,
      sides: run.findings?.sides.map(({ side, rows, gates }) => ({
        side,
        rows,
        gates: gates.length,
      })),
      load,
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await ledger.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
