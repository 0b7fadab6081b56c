// Ledger client of a further thread: outcomes go straight to the ledger thread through a port of
// its own, and share its syncs with those of all other threads. Created on the thread that started
// the ledger, opened on the one that reports.
import { type MessagePort, MessageChannel } from "node:worker_threads";
import { LedgerClient, type OpenLedger } from "./client.ts";
import type { FrameLog, Ledger } from "./ledger.ts";
import { wrapLedgerPort } from "./start.ts";

/** Crosses to the thread that opens it; `port` is to be transferred. */
export interface LedgerPortTransfer {
  readonly port: MessagePort;
  readonly lsn: number;
  readonly rememberedSinceMs: number;
}

/** Asks the ledger thread to take outcomes through another port as well. */
export function openLedgerPort(ledger: OpenLedger): LedgerPortTransfer {
  const { port1, port2 } = new MessageChannel();
  ledger.join(port2);
  return { port: port1, lsn: ledger.position(), rememberedSinceMs: ledger.rememberedSinceMs };
}

/**
 * Opens the ledger in this thread. `close` resolves once all accepted records are answered; when
 * the ledger thread ends, waiting records are refused as `journal_unavailable`. `clock` is epoch
 * ms.
 */
export function connectToLedger(
  { port, lsn, rememberedSinceMs }: LedgerPortTransfer,
  engineMemory: WebAssembly.Memory,
  clock: () => number,
): Ledger & FrameLog & Pick<OpenLedger, "appendDurations"> {
  const replayed = { outcomes: 0, truncatedBytes: 0, durationMs: 0 };
  const ready = { kind: "ready" as const, lsn, rememberedSinceMs, ...replayed };
  // The thread that started the ledger sees its end too, and ends the process.
  const onFatal = () => undefined;
  return new LedgerClient(wrapLedgerPort(port), ready, undefined, { engineMemory, clock, onFatal });
}
