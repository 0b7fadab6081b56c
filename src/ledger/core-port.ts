// Port of the ledger's core, as its loop and the thread that opens it use it.
import type { NewcomersPerHour } from "./admission/newcomer-limits.ts";
import type { AgentTableAdmission } from "./admission/admission.ts";
import type { TableCapacity } from "../engine/reading.ts";
import type { FileLayer } from "../platform/files.ts";
import type { Fence } from "../journal/ownership/fence.ts";
import type { FramePlace } from "../journal/places.ts";
import type { KnownDurablePosition } from "../journal/recovery.ts";
import type { BureauKey } from "../journal/signing-key.ts";
import type { FrameRun } from "../journal/writer.ts";
import type { DiskSpace } from "./disk/reserve.ts";
import type { LedgerMetrics } from "./figures.ts";
import type { AppliedMessages } from "./ordered/apply.ts";
import type { OrderedMessage } from "./ordered/message.ts";
import type { StreamProgress } from "./ordered/progress.ts";
import type { RefoldTable } from "./refold.ts";
import type { CommitResult } from "./replay-guard.ts";
import type { ReplayTable } from "./replay-table.ts";
import type { SnapshotContents, LoadedSnapshot } from "./snapshot/files.ts";
import type { FoldTarget } from "./state.ts";

export interface LedgerCoreOptions extends FoldTarget {
  files: FileLayer;
  /** The journal directory. */
  directory: string;
  key: BureauKey;
  /** Stands in the headers of the segments. */
  epoch: number;
  /** The ordered log that feeds this journal; left out: `commit` does. */
  ordered?: { readonly generation: number; readonly origin: string } | undefined;
  /** Tells when another process has become the owner; looked at once a second. */
  fence?: Fence | undefined;
  /**
   * Makes an empty table; after its `publish`, `fold` means that one. Without it a revocation of a
   * compromised key affects only later records.
   */
  freshTable?: () => RefoldTable;
  /** Epoch ms: decides which replayed identities are still worth remembering. */
  nowMs: number;
  /** State that the table behind `fold` holds already: only later records are replayed. */
  start?: LoadedSnapshot | undefined;
  /** The journal must reach at least this position. */
  known?: KnownDurablePosition | undefined;
  segmentBytesMax?: number;
  replayEntriesMax?: number;
  /** Ballast and watermark of the disk (DiskReserve); 0, none, when left out. */
  reserveBytes?: number;
  /** Room of the table behind `fold`; left out: it takes everything, and no key is limited. */
  room?: TableCapacity;
  newcomersPerHour?: NewcomersPerHour | undefined;
  /** Counts what becomes durable. */
  figures?: LedgerMetrics | undefined;
}

export interface LedgerCore {
  /**
   * One commit: all runs, one sync. Results are in order of the records; a disk that is (nearly)
   * full is one of them (`VERDICT_UNAVAILABLE`).
   * @throws JournalBroken when a write or sync failed, OwnershipLost when another process writes.
   */
  commit(runs: readonly FrameRun[], nowMs: number): CommitResult[];
  /**
   * Applies messages of the ordered log, in order: one sync for all. As many as the disk has room for.
   * @throws StreamHole when a message does not follow the last one, RulesUnknown, JournalBroken and
   *   OwnershipLost as `commit`.
   */
  applyMessages(messages: readonly OrderedMessage[]): AppliedMessages;
  /** The last commit's position and chain: equal on all nodes of a cluster at the same place. */
  readonly lastCommit: { readonly lsn: number; readonly chain: Buffer };
  /** Place along the ordered log. */
  readonly progress: StreamProgress;
  /**
   * Continues the re-fold that a revocation asked for, by at most `countMax` records.
   * @returns whether there is more to do.
   */
  continueRefold(countMax: number): boolean;
  /**
   * Checks the disk, tries to write again after it was full, and grows the ballast by a slice.
   * @returns whether the ballast still grows: call again soon.
   * @throws JournalBroken when the journal can no longer vouch for the disk, or OwnershipLost.
   */
  probeDisk(): boolean;
  /** Signs with another key from the next record on. */
  useKey(key: BureauKey): void;
  /** The last commit, and everything that a later start must know of the records up to it. */
  buildSnapshotContents(): SnapshotContents;
  readonly isRefolding: boolean;
  /** Payloads of all events of the reporters' registry, in order. */
  readonly keyEvents: readonly Buffer[];
  /** Payloads of all policies that tenants have set, in order. */
  readonly policies: readonly Buffer[];
  /** Changes of the weights that came through the ordered log, in order. */
  readonly weights: readonly Buffer[];
  /** API keys as they stand, where they came through the ordered log: their stored form as JSON. */
  readonly access: Iterable<Buffer>;
  /** Every replay identity recorded since then (epoch ms) is remembered. */
  readonly rememberedSinceMs: number;
  /** The replay guard, for snapshots. */
  readonly guard: ReplayTable;
  /** Places of the vault's sources in the journal, in order. */
  readonly sources: readonly FramePlace[];
  readonly space: DiskSpace;
  /** Undefined without a room to judge by. */
  readonly admission: AgentTableAdmission | undefined;
  /** False while the disk is full or nearly so. */
  readonly isHealthy: boolean;
  readonly lsn: number;
  readonly syncCount: number;
  readonly replayedOutcomes: number;
  readonly truncatedBytes: number;
  /** Time of the last record at the start, epoch ms; undefined in a new journal. */
  readonly lastRecordMs: number | undefined;
  close(): void;
}
