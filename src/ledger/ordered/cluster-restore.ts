// A log begun anew behind the journals of its nodes, while none of them runs: the longest journal is the
// record, shorter ones are made equal to it, and each takes up the first message of the next log.
import { JournalDamaged } from "../../journal/faults.ts";
import type { DataDirectoryClaim } from "../../journal/data-directory.ts";
import { type FileLayer, readWhole, replaceFile } from "../../platform/files.ts";
import { FRAME_KINDS, readFrameKind, parseSegmentNames } from "../../journal/format.ts";
import { Fence } from "../../journal/ownership/fence.ts";
import {
  JournalPointUnknown,
  type JournalTail,
  recoverJournal,
  writeNewestSegmentName,
} from "../../journal/recovery.ts";
import { type BureauKey, loadBureauKey } from "../../journal/signing-key.ts";
import { JournalWriter } from "../../journal/writer.ts";
import { encodeEventFrame } from "../frame-batch.ts";
import { readKnownDurablePosition, raiseHighWater } from "../snapshot/high-water.ts";
import { copyFramePayload } from "../state.ts";
import {
  decodeStreamMark,
  encodeStreamMark,
  buildStreamMark,
  type OrderedMessage,
  type StreamMark,
} from "./message.ts";

/** Journals of one cluster differ, or a directory has none: the sentence says which. */
export class ClusterRestoreRefused extends Error {}

type JournalClaim = Pick<DataDirectoryClaim, "paths" | "epoch" | "owner">;

/** A node's journal, verified. */
export interface NodeJournal {
  readonly claim: JournalClaim;
  readonly key: BureauKey;
  readonly tail: JournalTail;
  /** The last message applied; undefined in a journal that no log has fed. */
  readonly mark: StreamMark | undefined;
}

/**
 * Verifies a journal and cuts a torn end, as a start does.
 * @throws JournalDamaged; RestoreRefused when there is none.
 */
export function recoverNodeJournal(files: FileLayer, claim: JournalClaim): NodeJournal {
  const { root, journal: directory, bureauKey, snapshots } = claim.paths;
  if (parseSegmentNames(listOrEmpty(files, directory)).length === 0) {
    throw new ClusterRestoreRefused(`\`${root}\` has no journal`);
  }
  let mark: StreamMark | undefined;
  const known = readKnownDurablePosition(files, root, snapshots);
  const visit = (bytes: Buffer, at: number) => {
    if (readFrameKind(bytes, at) === FRAME_KINDS.stream)
      mark = decodeStreamMark(copyFramePayload(bytes, at));
  };
  const { tail } = recoverJournal(files, directory, visit, { known });
  return { claim, key: loadBureauKey(bureauKey, false), tail, mark };
}

function listOrEmpty(files: FileLayer, directory: string): string[] {
  try {
    return files.list(directory);
  } catch {
    return [];
  }
}

/**
 * The longest of the journals.
 * @throws RestoreRefused when another is no beginning of it, or signs with another key.
 */
export function selectLongestJournal(files: FileLayer, nodes: readonly NodeJournal[]): NodeJournal {
  const longest = nodes.reduce((best, each) => (each.tail.lsn > best.tail.lsn ? each : best));
  const { paths } = longest.claim;
  for (const { claim, key, tail } of nodes) {
    if (!key.publicKey.equals(longest.key.publicKey)) {
      const both = `\`${claim.paths.root}\` and \`${paths.root}\``;
      throw new ClusterRestoreRefused(
        `${both} have different signing keys: they are not of one cluster`,
      );
    }
    if (tail.lsn === 0 || !hasJournalAsPrefix(files, paths.journal, longest.tail, tail)) {
      throw new ClusterRestoreRefused(
        `the journal of \`${claim.paths.root}\`, ${tail.lsn} records long, is no beginning of the one of \`${paths.root}\`: leave out the one that is wrong`,
      );
    }
  }
  return longest;
}

/** Whether a journal passes through the end of another. */
function hasJournalAsPrefix(
  files: FileLayer,
  directory: string,
  tail: JournalTail,
  { lsn, chain }: JournalTail,
): boolean {
  if (lsn === tail.lsn) return chain.equals(tail.chain);
  try {
    recoverJournal(files, directory, () => undefined, { isReadOnly: true, from: { lsn, chain } });
    return true;
  } catch (error) {
    if (error instanceof JournalPointUnknown) return false;
    throw error;
  }
}

/** Makes a journal equal to the longest, of which it is a beginning. Returns the bytes copied. */
export function extendToLongest(files: FileLayer, node: NodeJournal, longest: NodeJournal): number {
  if (node.tail.lsn === longest.tail.lsn) return 0;
  const { journal: directory, root } = node.claim.paths;
  const source = longest.claim.paths.journal;
  raiseHighWater(files, root, node.tail.lsn);
  const segments = parseSegmentNames(files.list(source));
  const first = segments.findLastIndex(({ firstLsn }) => firstLsn <= node.tail.lsn + 1);
  let copied = 0;
  for (const { name } of segments.slice(first)) {
    const bytes = readWhole(files, `${source}/${name}`);
    const { segment, offset } = longest.tail;
    const whole = name === segment ? bytes.subarray(0, offset) : bytes;
    replaceFile(files, directory, name, whole);
    copied += whole.byteLength;
  }
  writeNewestSegmentName(files, directory, segments.at(-1)!.name);
  const { tail } = recoverJournal(files, directory, () => undefined);
  if (tail.chain.equals(longest.tail.chain)) return copied;
  const reason = "it differs from the one that it was copied from";
  throw new JournalDamaged({ segment: tail.segment ?? "", offset: 0, afterLsn: tail.lsn, reason });
}

/**
 * Puts the mark of the new log's first message behind a journal, to the same bytes on each node.
 * @throws JournalFull, JournalBroken.
 */
export function appendFirstMark(
  files: FileLayer,
  { claim, key }: NodeJournal,
  generation: number,
  message: OrderedMessage,
): JournalTail {
  const { root, journal: directory } = claim.paths;
  const { tail } = recoverJournal(files, directory, () => undefined);
  const fence = new Fence(files, root, { owner: claim.owner.id, epoch: claim.epoch });
  const writer = new JournalWriter({ files, directory, key, epoch: generation, fence, tail });
  try {
    const mark = encodeStreamMark(buildStreamMark(generation, message));
    writer.append([encodeEventFrame(FRAME_KINDS.stream, mark)], message.timeMs * 1000);
    const { lsn, chain } = writer;
    return { ...tail, lsn, chain };
  } finally {
    writer.close();
  }
}
