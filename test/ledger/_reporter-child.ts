// Process to be killed: reports outcomes through the real ledger thread, with the store beside it,
// and prints one line per acknowledgement. Arguments: data directory, first index.
import { writeSync } from "node:fs";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { startStore } from "../../src/store/client.ts";

const [dataDir = "", first = "1"] = process.argv.slice(2);
const store = await startStore({ dataDir });
const ledger = await startLedger({
  dataDir,
  engineMemory: createEngineMemory(),
  storePort: store.ledgerPort,
  onFatal: (exitCode) => process.exit(exitCode),
  clock: Date.now,
});

async function report(from: number, step: number): Promise<void> {
  for (let index = from; ; index += step) {
    const hex = index.toString(16).padStart(12, "0");
    const receipt = await ledger.append({
      outcomeId: `00000000-0000-7000-8000-${hex}`,
      idempotencyKey: `key-${index}`,
      subject: `agent://shop/seller-${index % 7}`,
      reporter: "agent://shop/buyer",
      outcome: 1,
      stakes: index,
      gradeIndex: 0,
      signature: "none",
      settledAtMs: Date.now(),
      recordedAtMs: Date.now(),
      isAgentFault: true,
      tenant: "acme",
      action: "",
      requestId: "",
      source: "api",
      body: Buffer.from(`{"n":${index}}`),
    });
    // Synchronous: a line that is out was acknowledged before the kill.
    writeSync(1, `${index} ${receipt.position}\n`);
  }
}

const CLIENTS = 8;
await Promise.all(
  Array.from({ length: CLIENTS }, (_, client) => report(Number(first) + client, CLIENTS)),
);
