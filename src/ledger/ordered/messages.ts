// Messages between the ledger thread and the stream thread.
import type { MessageId, OrderedMessage, TableHash } from "./message.ts";

/** To the stream thread. */
export type ToStream =
  /** Put these frames into the log; answered by `published` or `unpublished`. */
  | { kind: "publish"; n: number; count: number; frames: Uint8Array<ArrayBuffer> }
  /** Read the log from this place on, whatever was read before; `last`: the message that is known to stand there. */
  | { kind: "follow"; from: number; last?: MessageId | undefined }
  /** Everything up to this place is applied; at a checkpoint with the hash of the table there. */
  | { kind: "applied"; seq: number; lsn: number; chain: string; table?: TableHash | undefined }
  | { kind: "close" };

/** From the stream thread. */
export type FromStream =
  | { kind: "published"; n: number }
  /** Not to be had in time; the message may stand in the log all the same. */
  | { kind: "unpublished"; n: number }
  | { kind: "ordered"; messages: readonly OrderedMessage[] };
