// Messages of the cluster's log that its nodes passed over, for `doctor`, by their entries in the journal. Reads only.
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import { JournalReader } from "../journal/reader.ts";
import { decodeIgnoredMessageEvent } from "../ledger/ordered/invalid-messages.ts";
import { copyFramePayload } from "../ledger/state.ts";
import { diskFileLayer } from "../platform/files.ts";

export interface IgnoredMessagesFinding {
  readonly detail: string;
  /** Empty when none was passed over. */
  readonly advice: string;
}

/**
 * How many messages were passed over, and the newest, by the records up to `lsn`. Undefined for the journal of a
 * bureau that never was in a cluster.
 * @throws JournalDamaged when one of them does not verify.
 */
export function describeIgnoredMessages(
  journal: string,
  lsn: number,
): IgnoredMessagesFinding | undefined {
  let [isOfCluster, count] = [false, 0];
  let newest: { seq: number; atMs: number } | undefined;
  const reader = new JournalReader(diskFileLayer, journal);
  reader.readRecords(0, lsn, Number.POSITIVE_INFINITY, (bytes, at) => {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.stream) isOfCluster = true;
    if (kind !== FRAME_KINDS.audit) return;
    const ignored = decodeIgnoredMessageEvent(copyFramePayload(bytes, at));
    if (ignored === undefined) return;
    count += 1;
    newest = ignored;
  });
  reader.close();
  if (newest === undefined) {
    return isOfCluster ? { detail: "no message was passed over", advice: "" } : undefined;
  }
  const detail = `${count} messages were passed over, the newest at message ${newest.seq} (${new Date(newest.atMs).toISOString()})`;
  const advice =
    "no node of this cluster has sealed them: change the credentials of the log's servers if nobody here sent them; `stream_message_ignored` in the service's log has their origins";
  return { detail, advice };
}
