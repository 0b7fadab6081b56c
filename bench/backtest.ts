// A policy on a million made-up outcomes beside the live one, on the thread that the
// service gives it: seconds and peak memory. One JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsed } from "./load/parsed.ts";
import { fillPolicyDefaults } from "../src/contract/complete-policy.ts";
import { DEFAULT_POLICY } from "../src/contract/policy.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { resolveDataPaths } from "../src/journal/data-directory.ts";
import { BacktestService } from "../src/kaizen/service/backtests.ts";
import { startLedger } from "../src/ledger/client.ts";
import { defaultPolicySource } from "../src/policy/active-policy.ts";
import { fillJournal } from "./made-history.ts";

const SMOKE_ROWS = 5000;

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, {
    options: {
      rows: { type: "string", default: "1000000" },
      smoke: { type: "boolean", default: false },
    },
  });
  const rows = values.smoke ? SMOKE_ROWS : Number(values.rows);
  const nowMs = Date.now();
  const dataDir = mkdtempSync(join(tmpdir(), "backtest-bench-"));
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => process.exit(code),
    clock: () => nowMs,
  });
  try {
    await fillJournal(ledger, rows, nowMs);
    const silent = () => undefined;
    const backtests = new BacktestService({
      dataDir,
      journal: resolveDataPaths(dataDir).journal,
      ledger,
      policies: defaultPolicySource,
      weights: () => ({ config: loadDefaultConfig(), promotedAt: undefined }),
      clock: Date.now,
      log: { info: silent, warn: silent, error: silent },
    });
    const { L2, L3 } = DEFAULT_POLICY.levels;
    const given = fillPolicyDefaults({
      levels: { L2: { ...L2, allow_up_to: 0.15 }, L3: { ...L3, allow_up_to: 0.08 } },
      // The bounds alone change little: what is assumed where no stakes are named holds back as well.
      stakes: { tolerated_loss_bps: 500 },
    });
    const before = process.memoryUsage().rss;
    let peak = before;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
    const startedAt = performance.now();
    const cpuBefore = process.cpuUsage();
    const order = { tenant: "bench", given, includesUnvouched: false, startedBy: "bench" };
    const { findings, state } = await backtests.start(order)!.done;
    const seconds = (performance.now() - startedAt) / 1000;
    clearInterval(timer);
    const cpu = process.cpuUsage(cpuBefore);
    const verify = findings?.rows.filter((row) => row.question === "verify" && row.level === "L2");
    const report = {
      state,
      outcomes: findings?.outcomes,
      seconds,
      // Of all threads; on a busy machine the better figure.
      cpu_seconds: (cpu.user + cpu.system) / 1e6,
      outcomes_per_second: Math.round((findings?.outcomes ?? 0) / seconds),
      peak_rss_mib: Math.round(peak / 2 ** 20),
      rss_before_mib: Math.round(before / 2 ** 20),
      l2: verify?.map((row) => ({
        policy: row.policy,
        good_allowed: row.good_allowed / row.good,
        bad_allowed: row.bad_allowed / row.bad,
      })),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await ledger.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
