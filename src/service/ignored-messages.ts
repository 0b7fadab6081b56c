// Messages of the cluster's log that its nodes passed over, for `doctor`, by their entries in the journal.
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import { decodeIgnoredMessageEvent } from "../ledger/ordered/invalid-messages.ts";
import { copyFramePayload } from "../ledger/state.ts";

export interface IgnoredMessagesFinding {
  readonly detail: string;
  /** Empty when none was passed over. */
  readonly advice: string;
}

/** A fold over the records of a journal, in order. */
export class IgnoredMessageTally {
  #isOfCluster = false;
  #count = 0;
  #newest: { readonly seq: number; readonly atMs: number } | undefined;

  /** Takes the record in the frame at `at`. */
  add(bytes: Buffer, at: number): void {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.stream) this.#isOfCluster = true;
    if (kind !== FRAME_KINDS.audit) return;
    const ignored = decodeIgnoredMessageEvent(copyFramePayload(bytes, at));
    if (ignored === undefined) return;
    this.#count += 1;
    this.#newest = ignored;
  }

  /** How many messages, and the newest; undefined for the journal of a bureau that never was in a cluster. */
  describe(): IgnoredMessagesFinding | undefined {
    if (!this.#isOfCluster) return undefined;
    if (this.#newest === undefined) return { detail: "no message was passed over", advice: "" };
    const { seq, atMs } = this.#newest;
    const detail = `${this.#count} messages were passed over, the newest at message ${seq} (${new Date(atMs).toISOString()})`;
    const advice =
      "no node of this cluster has sealed them: change the credentials of the log's servers if nobody here sent them; `stream_message_ignored` in the service's log has their origins";
    return { detail, advice };
  }
}
