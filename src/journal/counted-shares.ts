// Shares of failures that the cap of an incident cut: which records counted for less than their weight when
// they were folded. The fold alone knows it, and the outcome store, which reads the journal by itself,
// shows it. A file beside the journal, rebuilt by a replay from the start.
import * as fs from "node:fs";
import { dirname, join } from "node:path";

/** Position and share, f64 each, in order of position. */
const ENTRY_BYTES = 16;
const READ_ENTRIES = 4096;
/** Entries that wait to be written, in a replay. */
const PENDING_ENTRIES_MAX = 4096;
const FILE_NAME = "counted-shares";

/** Its path, by that of the journal. */
export function resolveCountedSharesPath(journal: string): string {
  return join(dirname(journal), FILE_NAME);
}

/** Writes the shares; of the ledger's thread. */
export class CountedShareLog {
  readonly #file: number;
  #pending: number[] = [];

  /** Entries after `keptLsn` are removed: the replay that follows writes them again. */
  constructor(path: string, keptLsn: number) {
    this.#file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
    const kept = new CountedShareReader(path).readRange(0, keptLsn).size;
    fs.ftruncateSync(this.#file, kept * ENTRY_BYTES);
  }

  /** Takes the share of the record at `lsn` if it is less than 1. Positions rise. */
  add(lsn: number, share: number): void {
    if (share >= 1) return;
    this.#pending.push(lsn, share);
    if (this.#pending.length >= 2 * PENDING_ENTRIES_MAX) this.flush();
  }

  /** Before anyone is told that these records are durable. */
  flush(): void {
    if (this.#pending.length === 0) return;
    const bytes = Buffer.from(Float64Array.from(this.#pending).buffer);
    this.#pending = [];
    fs.writeSync(this.#file, bytes, 0, bytes.byteLength, fs.fstatSync(this.#file).size);
  }

  /** Before a snapshot: a start from it does not fold earlier records. */
  sync(): void {
    this.flush();
    fs.fdatasyncSync(this.#file);
  }

  close(): void {
    this.flush();
    fs.closeSync(this.#file);
  }
}

/** Reads the shares of ranges of positions; a range behind the last one costs only what is new. */
export class CountedShareReader {
  readonly #path: string;
  #offset = 0;
  #passedLsn = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Shares of the records after `fromLsn`, up to `uptoLsn`, by position: those below 1. */
  readRange(fromLsn: number, uptoLsn: number): Map<number, number> {
    const shares = new Map<number, number>();
    if (!fs.existsSync(this.#path)) return shares;
    if (fromLsn < this.#passedLsn) this.#offset = 0;
    const file = fs.openSync(this.#path, "r");
    try {
      const { size } = fs.fstatSync(file);
      if (this.#offset > size) this.#offset = 0;
      this.#readEntries(file, (lsn, share) => {
        if (lsn > uptoLsn) return false;
        if (lsn > fromLsn) shares.set(lsn, share);
        return true;
      });
    } finally {
      fs.closeSync(file);
    }
    this.#passedLsn = uptoLsn;
    return shares;
  }

  /** Moves behind each entry that `take` takes, up to the first that it does not. */
  #readEntries(file: number, take: (lsn: number, share: number) => boolean): void {
    const bytes = Buffer.allocUnsafe(READ_ENTRIES * ENTRY_BYTES);
    for (;;) {
      const count = fs.readSync(file, bytes, 0, bytes.byteLength, this.#offset);
      const whole = count - (count % ENTRY_BYTES);
      if (whole === 0) return;
      for (let at = 0; at < whole; at += ENTRY_BYTES) {
        if (!take(bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8))) return;
        this.#offset += ENTRY_BYTES;
      }
    }
  }
}
