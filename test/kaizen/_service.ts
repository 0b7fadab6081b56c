// Ledger with made-up evidence and kaizen over it, for the tests of runs in a service.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { TableReader } from "../../src/engine/reader.ts";
import { KaizenService } from "../../src/kaizen/service/service.ts";
import type { KaizenResult } from "../../src/kaizen/service/worker-pool.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import type { KaizenOptions } from "../../src/kaizen/service/options.ts";
import { createSeededRandom } from "../../src/kaizen/model/bootstrap.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { startLedger } from "../../src/ledger/client.ts";
import type { OpenLedger } from "../../src/ledger/client.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";

const DAY_MS = 86_400_000;
export const NOW_MS = Date.parse("2026-06-01T00:00:00Z");
const COUNTERPARTY = 3;
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * A year of outcomes of a world where an agent's own quality is all that counts: the shipped
 * weights ask too much of viewers and recency there, so a re-fit has something to find. With
 * `stickiness`, log-odds that a failure adds to the next outcome, there is more to a failure than that.
 */
export function outcomesOf(
  seed: number,
  count: number,
  nowMs = NOW_MS,
  stickiness = 0,
): OutcomeRecord[] {
  const random = createSeededRandom(seed);
  const hasFailed = new Set<number>();
  const quality = Array.from({ length: 200 }, () => -2 + 1.5 * random.normal());
  return Array.from({ length: count }, (_, i) => {
    const agent = Math.floor(random.uniform() * quality.length);
    const logit = quality[agent]! + (hasFailed.has(agent) ? stickiness : 0);
    const isFailure = random.uniform() < 1 / (1 + Math.exp(-logit));
    if (isFailure) hasFailed.add(agent);
    else hasFailed.delete(agent);
    const settledAtMs = nowMs - 365 * DAY_MS + Math.floor((i / count) * 365 * DAY_MS);
    return {
      outcomeId: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
      idempotencyKey: "",
      subject: `agent://made/${agent}`,
      reporter: `agent://voice/${Math.floor(random.uniform() * 150)}`,
      outcome: isFailure ? 0 : 1,
      stakes: 1 + Math.floor(random.uniform() * 10),
      gradeIndex: COUNTERPARTY,
      signature: "bureau",
      settledAtMs,
      recordedAtMs: settledAtMs,
      isAgentFault: true,
      tenant: "t",
      action: "",
      requestId: "",
      source: "import:test",
      body: new Uint8Array(0),
    } satisfies OutcomeRecord;
  });
}

export interface Stage {
  dataDir: string;
  ledger: OpenLedger;
  engine: TableReader;
  kaizen: KaizenService;
}

export async function openStage(
  dataDir = mkdtempSync(join(tmpdir(), "kaizen-")),
  extra: Partial<KaizenOptions> = {},
): Promise<Stage> {
  const engineMemory = createEngineMemory();
  const ledger = await startLedger({
    dataDir,
    engineMemory,
    onFatal: () => undefined,
    clock: () => NOW_MS,
    // A release ships one config, to the engine as to kaizen.
    ...(extra.shipped && { engineSettings: { config: extra.shipped } }),
  });
  const engine = openEngineReader(engineMemory, 1);
  const kaizen = new KaizenService({
    dataDir,
    journal: resolveDataPaths(dataDir).journal,
    ledger,
    clock: () => NOW_MS,
    log: SILENT,
    ...extra,
  });
  await kaizen.open();
  return { dataDir, ledger, engine, kaizen };
}

export const ASKED = { isDryRun: false, isSignedOff: false, startedBy: "test" };

/** Findings that promote, without the work. */
export function winning(): KaizenResult {
  const config = loadDefaultConfig();
  const model = { ...config.check, intercept: -0.25 };
  return {
    rows: 1,
    rowsByKind: { reporter: 0, bureau: 0, import: 1 },
    findings: {
      sides: [],
      reason: "all gates passed for check",
      policy: {} as KaizenResult["findings"]["policy"],
      config: { ...config, name: "kaizen test", check: model },
    },
  };
}
