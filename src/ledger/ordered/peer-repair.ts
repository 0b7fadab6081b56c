// Damaged segments of a journal, mended from other nodes, whose journals are the same bytes. What was fetched
// takes its place only when it verifies, continues what is before it, leads to what is behind it, begins
// with all that still verifies here and is signed with the same key; the damaged file is kept.
import {
  readErrno,
  type FileLayer,
  readFileRange,
  readWhole,
  replaceFile,
} from "../../platform/files.ts";
import { JournalDamaged } from "../../journal/faults.ts";
import {
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  formatSegmentName,
  parseSegmentNames,
} from "../../journal/format.ts";
import {
  type JournalPoint,
  type KnownDurablePosition,
  readNewestSegmentName,
  writeNewestSegmentName,
} from "../../journal/recovery.ts";
import { quarantine, findQuarantineName } from "../../journal/repair.ts";
import { scanBatches } from "../../journal/scan.ts";
import { verifySegment, JOURNAL_START } from "../backup/segments.ts";

/** No node has the segment that is needed: the sentence says why not, of each. */
export class PeerRepairRefused extends Error {}

export interface SegmentPeer {
  /** For sentences. */
  readonly name: string;
  /** Whether it has a segment of this name. */
  has(segment: string): Promise<boolean>;
  /** @throws Error with a sentence when it cannot be had. */
  fetch(segment: string): Promise<Buffer>;
}

export interface PeerRepairOptions {
  readonly files: FileLayer;
  readonly directory: string;
  readonly publicKey: Buffer;
  readonly peers: readonly SegmentPeer[];
  /** What the newest segment must reach; undefined: a service writes it, and it is left alone. */
  readonly known: KnownDurablePosition | undefined;
}

export interface PeerRepairedSegment {
  readonly segment: string;
  readonly reason: string;
  /** Name of the node that had it. */
  readonly from: string;
  /** Name of the damaged file as it is kept; undefined where there was none. */
  readonly kept: string | undefined;
}

export interface PeerRepairReport {
  /** That verify now. */
  readonly segments: number;
  readonly lsn: number;
  readonly mended: readonly PeerRepairedSegment[];
}

/** A segment that does not verify, and what is still known of it. */
interface DamagedSegment {
  readonly reason: string;
  /** Undefined where the file is missing or cannot be read. */
  readonly own: Buffer | undefined;
  readonly isThere: boolean;
}

interface DueSegment {
  readonly name: string;
  readonly first: number;
  /** The one behind it that is there; undefined for the newest. */
  readonly next: { readonly name: string; readonly firstLsn: number } | undefined;
}

/**
 * Verifies the segments in order and mends each that is damaged or missing. What was mended stays so when a
 * later one cannot be.
 * @throws MendRefused.
 */
export function repairFromPeers(options: PeerRepairOptions): Promise<PeerRepairReport> {
  return new PeerRepair(options).run();
}

class PeerRepair {
  readonly #options: PeerRepairOptions;
  #before: JournalPoint = JOURNAL_START;
  /** Key that signed the segment before. */
  #keyBefore: Buffer | undefined;

  constructor(options: PeerRepairOptions) {
    this.#options = options;
  }

  async run(): Promise<PeerRepairReport> {
    const mended: PeerRepairedSegment[] = [];
    for (let segments = 0; ; segments++) {
      const due = this.#findDueSegment();
      if (due === undefined) return { segments, lsn: this.#before.lsn, mended };
      const damaged = this.#inspectSegment(due);
      // oxlint-disable-next-line no-await-in-loop -- each continues the one before
      const found = damaged === undefined ? undefined : await this.#repairSegment(due, damaged);
      if (found !== undefined) mended.push(found);
      const { lsn } = this.#before;
      if (due.next === undefined && lsn >= this.#known)
        return { segments: segments + 1, lsn, mended };
    }
  }

  get #known(): number {
    return this.#options.known?.lsn ?? 0;
  }

  /** The segment that follows; undefined where none does, or the one that a service writes. */
  #findDueSegment(): DueSegment | undefined {
    const { files, directory, known } = this.#options;
    const names = files.list(directory);
    const first = this.#before.lsn + 1;
    const name = formatSegmentName(first);
    const next = parseSegmentNames(names).find((each) => each.firstLsn > first);
    if (next === undefined) {
      if (known === undefined) return undefined;
      const newest = readNewestSegmentName(files, directory, names);
      if (!names.includes(name) && newest < name && this.#before.lsn >= known.lsn) return undefined;
    }
    return { name, first, next };
  }

  /** Goes on behind it when it verifies, else says what is wrong. */
  #inspectSegment(due: DueSegment): DamagedSegment | undefined {
    const { files, directory } = this.#options;
    if (!files.list(directory).includes(due.name)) {
      return { reason: "it is missing", own: undefined, isThere: false };
    }
    let own: Buffer;
    try {
      own = readWhole(files, `${directory}/${due.name}`);
    } catch (error) {
      if (readErrno(error) === "") throw error;
      const reason = `it cannot be read (${readErrno(error)})`;
      return { reason, own: undefined, isThere: true };
    }
    try {
      const end = this.#verifyPlacement(due, own);
      const short = this.#describeShortEnd(due, end.lsn);
      if (short !== undefined) throw this.#createDamage(due, end.lsn, short);
      this.#advanceBehind(end, own);
      return undefined;
    } catch (error) {
      if (!(error instanceof JournalDamaged)) throw error;
      return { reason: error.damage.reason, own, isThere: true };
    }
  }

  /**
   * End of a segment that verifies at this place.
   * @throws JournalDamaged.
   */
  #verifyPlacement(due: DueSegment, bytes: Buffer): JournalPoint & { readonly end: number } {
    const { first, next } = due;
    const { end, lsn, chain } = verifySegment(bytes, first, this.#before, next !== undefined);
    if (next !== undefined && lsn >= next.firstLsn) {
      throw this.#createDamage(due, lsn, `it continues past the beginning of \`${next.name}\``);
    }
    return { end, lsn, chain };
  }

  /** Says that a segment ends before what comes behind it; undefined when it does not. */
  #describeShortEnd({ next }: DueSegment, lsn: number): string | undefined {
    if (next === undefined) {
      const { known } = this.#options;
      if (known === undefined || lsn >= known.lsn) return undefined;
      return `it ends at position ${lsn}, and ${known.knownBy} knows of ${known.lsn}`;
    }
    if (lsn + 1 === next.firstLsn) return undefined;
    return `it ends at position ${lsn}, before \`${next.name}\``;
  }

  #createDamage({ name: segment }: DueSegment, afterLsn: number, reason: string): JournalDamaged {
    return new JournalDamaged({ segment, offset: 0, afterLsn, reason });
  }

  #advanceBehind({ lsn, chain }: JournalPoint, bytes: Buffer): void {
    this.#before = { lsn, chain };
    this.#keyBefore = decodeSegmentHeader(bytes)?.publicKey;
  }

  /** Undefined where the file turns out to be whole: what follows it is missing. */
  async #repairSegment(
    due: DueSegment,
    damaged: DamagedSegment,
  ): Promise<PeerRepairedSegment | undefined> {
    const refusals: string[] = [];
    for (const peer of this.#options.peers) {
      let fetched: Buffer;
      let end: JournalPoint & { readonly end: number };
      try {
        // oxlint-disable-next-line no-await-in-loop -- the next is asked when this one has it not
        fetched = await peer.fetch(due.name);
        // oxlint-disable-next-line no-await-in-loop
        end = await this.#verifyFetched(due, damaged, peer, fetched);
      } catch (error) {
        refusals.push(`${peer.name}: ${(error as Error).message}`);
        continue;
      }
      const whole = fetched.subarray(0, end.end);
      this.#advanceBehind(end, whole);
      if (damaged.own?.equals(whole) === true) return undefined;
      const kept = this.#replaceSegment(due, damaged, whole);
      return { segment: due.name, reason: damaged.reason, from: peer.name, kept };
    }
    const which = `\`${due.name}\` (${damaged.reason})`;
    throw new PeerRepairRefused(`no node gave ${which} whole: ${refusals.join("; ")}`);
  }

  /** @throws JournalDamaged, MendRefused when it is not the segment that was here. */
  async #verifyFetched(due: DueSegment, { own }: DamagedSegment, peer: SegmentPeer, bytes: Buffer) {
    const end = this.#verifyPlacement(due, bytes);
    const { publicKey } = decodeSegmentHeader(bytes)!;
    const ownHeader = own && decodeSegmentHeader(own);
    const keys = [ownHeader?.publicKey, this.#keyBefore, this.#options.publicKey];
    if (!keys.some((key) => key?.equals(publicKey) === true)) {
      throw new PeerRepairRefused("it is signed with another key than this journal");
    }
    if (own !== undefined && ownHeader?.firstLsn === due.first) {
      const { end: sound } = scanBatches(own, SEGMENT_HEADER_BYTES, this.#before.lsn);
      if (!own.subarray(0, sound).equals(bytes.subarray(0, sound))) {
        throw new PeerRepairRefused("it is not what still verifies here");
      }
    }
    const short = this.#describeShortEnd(due, end.lsn);
    if (short !== undefined) {
      // Sealed there, with others behind it; else that node has not come as far.
      const isLonger = end.lsn > this.#before.lsn;
      if (isLonger && (await peer.has(formatSegmentName(end.lsn + 1)))) return end;
      throw new PeerRepairRefused(short);
    }
    if (due.next === undefined) return end;
    const chain = this.#readPreviousChain(due.next.name);
    if (chain !== undefined && !chain.equals(end.chain)) {
      throw new PeerRepairRefused(`it does not lead to \`${due.next.name}\``);
    }
    return end;
  }

  /** Chain that a segment says it continues; undefined where its header does not verify. */
  #readPreviousChain(name: string): Buffer | undefined {
    const { files, directory } = this.#options;
    try {
      const head = readFileRange(files, `${directory}/${name}`, 0, SEGMENT_HEADER_BYTES);
      return decodeSegmentHeader(head)?.previousChain;
    } catch (error) {
      if (readErrno(error) === "") throw error;
      return undefined;
    }
  }

  /** The damaged file is kept before another takes its name; nobody who reads finds none. */
  #replaceSegment(
    { name, next }: DueSegment,
    { own, isThere }: DamagedSegment,
    whole: Buffer,
  ): string | undefined {
    const { files, directory } = this.#options;
    let kept: string | undefined;
    if (own !== undefined) {
      kept = quarantine(files, directory, name, own);
    } else if (isThere) {
      // Its bytes cannot be read: the file itself is the evidence.
      kept = findQuarantineName(files, directory, name);
      files.rename(`${directory}/${name}`, `${directory}/${kept}`);
    }
    replaceFile(files, directory, name, whole);
    if (next === undefined) writeNewestSegmentName(files, directory, name);
    return kept;
  }
}
