// Entry of the ledger thread: opens the bureau key, the journal and the engine's one writer,
// replays, then serves. Composition only; the work is in ledger/ledger-loop.ts and ledger-core.ts.
import { randomBytes } from "node:crypto";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { defaultConfig, type ScoringConfig } from "./engine/config.ts";
import { openEngineWriter } from "./engine/writer.ts";
import { type BureauKey, loadBureauKey } from "./ledger/bureau-key.ts";
import { nodeFiles } from "./ledger/journal-files.ts";
import { JournalBroken, JournalDamaged } from "./ledger/journal-faults.ts";
import { segmentsOf } from "./ledger/journal-format.ts";
import { openLedgerCore } from "./ledger/ledger-core.ts";
import { serveLedger } from "./ledger/ledger-loop.ts";
import type { FromLedger, LedgerThreadData } from "./ledger/ledger-messages.ts";

/** `engineSettings` of startLedger. The seed keys the identifier hash; random by default. */
export interface EngineSettings {
  config?: ScoringConfig;
  seed?: bigint;
}

interface ThreadData extends LedgerThreadData {
  engineMemory: WebAssembly.Memory;
  engineSettings: EngineSettings | undefined;
  storePort: MessagePort | undefined;
}

function main(port: MessagePort, data: ThreadData): void {
  const tell = (message: FromLedger) => port.postMessage(message);
  const end = () => {
    data.storePort?.close();
    port.close();
  };
  const fail = (error: unknown) => {
    const exitCode =
      error instanceof JournalDamaged || error instanceof JournalBroken ? error.exitCode : 70;
    const damage = error instanceof JournalDamaged ? error.damage : undefined;
    tell({ kind: "failed", exitCode, detail: String(error), damage });
    end();
  };
  try {
    const startedAt = performance.now();
    const writer = openEngineWriter(
      data.engineMemory,
      data.engineSettings?.config ?? defaultConfig(),
      data.engineSettings?.seed ?? randomBytes(8).readBigUInt64LE(),
    );
    const core = openLedgerCore({
      files: nodeFiles,
      directory: data.journal,
      key: bureauKeyFor(data),
      epoch: data.epoch,
      fold: (outcome) => writer.fold(outcome),
      nowMs: data.nowMs,
    });
    tell({
      kind: "ready",
      lsn: core.lsn,
      outcomes: core.replayedOutcomes,
      truncatedBytes: core.truncatedBytes,
      durationMs: performance.now() - startedAt,
    });
    serveLedger({ port, core, storePort: data.storePort, fail, closed: end });
  } catch (error) {
    fail(error);
  }
}

/** The first start makes the key; later ones must find it (`doctor --repair` makes another). */
function bureauKeyFor(data: ThreadData): BureauKey {
  nodeFiles.makeDirectory(data.journal);
  const [first] = segmentsOf(nodeFiles.list(data.journal));
  try {
    return loadBureauKey(data.bureauKey, first === undefined);
  } catch (error) {
    if (first === undefined || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const reason = "the bureau key that signed it is missing";
    throw new JournalDamaged({ segment: first.name, offset: 0, afterLsn: 0, reason });
  }
}

if (parentPort !== null) main(parentPort, workerData as ThreadData);
