// Ledger loop over real files with a failing second commit: its sync fails, or (when the engine
// settings say `full`) its write, for half a second.
import { generateKeyPairSync } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { buildBureauKey } from "../../src/journal/signing-key.ts";
import { JournalBroken } from "../../src/journal/faults.ts";
import { type FileLayer, diskFileLayer } from "../../src/platform/files.ts";
import { LedgerCore } from "../../src/ledger/core.ts";
import { serveLedger } from "../../src/ledger/loop.ts";
import type { FromLedger, LedgerThreadData } from "../../src/ledger/messages.ts";

const FULL_MS = 500;
const data = workerData as LedgerThreadData & { engineSettings: unknown };
let hasCommitted = false;
let fullSince = 0;

function fail(errno: string): never {
  throw Object.assign(new Error(errno), { code: errno });
}

const brokenSync: FileLayer = {
  ...diskFileLayer,
  syncData: (descriptor) => (hasCommitted ? fail("EIO") : diskFileLayer.syncData(descriptor)),
};
const fullDisk: FileLayer = {
  ...diskFileLayer,
  write: (descriptor, parts, position) => {
    if (hasCommitted) {
      fullSince ||= performance.now();
      if (performance.now() - fullSince < FULL_MS) fail("ENOSPC");
    }
    return diskFileLayer.write(descriptor, parts, position);
  },
};

if (parentPort !== null) {
  const port = parentPort;
  const tell = (message: FromLedger) => port.postMessage(message);
  const core = new LedgerCore({
    files: data.engineSettings === "full" ? fullDisk : brokenSync,
    directory: data.journal,
    key: buildBureauKey(generateKeyPairSync("ed25519").privateKey),
    epoch: data.epoch,
    fold: () => {
      hasCommitted = true;
    },
    nowMs: data.nowMs,
  });
  tell({
    kind: "ready",
    lsn: 0,
    outcomes: 0,
    truncatedBytes: 0,
    durationMs: 0,
    keyEvents: [],
    rememberedSinceMs: 0,
  });
  serveLedger({
    port,
    core,
    storePort: undefined,
    fail: (error) => {
      const exitCode = error instanceof JournalBroken ? error.exitCode : 1;
      tell({ kind: "failed", exitCode, detail: String(error), damage: undefined });
      port.close();
    },
    closed: () => port.close(),
  });
}
