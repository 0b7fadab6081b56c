// Messages between the main thread and the thread that ships to the archive.

export interface ArchiveThreadData {
  readonly dataDir: string;
  readonly target: string;
  readonly serviceId: string;
  /** Random; names this process as the archive's writer. */
  readonly writer: string;
  readonly madeBy: string;
  /** Of the ledger thread: how far the journal is on disk. */
  readonly figures: SharedArrayBuffer;
}

/** Asks for one shipment; the next one is asked for once it has been answered. */
export interface ArchiveRequest {
  readonly nowMs: number;
  /** Position that is durable at least. */
  readonly durable: number;
  /** The thread ends behind it. */
  readonly isLast?: boolean;
}

export type ArchiveReply =
  | { readonly kind: "shipped"; readonly position: number; readonly parted: string | undefined }
  | { readonly kind: "failed"; readonly why: string };
