// Failures of the journal, as types. The ledger never calls exit: the composition root maps
// `exitCode` (65 damaged evidence, 70 nothing can be recorded any more) to the end of the process.

/** Place where verification stopped, for a person to read. */
export interface JournalDamage {
  /** File name inside the journal directory. */
  readonly segment: string;
  /** Byte offset in that file. */
  readonly offset: number;
  /** The last position that verified. */
  readonly afterLsn: number;
  /** One line, lower case, no full stop. */
  readonly reason: string;
  /** Of an end that is lost: the position up to which the journal is known to have been durable. */
  readonly lostUpto?: number;
}

/** Evidence in the middle of the journal does not verify: start is refused until repaired. */
export class JournalDamaged extends Error {
  readonly exitCode = 65;
  readonly damage: JournalDamage;

  constructor(damage: JournalDamage) {
    super(
      `journal damaged: ${damage.reason} in ${damage.segment} at byte ${damage.offset}, ` +
        `after position ${damage.afterLsn}`,
    );
    this.name = "JournalDamaged";
    this.damage = damage;
  }
}

/** The journal ends before a position that is known to have been durable: its tail is lost. */
export class JournalEndLost extends Error {
  readonly exitCode = 65;

  /** `knownBy`: who knows of the position. */
  constructor(endLsn: number, knownLsn: number, knownBy: string) {
    super(`journal damaged: ${formatEndLostReason(endLsn, knownLsn, knownBy)}`);
    this.name = "JournalEndLost";
  }
}

/** Says which positions are lost at the journal's end, as a damage's reason. */
export function formatEndLostReason(endLsn: number, knownLsn: number, knownBy: string): string {
  return `positions ${endLsn + 1} to ${knownLsn} are missing at its end, says ${knownBy}`;
}

/**
 * A write or sync failed in a way that leaves the content of the disk unknown. The descriptor is
 * never used again: the kernel may have dropped the dirty pages, so a second sync that succeeds
 * would prove nothing.
 */
export class JournalBroken extends Error {
  readonly exitCode = 70;

  constructor(detail: string, options?: ErrorOptions) {
    super(`journal broken: ${detail}`, options);
    this.name = "JournalBroken";
  }
}

/** Another process owns the data directory now: what this one would still write is not evidence. */
export class OwnershipLost extends Error {
  readonly exitCode = 70;

  /** `by`: the new owner, as far as it is known. `epoch`: of this process. */
  constructor(by: string, epoch: number) {
    super(`the data directory was taken over by ${by}, from this process with epoch ${epoch}`);
    this.name = "OwnershipLost";
  }
}

/** The disk is full. The journal is back at its last commit; the next append may succeed. */
export class JournalFull extends Error {
  constructor(detail: string, options?: ErrorOptions) {
    super(`journal full: ${detail}`, options);
    this.name = "JournalFull";
  }
}

/** What an operator is told of a file that cannot be used. Lower case, no full stops. */
export interface UnusableFile {
  readonly path: string;
  readonly reason: string;
  readonly advice: string;
}

/**
 * A file of the data directory is there and cannot be used. It is never made anew by itself: it may
 * be the only copy, with a few bytes gone.
 */
export class FileUnusable extends Error {
  readonly exitCode = 65;
  readonly file: UnusableFile;

  constructor(file: UnusableFile) {
    super(`\`${file.path}\` cannot be used, ${file.reason}: ${file.advice}`);
    this.name = "FileUnusable";
    this.file = file;
  }
}
