// Starts the ledger thread and waits for its first message: ready, or why it failed.
import { type MessagePort, Worker } from "node:worker_threads";
import type { DataDirectoryClaim } from "../journal/data-directory.ts";
import type { AdmissionStatus } from "./admission/admission.ts";
import type { DiskSpace } from "./disk/reserve.ts";
import type { HistogramCounts } from "../platform/histogram.ts";
import type { LedgerMetrics } from "./metrics.ts";
import { FileUnusable, JournalBroken, JournalDamaged } from "../journal/faults.ts";
import type { JournalHealth } from "./damage-watch.ts";
import type { AnnouncedRecord } from "./announced-record.ts";
import type {
  ApiKeyLog,
  EventLog,
  FrameLog,
  KaizenLog,
  Ledger,
  NoteLog,
  ReviewLog,
  ConditionLog,
  PolicyLog,
  VaultEventLog,
  UsageLog,
} from "./ledger.ts";
import type {
  FailedMessage,
  FromLedger,
  LedgerThreadData,
  RecoveredRecords,
  ToLedger,
  ReadyMessage,
} from "./messages.ts";
import type { RemoteEvent } from "./ordered/apply.ts";

export interface LedgerOptions extends Partial<
  Pick<
    LedgerThreadData,
    | "announcedKinds"
    | "newcomersPerHour"
    | "reserveBytes"
    | "scrubEveryMs"
    | "snapshotPace"
    | "stream"
    | "tableBytesMax"
  >
> {
  dataDir: string;
  /** The shared table, given to the thread's engine writer. */
  engineMemory: WebAssembly.Memory;
  /** Further settings for the thread's engine writer; must be cloneable. */
  engineSettings?: unknown;
  /** The store's end of a channel that receives the durable position. Transferred. */
  storePort?: MessagePort | undefined;
  /**
   * Called when the ledger cannot go on; every pending outcome was refused. The process has to end
   * with this code. `why` is a sentence, where it is not the disk.
   */
  onFatal: (exitCode: number, why?: string) => void;
  /** Epoch ms. */
  clock: () => number;
  /** Called after a re-fold: readers switch to this table. */
  onTable?: (engineMemory: WebAssembly.Memory) => void;
  /** Called for snapshots taken, failed and ignored. */
  log?: (event: string, detail: string) => void;
  /** Called with what other nodes of the cluster have put on record, in order. */
  onRemote?: ((events: readonly RemoteEvent[]) => void) | undefined;
  /** Called with durable records of `announcedKinds`, in order, and the position announced so far. */
  onAnnounced?: ((records: readonly AnnouncedRecord[], lsn: number) => void) | undefined;
  /** Called when every thread reads another config. */
  onConfigInstalled?: (() => void) | undefined;
  /** The thread's file; the default is the composition root's. */
  entry?: URL;
}

/** Metrics of the start. */
export type ReplayStatistics = Pick<
  ReadyMessage,
  "durationMs" | "lastRecordMs" | "outcomes" | "snapshotLsn" | "truncatedBytes"
>;

export interface OpenLedger
  extends
    Ledger,
    ApiKeyLog,
    EventLog,
    FrameLog,
    VaultEventLog,
    PolicyLog,
    ConditionLog,
    KaizenLog,
    NoteLog,
    ReviewLog,
    UsageLog,
    RecoveredRecords {
  readonly replay: ReplayStatistics;
  /**
   * The table as replay left it; another one than was passed in when a revocation caused a re-fold.
   */
  readonly engineMemory: WebAssembly.Memory;
  /** Every replay identity recorded since then (epoch ms) is remembered. */
  readonly rememberedSinceMs: number;
  /**
   * Makes a config active for every thread's next read. Resolves once it is active.
   * @throws Error when the engine refuses it.
   */
  installConfig(config: unknown): Promise<void>;
  /**
   * Puts another signing key in the place of the bureau's, durably. Rejects with ServiceFault
   * `journal_unavailable` when nothing has changed.
   * @param actor id of the API key that asks.
   */
  rotateSigningKey(actor: string): Promise<void>;
  /** Lets another thread report through `port`, which is transferred; see ledger/port-transfer.ts. */
  join(port: MessagePort): void;
  /** The last durable position. */
  position(): number;
  /** False while the disk is full or nearly so, or after the thread died. */
  isHealthy(): boolean;
  /** What the table's room and the limits of keys have refused, half a second ago at most. */
  readonly admission: AdmissionStatus;
  /** Space on the journal's disk at the last check, half a second ago at most. */
  readonly disk: DiskSpace;
  /** Provenance notes accepted and not yet durable. */
  readonly notes: { readonly count: number; readonly bytes: number };
  /** What the ledger thread has counted. */
  readonly figures: LedgerMetrics;
  /** Seconds from handing over to acknowledgement, of the records of this thread. */
  appendDurations(): HistogramCounts;
  /** Known damage in the journal's sealed segments. */
  readonly journal: JournalHealth;
}

/** Connection to the ledger thread: the thread itself, or a port that joined it. */
export interface LedgerThread {
  postMessage(message: ToLedger, transfer: (ArrayBuffer | MessagePort)[]): void;
  onMessage(listener: (message: FromLedger) => void): void;
  onError(listener: () => void): void;
  onExit(listener: () => void): void;
}

export function wrapLedgerWorker(worker: Worker): LedgerThread {
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer),
    onMessage: (listener) => void worker.on("message", listener),
    onError: (listener) => void worker.on("error", listener),
    onExit: (listener) => void worker.once("exit", listener),
  };
}

/** A port has no errors of its own; its end is that of the thread behind it. */
export function wrapLedgerPort(port: MessagePort): LedgerThread {
  return {
    postMessage: (message, transfer) => port.postMessage(message, transfer),
    onMessage: (listener) => void port.on("message", listener),
    onError: () => undefined,
    onExit: (listener) => void port.once("close", listener),
  };
}

/** The caller has to watch for its end. */
export function startLedgerThread(
  options: LedgerOptions,
  claim: DataDirectoryClaim,
  figures: LedgerMetrics,
): Worker {
  const { root, journal, snapshots, bureauKey } = claim.paths;
  const data: LedgerThreadData = {
    root,
    journal,
    snapshots,
    bureauKey,
    epoch: claim.epoch,
    owner: claim.owner.id,
    nowMs: options.clock(),
    reserveBytes: options.reserveBytes ?? 0,
    tableBytesMax: options.tableBytesMax,
    newcomersPerHour: options.newcomersPerHour,
    scrubEveryMs: options.scrubEveryMs,
    snapshotPace: options.snapshotPace,
    figures: figures.memory,
    announcedKinds: options.announcedKinds,
    stream: options.stream,
  };
  const { engineMemory, engineSettings, storePort, stream } = options;
  const ports = [storePort, stream?.port].filter((port) => port !== undefined);
  return new Worker(options.entry ?? new URL("../threads/ledger.ts", import.meta.url), {
    name: "ledger",
    workerData: { ...data, engineMemory, engineSettings, storePort },
    transferList: ports,
  });
}

/**
 * Waits for the thread to be ready.
 * @throws JournalDamaged or JournalBroken when the thread reports it or ends.
 */
export function waitUntilLedgerReady(worker: Worker): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromLedger) => {
      settle();
      if (message.kind === "ready") resolve(message);
      else if (message.kind === "failed") reject(rebuildStartError(message));
      else reject(new Error(`the ledger thread began with \`${message.kind}\``));
    };
    const onError = (error: Error) => {
      settle();
      reject(error);
    };
    const onExit = (code: number) => {
      settle();
      reject(new JournalBroken(`the ledger thread ended with ${code} before it was ready`));
    };
    const settle = () => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
    };
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  });
}

function rebuildStartError(message: FailedMessage): Error {
  if (message.file !== undefined) return new FileUnusable(message.file);
  if (message.damage !== undefined) return new JournalDamaged(message.damage);
  return new JournalBroken(message.detail);
}
