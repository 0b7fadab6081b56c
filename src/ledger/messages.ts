// What crosses the port between the HTTP thread and the ledger thread. Records travel as journal
// frames in transferred buffers, answers as one array of numbers per message.
import type { MessagePort } from "node:worker_threads";
import type { DiskNews } from "./disk-watch.ts";
import type { JournalDamage } from "../journal/faults.ts";
import type { FramePlace } from "../journal/places.ts";
import type { SnapshotPace } from "./snapshot/taker.ts";

/** Given to the thread at its start. */
export interface LedgerThreadData {
  journal: string;
  snapshots: string;
  bureauKey: string;
  epoch: number;
  nowMs: number;
  /** How often the table is saved; the thread's own pace when left out. */
  snapshotPace?: SnapshotPace | undefined;
  /** Ballast and watermark of the journal's disk, each of so many bytes. */
  reserveBytes: number;
  /** From one look at all sealed segments to the next; none when left out. */
  scrubEveryMs?: number | undefined;
}

/**
 * To the thread: frames, a config to make active, another port to serve, or the wish to stop (on a
 * port that joined: to be answered to the end and let go).
 */
export type ToLedger =
  | AppendMessage
  | InstallMessage
  | { kind: "join"; port: MessagePort }
  | { kind: "close" };

/** Answered by one `installed` message, in order. */
export interface InstallMessage {
  kind: "install";
  /** What the thread's engine writer takes as a config. */
  config: unknown;
}

export interface AppendMessage {
  kind: "append";
  frames: ArrayBuffer;
  byteCount: number;
  recordCount: number;
  nowMs: number;
}

/** From the thread. `receipts` answers one append message; they come in order. */
export type FromLedger =
  | ReadyMessage
  | ReceiptsMessage
  | InstalledMessage
  | TableMessage
  | HealthMessage
  | NoteMessage
  | ScrubMessage
  | FailedMessage;

export interface ReadyMessage {
  kind: "ready";
  lsn: number;
  outcomes: number;
  truncatedBytes: number;
  durationMs: number;
  /** Position of the snapshot that the table came from. */
  snapshotLsn?: number | undefined;
  /** The table that was folded into: another one than was given after a re-fold. */
  engineMemory?: WebAssembly.Memory;
  /** Payloads of the events of the reporters' registry, in order. */
  keyEvents: Uint8Array[];
  /** Where the vault's sources stand in the journal; left out by threads that have no vault. */
  sources?: readonly FramePlace[];
  rememberedSinceMs: number;
}

export interface ReceiptsMessage {
  kind: "receipts";
  /** Per record: verdict, position, recorded ms. */
  numbers: Float64Array;
  /** Ids of the first outcomes, for duplicates, in order. */
  duplicateIds: string[];
  lsn: number;
  /** Replay identities recorded since are all remembered; older ones may be forgotten. */
  rememberedSinceMs: number;
}

/** The config is active for every thread's next read, or was refused. */
export interface InstalledMessage {
  kind: "installed";
  refusal?: string;
}

/** A re-fold is done: read this table from now on. */
export interface TableMessage {
  kind: "table";
  engineMemory: WebAssembly.Memory;
}

/** The disk filled up, has room again, or its numbers moved. */
export interface HealthMessage extends DiskNews {
  kind: "health";
}

/** Something an operator may want to know; comes after `ready`. */
export interface NoteMessage {
  kind: "note";
  event: string;
  detail: string;
}

/** Sealed segments are being verified: at each damage, and at the end. */
export interface ScrubMessage {
  kind: "scrub";
  /** Looked at so far. */
  segments: number;
  /** Found so far. */
  damages: readonly JournalDamage[];
  isDone: boolean;
  /** All sealed segments, not those before a snapshot alone. */
  isWhole: boolean;
}

/** The thread is about to end. */
export interface FailedMessage {
  kind: "failed";
  exitCode: number;
  detail: string;
  damage: JournalDamage | undefined;
}

export const NUMBERS_PER_RECEIPT = 3;
