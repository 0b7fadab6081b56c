// Process to be killed: outcomes and the first parts of a batch of standings through the real
// ledger thread, then one line with the SHA-256 of the table that it serves. Arguments: data
// directory, number of parts of the batch to write.
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import { openTableImage } from "../../src/engine/image.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../src/journal/standings.ts";
import { startLedger } from "../../src/ledger/client.ts";

const [dataDir = "", partCount = "0"] = process.argv.slice(2);
const NOW_MS = Date.UTC(2026, 0, 2);
const engineMemory = createEngineMemory();
const ledger = await startLedger({
  dataDir,
  engineMemory,
  onFatal: (exitCode) => process.exit(exitCode),
  clock: () => NOW_MS,
});

const report = (from: number, count: number) =>
  ledger.appendBatch(
    Array.from({ length: count }, (_, n) => ({
      outcomeId: `00000000-0000-7000-8000-${String(from + n).padStart(12, "0")}`,
      idempotencyKey: "",
      subject: `agent://shop/seller-${n % 7}`,
      reporter: `agent://shop/buyer-${n % 50}`,
      outcome: n % 3 === 0 ? (0 as const) : (1 as const),
      stakes: n,
      gradeIndex: 0,
      signature: "none" as const,
      settledAtMs: NOW_MS,
      recordedAtMs: NOW_MS,
      isAgentFault: true,
      tenant: "acme",
      action: "",
      requestId: "",
      source: "api",
      body: new Uint8Array(0),
    })),
  );

const agents = Array.from({ length: 6000 }, (_, i) => ({
  agent: `agent://shop/buyer-${i}`,
  flags: STANDING_BITS.believed,
  credibility: (i % 1000) / 1000,
  cluster: i % 3,
}));
await report(0, 300);
const batch = { isInForce: true, stakesHigh: 20, agents, computedFrom: ledger.position() };
const parts = encodeStandings(batch, RULES_BEFORE_STANDINGS);
for (const part of parts.slice(0, Number(partCount))) await ledger.appendStandings(part);
await report(300, 300);
const digest = createHash("sha256");
for (const part of openTableImage(engineMemory).viewParts()) digest.update(part);
// Synchronous: the line is out before the kill.
writeSync(1, `${parts.length} ${digest.digest("hex")}\n`);
setInterval(() => undefined, 1000);
