// Ledger thread that becomes ready and then dies of the first message.
import { parentPort } from "node:worker_threads";
import type { FromLedger } from "../../src/ledger/messages.ts";

const ready: FromLedger = {
  kind: "ready",
  lsn: 0,
  outcomes: 0,
  truncatedBytes: 0,
  durationMs: 0,
  keyEvents: [],
  rememberedSinceMs: 0,
};
parentPort?.postMessage(ready);
parentPort?.on("message", () => {
  throw new Error("as planned");
});
