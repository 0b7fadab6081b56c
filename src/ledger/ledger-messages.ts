// What crosses the port between the HTTP thread and the ledger thread. Records travel as journal
// frames in transferred buffers, answers as one array of numbers per message.
import type { JournalDamage } from "./journal-faults.ts";

/** Given to the thread at its start. */
export interface LedgerThreadData {
  journal: string;
  bureauKey: string;
  epoch: number;
  nowMs: number;
}

/** To the thread: frames, or the wish to stop. */
export type ToLedger = AppendMessage | { kind: "close" };

export interface AppendMessage {
  kind: "append";
  frames: ArrayBuffer;
  byteCount: number;
  recordCount: number;
  nowMs: number;
}

/** From the thread. `receipts` answers one append message; they come in order. */
export type FromLedger = ReadyMessage | ReceiptsMessage | HealthMessage | FailedMessage;

export interface ReadyMessage {
  kind: "ready";
  lsn: number;
  outcomes: number;
  truncatedBytes: number;
  durationMs: number;
}

export interface ReceiptsMessage {
  kind: "receipts";
  /** Per record: verdict, position, recorded ms. */
  numbers: Float64Array;
  /** Ids of the first outcomes, for duplicates, in order. */
  duplicateIds: string[];
  lsn: number;
}

/** The disk filled up, or has room again. */
export interface HealthMessage {
  kind: "health";
  isHealthy: boolean;
}

/** The thread is about to end. */
export interface FailedMessage {
  kind: "failed";
  exitCode: number;
  detail: string;
  damage: JournalDamage | undefined;
}

export const NUMBERS_PER_RECEIPT = 3;
