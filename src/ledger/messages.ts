// Messages between the HTTP thread and the ledger thread. Records travel as journal frames in
// transferred buffers, answers as one array of numbers per message.
import type { MessagePort } from "node:worker_threads";
import type { AnnouncedRecord } from "./announced-record.ts";
import type { AdmissionStatus } from "./admission/admission.ts";
import type { DiskStatus } from "./disk/watch.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import type { JournalDamage, UnusableFile } from "../journal/faults.ts";
import type { FramePlace } from "../journal/places.ts";
import type { RemoteEvent } from "./ordered/apply.ts";
import type { NewcomersPerHour } from "./admission/newcomer-limits.ts";
import type { SnapshotPace } from "./snapshot/scheduler.ts";

/** Start data of the thread. */
export interface LedgerThreadData extends Pick<
  DataPaths,
  "bureauKey" | "journal" | "root" | "snapshots"
> {
  epoch: number;
  /** Id of this process's ownership of the data directory. */
  owner: string;
  nowMs: number;
  /** Pace of snapshots; the thread's default when left out. */
  snapshotPace?: SnapshotPace | undefined;
  /** Size in bytes of the ballast on the journal's disk, and of its watermark. */
  reserveBytes: number;
  /** Bound of the agent table's heap, in bytes; the address space's when left out. */
  tableBytesMax?: number | undefined;
  /** New agents and pairs by key and hour; the ledger's default when left out. */
  newcomersPerHour?: NewcomersPerHour | undefined;
  /** Interval in ms between two scrubs of all sealed segments; none when left out. */
  scrubEveryMs?: number | undefined;
  /** Memory of LedgerFigures. */
  figures: SharedArrayBuffer;
  /** Kinds of records that are announced as they become durable; none when left out. */
  announcedKinds?: readonly number[] | undefined;
  /** The ordered log of a cluster; left out: this process is the whole bureau. */
  stream?: StreamThreadLink | undefined;
}

/** Way to the stream thread, and what its log is. */
export interface StreamThreadLink {
  readonly port: MessagePort;
  /** `<node>:<epoch>:<chance>`, other for each start. */
  readonly origin: string;
  readonly generation: number;
}

/**
 * To the thread: frames, a config to make active, another port to serve, or the request to stop (on
 * a joined port: to answer all and let go).
 */
export type ToLedger =
  | AppendMessage
  | InstallConfigMessage
  | RotateKeyMessage
  | { kind: "join"; port: MessagePort }
  /** Answers one `remote` message, in order: its events are in force. */
  | { kind: "taken" }
  | { kind: "close" };

/** Answered by one `installed` message, in order. */
export interface InstallConfigMessage {
  kind: "install";
  /** The config, as the thread's engine writer takes it. */
  config: unknown;
}

/** Answered by one `rekeyed` message, in order. */
export interface RotateKeyMessage {
  kind: "rekey";
  nowMs: number;
  /** Id of the API key that asks. */
  actor: string;
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
  | ConfigInstalledMessage
  | KeyRotatedMessage
  | TableReplacedMessage
  | DiskStatusMessage
  | AdmissionMessage
  | LogEventMessage
  | RemoteEventsMessage
  | AnnouncementMessage
  | ScrubMessage
  | FailedMessage;

/** What the journal holds at the start for parts that keep it in memory, in order. */
export interface RecoveredRecords {
  /** Payloads of the events of the reporters' registry (keys and namespaces). */
  readonly keyEvents: readonly Uint8Array[];
  /** Payloads of tenants' policies. */
  readonly policies: readonly Uint8Array[];
  /** Stored forms of API keys, JSON, where they came through the ordered log. */
  readonly access: readonly Uint8Array[];
  /** Changes of the weights that came through the ordered log. */
  readonly weights: readonly Uint8Array[];
  /** Current reviews, one JSON document each, in order of opening. */
  readonly reviews: readonly Uint8Array[];
  /** Conditions and stops, past ones included, one JSON document each. */
  readonly conditions: readonly Uint8Array[];
  /** Places of the vault's sources in the journal. */
  readonly sources: readonly FramePlace[];
}

/** Recovered records are left out by a thread that does not have their kind. */
export interface ReadyMessage extends Partial<RecoveredRecords> {
  kind: "ready";
  lsn: number;
  outcomes: number;
  truncatedBytes: number;
  durationMs: number;
  /** Position of the snapshot that the table came from. */
  snapshotLsn?: number | undefined;
  /** The live table; after a re-fold another one than at the start. */
  engineMemory?: WebAssembly.Memory;
  rememberedSinceMs: number;
  /** Time of the last record at the start, epoch ms; undefined in a new journal. */
  lastRecordMs?: number | undefined;
}

export interface ReceiptsMessage {
  kind: "receipts";
  /** Three per record: verdict, position, recorded ms. */
  numbers: Float64Array;
  /** Ids of the first outcomes, for duplicates, in order. */
  duplicateIds: string[];
  lsn: number;
  /**
   * Every replay identity recorded since then (epoch ms) is remembered; older ones may be
   * forgotten.
   */
  rememberedSinceMs: number;
}

/** The config is active for every thread's next read, or was refused. */
export interface ConfigInstalledMessage {
  kind: "installed";
  refusal?: string;
}

/** The next record is signed by another key; or nothing has changed. */
export interface KeyRotatedMessage {
  kind: "rekeyed";
  refusal?: string;
}

/** A re-fold is done: readers switch to this table. */
export interface TableReplacedMessage {
  kind: "table";
  engineMemory: WebAssembly.Memory;
}

/** The disk filled up, has space again, or its numbers moved. */
export interface DiskStatusMessage extends DiskStatus {
  kind: "health";
}

/** What admission has refused since the start. */
export interface AdmissionMessage extends AdmissionStatus {
  kind: "admission";
}

/** An event for the operator's log; comes after `ready`. */
export interface LogEventMessage {
  kind: "note";
  event: string;
  detail: string;
}

/** What other nodes of the cluster have put on record, in order. Answered by `taken`. */
export interface RemoteEventsMessage {
  kind: "remote";
  events: readonly RemoteEvent[];
}

/**
 * Records that are durable and folded into the table: sent after the sync and before its receipts and
 * remote events. Also sent without records, at most once a second, so that the position advances.
 */
export interface AnnouncementMessage {
  kind: "announced";
  records: readonly AnnouncedRecord[];
  /** The durable position: all announced records up to it have been sent. */
  lsn: number;
}

/** Progress of a scrub of sealed segments: sent at each damage, and at the end. */
export interface ScrubMessage {
  kind: "scrub";
  /** Verified so far. */
  segments: number;
  /** Found so far. */
  damages: readonly JournalDamage[];
  isDone: boolean;
  /** True when all sealed segments are verified, false for only those before a snapshot. */
  isWhole: boolean;
}

/** The thread is about to end. */
export interface FailedMessage {
  kind: "failed";
  exitCode: number;
  detail: string;
  damage: JournalDamage | undefined;
  /** Set when a file of the data directory cannot be used. */
  file?: UnusableFile | undefined;
  /** Why, where it is not the disk: one sentence. */
  why?: string | undefined;
}

export const NUMBERS_PER_RECEIPT = 3;
