// Starts the ledger thread and waits for its first word: ready, or why it cannot be.
import { type MessagePort, Worker } from "node:worker_threads";
import type { DataDirectoryClaim } from "../journal/data-directory.ts";
import type { DiskRoom } from "./disk-reserve.ts";
import { JournalBroken, JournalDamaged } from "../journal/faults.ts";
import type { JournalHealth } from "./damage-watch.ts";
import type { FramePlace } from "../journal/places.ts";
import type { EventLog, FrameLog, KaizenLog, Ledger, SourceLog } from "./ledger.ts";
import type { FailedMessage, FromLedger, LedgerThreadData, ReadyMessage } from "./messages.ts";
import type { SnapshotPace } from "./snapshot/taker.ts";

export interface LedgerOptions {
  dataDir: string;
  /** The shared table, given to the thread's engine writer. */
  engineMemory: WebAssembly.Memory;
  /** Whatever else the thread entry needs to open its engine writer; must be cloneable. */
  engineSettings?: unknown;
  /** The store's end of a channel: told the durable position. Transferred. */
  storePort?: MessagePort | undefined;
  /** The ledger cannot go on; every pending outcome was refused. End the process with this code. */
  onFatal: (exitCode: number) => void;
  /** Epoch ms. */
  clock: () => number;
  /** A re-fold has made another table: read that one from now on. */
  onTable?: (engineMemory: WebAssembly.Memory) => void;
  /** How often the table is saved. */
  snapshotPace?: SnapshotPace | undefined;
  /** Ballast and watermark of the journal's disk (DiskReserve); none when left out. */
  reserveBytes?: number;
  /** From one look at all sealed segments to the next; none after the start when left out. */
  scrubEveryMs?: number | undefined;
  /** Told of snapshots taken, failed and ignored. */
  log?: (event: string, detail: string) => void;
  /** The thread's file; the default is the composition root's. */
  entry?: URL;
}

/** What the start did. */
export interface Replay {
  outcomes: number;
  durationMs: number;
  truncatedBytes: number;
  /** The snapshot that the table came from, if any. */
  snapshotLsn: number | undefined;
}

export interface OpenLedger extends Ledger, EventLog, FrameLog, SourceLog, KaizenLog {
  readonly replay: Replay;
  /** The table as replay left it; another than was given when a revocation made it anew. */
  readonly engineMemory: WebAssembly.Memory;
  /** Payloads of the events of the reporters' registry at the start, in order. */
  readonly keyEvents: readonly Uint8Array[];
  /** Where the vault's sources stood in the journal at the start, in order. */
  readonly sources: readonly FramePlace[];
  /** Replay identities recorded since (epoch ms) are all remembered. */
  readonly rememberedSinceMs: number;
  /** Makes a config active for every thread's next read; rejects when the engine refuses it. */
  installConfig(config: unknown): Promise<void>;
  /** Lets another thread report through `port`, which is transferred; see ledger-join.ts. */
  join(port: MessagePort): void;
  /** The last durable position. */
  position(): number;
  /** False while the disk is full or nearly so, or after the thread died. */
  isHealthy(): boolean;
  /** How the journal's disk stood when the ledger last looked, half a second ago at most. */
  readonly disk: DiskRoom;
  /** What is known of rot in the journal's sealed segments. */
  readonly journal: JournalHealth;
}

/** Its end is the caller's to see. */
export function startThread(options: LedgerOptions, claim: DataDirectoryClaim): Worker {
  const data: LedgerThreadData = {
    journal: claim.paths.journal,
    snapshots: claim.paths.snapshots,
    bureauKey: claim.paths.bureauKey,
    epoch: claim.epoch,
    nowMs: options.clock(),
    reserveBytes: options.reserveBytes ?? 0,
    scrubEveryMs: options.scrubEveryMs,
    snapshotPace: options.snapshotPace,
  };
  const { engineMemory, engineSettings, storePort } = options;
  return new Worker(options.entry ?? new URL("../threads/ledger.ts", import.meta.url), {
    name: "ledger",
    workerData: { ...data, engineMemory, engineSettings, storePort },
    transferList: storePort === undefined ? [] : [storePort],
  });
}

/** Rejects with JournalDamaged or JournalBroken when the thread says so or ends. */
export function awaitReady(worker: Worker): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromLedger) => {
      settle();
      if (message.kind === "ready") resolve(message);
      else if (message.kind === "failed") reject(errorOf(message));
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

function errorOf(message: FailedMessage): Error {
  if (message.damage !== undefined) return new JournalDamaged(message.damage);
  return new JournalBroken(message.detail);
}
