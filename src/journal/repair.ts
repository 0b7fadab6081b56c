// Repairs a damaged journal so that it opens again, and reports the loss.
//
// Repair never edits evidence in place. The damaged file is copied to `quarantine-<n>-<name>`, then
// replaced as a whole by its mended form (journal/salvage.ts). Damage that it cannot explain (a
// chain that was swapped, another bureau's key) it leaves alone and refuses.
import type { BureauKey } from "./signing-key.ts";
import type { JournalDamage } from "./faults.ts";
import { type FileLayer, readWhole, replaceFile } from "../platform/files.ts";
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  formatSegmentName,
  parseSegmentNames,
} from "./format.ts";
import {
  type JournalTail,
  NEWEST_FILE,
  recoverJournal,
  writeNewestSegmentName,
} from "./recovery.ts";
import { type LostRange, salvageSegment } from "./salvage.ts";
import { verifyJournal } from "./verify.ts";

export interface JournalRepairOptions {
  files: FileLayer;
  directory: string;
  /** Signs the statements of a repair: gaps and re-committed records. */
  key: BureauKey;
  epoch: number;
  nowMs: number;
}

export interface JournalRepairReport {
  /** Damage found, in order. Empty: nothing had to be done. */
  damages: JournalDamage[];
  /**
   * Position ranges that no longer exist, both ends included. `lastLost` is Infinity when the
   * newest segment is missing as a whole: its last position is unknown.
   */
  lost: LostRange[];
  /** Bytes that proved nothing any more; they remain in the quarantine files. */
  bytesLost: number;
  quarantined: string[];
}

/** The damage has a form that repair does not explain away; a person has to look. */
export class JournalRepairRefused extends Error {}

/**
 * Repairs a journal, losing only the damaged records. Call it on a stopped journal, under the data
 * directory's lock.
 * @throws RepairRefused with the reason, when damage cannot be repaired; segments mended before
 *   stay mended.
 */
export function repairJournal(options: JournalRepairOptions): JournalRepairReport {
  const { files, directory } = options;
  const report: JournalRepairReport = { damages: [], lost: [], bytesLost: 0, quarantined: [] };
  renameByHeader(files, directory);
  for (;;) {
    const { damage } = verifyJournal(files, directory);
    if (damage === undefined) return report;
    const previous = report.damages.at(-1);
    if (previous?.segment === damage.segment && previous.offset === damage.offset) {
      throw new JournalRepairRefused(`repair does not help: ${damage.reason} in ${damage.segment}`);
    }
    report.damages.push(damage);
    repairDamage(options, damage, report);
  }
}

/** A segment knows its first position: files that were moved about get their names back. */
function renameByHeader(files: FileLayer, directory: string): void {
  const moves: { from: string; to: string }[] = [];
  for (const { name, firstLsn } of parseSegmentNames(files.list(directory))) {
    const header = decodeSegmentHeader(readWhole(files, `${directory}/${name}`));
    if (header !== undefined && header.firstLsn !== firstLsn) {
      moves.push({ from: name, to: formatSegmentName(header.firstLsn) });
    }
  }
  const moving = new Set(moves.map((move) => move.from));
  const names = new Set(files.list(directory).filter((name) => !moving.has(name)));
  for (const { to } of moves) {
    if (names.has(to)) throw new JournalRepairRefused(`two files hold the segment ${to}`);
    names.add(to);
  }
  for (const { from } of moves) files.rename(`${directory}/${from}`, `${directory}/${from}.moved`);
  for (const { from, to } of moves) {
    files.rename(`${directory}/${from}.moved`, `${directory}/${to}`);
  }
  if (moves.length > 0) files.syncDirectory(directory);
}

function repairDamage(
  options: JournalRepairOptions,
  damage: JournalDamage,
  report: JournalRepairReport,
): void {
  const { files, directory } = options;
  const segments = parseSegmentNames(files.list(directory));
  const index = segments.findIndex((segment) => segment.name === damage.segment);
  const segment = segments[index];
  if (segment === undefined) {
    // The newest segment is gone as a whole: the log goes on from the remaining ones.
    const [missing] = parseSegmentNames([damage.segment]);
    report.lost.push({ firstLost: missing?.firstLsn ?? 0, lastLost: Infinity });
    writeNewestSegmentName(files, directory, segments.at(-1)?.name ?? "");
    return;
  }
  const tail = recoverTailBefore(options, damage.segment);
  const bytes = readWhole(files, `${directory}/${segment.name}`);
  const header = decodeSegmentHeader(bytes);
  assertRepairable(options, damage, tail, header);
  if (header !== undefined && header.firstLsn > tail.lsn + 1) {
    insertGapSegment(options, tail, header, report);
    return;
  }
  const following = segments[index + 1];
  const next = following === undefined ? undefined : readSegmentHeader(options, following.name);
  const salvage = salvageSegment({
    bytes: header === undefined ? rebuildHeader(options, bytes, tail) : bytes,
    lsn: tail.lsn,
    next: next && { firstLsn: next.firstLsn, chain: next.previousChain },
    key: options.key,
    timeUs: options.nowMs * 1000,
  });
  report.lost.push(...salvage.lost);
  report.bytesLost += salvage.bytesLost;
  report.quarantined.push(quarantine(files, directory, segment.name, bytes));
  const target = formatSegmentName(tail.lsn + 1);
  replaceFile(files, directory, target, Buffer.concat(salvage.parts));
  if (target !== segment.name) files.remove(`${directory}/${segment.name}`);
  if (following === undefined) writeNewestSegmentName(files, directory, target);
}

function assertRepairable(
  options: JournalRepairOptions,
  damage: JournalDamage,
  tail: JournalTail,
  header: SegmentHeader | undefined,
): void {
  if (header === undefined) return;
  const where = `in ${damage.segment}`;
  if (!header.publicKey.equals(options.key.publicKey)) {
    throw new JournalRepairRefused(`${damage.reason} ${where}, which another key has signed`);
  }
  if (header.firstLsn <= tail.lsn) {
    throw new JournalRepairRefused(
      `positions from ${header.firstLsn} on exist twice, again ${where}`,
    );
  }
  if (header.firstLsn === tail.lsn + 1 && !header.previousChain.equals(tail.chain)) {
    throw new JournalRepairRefused(
      `the hash chain does not continue ${where}: it is of another journal`,
    );
  }
}

/** Whole segments are missing before this one: one that only holds the gap takes their place. */
function insertGapSegment(
  options: JournalRepairOptions,
  tail: JournalTail,
  header: SegmentHeader,
  report: JournalRepairReport,
): void {
  const { files, directory } = options;
  const salvage = salvageSegment({
    bytes: rebuildHeader(options, Buffer.alloc(SEGMENT_HEADER_BYTES), tail),
    lsn: tail.lsn,
    next: { firstLsn: header.firstLsn, chain: header.previousChain },
    key: options.key,
    timeUs: options.nowMs * 1000,
  });
  report.lost.push(...salvage.lost);
  replaceFile(files, directory, formatSegmentName(tail.lsn + 1), Buffer.concat(salvage.parts));
}

/** The segment with a header rebuilt from the segment before it. */
function rebuildHeader(options: JournalRepairOptions, bytes: Buffer, tail: JournalTail): Buffer {
  const { key, epoch } = options;
  const header = encodeSegmentHeader({
    nodeId: key.publicKey.subarray(0, 16),
    epoch,
    firstLsn: tail.lsn + 1,
    publicKey: key.publicKey,
    previousChain: tail.chain,
  });
  return Buffer.concat([header, bytes.subarray(SEGMENT_HEADER_BYTES)]);
}

/** End of the verified part before a segment. */
function recoverTailBefore(options: JournalRepairOptions, name: string): JournalTail {
  const { files, directory } = options;
  const isBefore = (other: string) => other < name && other !== NEWEST_FILE;
  const view: FileLayer = { ...files, list: (path) => files.list(path).filter(isBefore) };
  const isReadOnly = true;
  return recoverJournal(view, directory, () => undefined, { isReadOnly }).tail;
}

function readSegmentHeader(options: JournalRepairOptions, name: string): SegmentHeader {
  const header = decodeSegmentHeader(readWhole(options.files, `${options.directory}/${name}`));
  if (header === undefined) {
    throw new JournalRepairRefused(
      `${name} is damaged at its head too: nothing says how the log continues`,
    );
  }
  return header;
}

/** Keeps the bytes of a damaged segment beside it, durably. Returns the file's name. */
export function quarantine(
  files: FileLayer,
  directory: string,
  segment: string,
  bytes: Buffer,
): string {
  const name = findQuarantineName(files, directory, segment);
  replaceFile(files, directory, name, bytes);
  return name;
}

/** A name that is free for a damaged segment. */
export function findQuarantineName(files: FileLayer, directory: string, segment: string): string {
  const names = files.list(directory);
  let number = 1;
  while (names.includes(`quarantine-${number}-${segment}`)) number++;
  return `quarantine-${number}-${segment}`;
}
