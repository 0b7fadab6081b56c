// Record that the ledger thread announces once it is durable and folded.

/** A durable record of one of the announced kinds. */
export interface AnnouncedRecord {
  /** One of FRAME_KINDS. */
  readonly kind: number;
  readonly lsn: number;
  /** Epoch ms. */
  readonly timeMs: number;
  readonly payload: Uint8Array;
}
