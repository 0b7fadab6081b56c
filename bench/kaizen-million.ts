// bench -- kaizen: features, fit and gates over a large made-up history in a journal, as the service
// runs them: seconds and peak memory of the run. One JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsed } from "./load/parsed.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { KaizenService } from "../src/kaizen/service/service.ts";
import { resolveDataPaths } from "../src/journal/data-directory.ts";
import { startLedger } from "../src/ledger/client.ts";
import { measureUnderLoad } from "./kaizen-load.ts";
import { fillJournal } from "./made-history.ts";

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: {
      rows: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "8" },
      rounds: { type: "string", default: "3" },
      rate: { type: "string", default: "5000" },
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
    await fillJournal(ledger, Number(values.rows), nowMs);
    const silent = () => undefined;
    const kaizen = new KaizenService({
      dataDir,
      journal: resolveDataPaths(dataDir).journal,
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
    const [seconds, rounds, rate] = [values.seconds, values.rounds, values.rate].map(Number);
    const plan = { seconds: seconds!, rounds: rounds!, rate: rate! };
    const load = await measureUnderLoad(dataDir, plan);
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
