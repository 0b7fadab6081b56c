// A journal copied from another node, segment by segment: each is verified and continues the chain before
// it takes its place, so that whatever is there at any moment is a beginning of the cluster's journal.
import { type FileLayer, readWhole, replaceFile } from "../../platform/files.ts";
import {
  CHAIN_START,
  decodeSegmentHeader,
  formatSegmentName,
  parseSegmentNames,
} from "../../journal/format.ts";
import type { BureauKey } from "../../journal/signing-key.ts";
import { type JournalPoint, recoverJournal } from "../../journal/recovery.ts";
import { verifySegment } from "../backup/segments.ts";

/** What is there or was fetched is not the same journal: the sentence says what. */
export class BootstrapRefused extends Error {}

export class JournalBootstrap {
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #key: BureauKey;
  /** End of the segment before the one that is due. */
  #before: JournalPoint = { lsn: 0, chain: CHAIN_START };
  #lsn: number;

  /**
   * Takes up a copy that was cut short, or a node that was left behind.
   * @throws JournalDamaged when what is there does not verify.
   */
  constructor(files: FileLayer, directory: string, key: BureauKey) {
    this.#files = files;
    this.#directory = directory;
    this.#key = key;
    files.makeDirectory(directory);
    const { tail } = recoverJournal(files, directory, () => undefined);
    this.#lsn = tail.lsn;
    if (tail.header === undefined) return;
    this.#before = { lsn: tail.header.firstLsn - 1, chain: tail.header.previousChain };
  }

  /** Position of the last record that is there. */
  get lsn(): number {
    return this.#lsn;
  }

  /** First position of the segment that is due: what is before it is there. */
  get nextFirstLsn(): number {
    return this.#before.lsn + 1;
  }

  /**
   * Puts the segment that is due in place.
   * @returns whether it is now longer than before.
   * @throws CopyRefused, JournalDamaged when it is not this journal's.
   */
  installSegment(bytes: Buffer): boolean {
    const name = formatSegmentName(this.nextFirstLsn);
    const { end, lsn, chain } = verifySegment(bytes, this.nextFirstLsn, this.#before, false);
    const whole = bytes.subarray(0, end);
    const own = this.#readLocalSegment(name);
    const shared = Math.min(own.byteLength, end);
    if (!own.subarray(0, shared).equals(whole.subarray(0, shared))) {
      throw new BootstrapRefused(
        `\`${name}\` of the other node is not this journal's: use an empty directory`,
      );
    }
    if (!decodeSegmentHeader(whole)!.publicKey.equals(this.#key.publicKey)) {
      throw new BootstrapRefused(`\`${name}\` is signed with another key than \`bureau.key\``);
    }
    this.#before = { lsn, chain };
    if (end <= own.byteLength) return false;
    replaceFile(this.#files, this.#directory, name, whole);
    this.#lsn = lsn;
    return true;
  }

  #readLocalSegment(name: string): Buffer {
    const isThere = parseSegmentNames(this.#files.list(this.#directory)).some(
      (each) => each.name === name,
    );
    return isThere ? readWhole(this.#files, `${this.#directory}/${name}`) : Buffer.alloc(0);
  }
}
