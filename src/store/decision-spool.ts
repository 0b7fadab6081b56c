// Where decisions wait while the service is busy: what the rings held, as it was, in one small file
// per drain. Writing it costs next to nothing; turning it into rows is dear and waits for quiet.
// Files survive a restart. A file's number is committed with its rows, so none is taken twice.
import * as fs from "node:fs";
import { join } from "node:path";

const SUFFIX = ".spool";

export class DecisionSpool {
  readonly #directory: string;
  /** Files in order of their number, oldest first. */
  #waiting: number[];
  #last: number;
  #bytes = 0;
  #oldestMs = 0;

  constructor(directory: string) {
    this.#directory = directory;
    fs.mkdirSync(directory, { recursive: true });
    this.#waiting = fs
      .readdirSync(directory)
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => Number.parseInt(name, 10))
      .toSorted((a, b) => a - b);
    this.#last = this.#waiting.at(-1) ?? 0;
    for (const number of this.#waiting) this.#bytes += fs.statSync(this.#path(number)).size;
  }

  get fileCount(): number {
    return this.#waiting.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Epoch ms at which the oldest file began to wait; files of an earlier life count from 0. */
  get oldestMs(): number {
    return this.#oldestMs;
  }

  /** Numbers up to this one were taken in an earlier life: what is left of them goes. */
  skipTo(taken: number): void {
    this.#last = Math.max(this.#last, taken);
    while (this.#waiting.length > 0 && this.#waiting[0]! <= taken) this.#drop();
  }

  /** Keeps the bytes of whole records. */
  put(parts: readonly Uint8Array[], nowMs: number): void {
    const number = this.#last + 1;
    const file = fs.openSync(this.#path(number), "wx");
    try {
      for (const part of parts) fs.writeSync(file, part);
    } finally {
      fs.closeSync(file);
    }
    this.#last = number;
    if (this.#waiting.length === 0) this.#oldestMs = nowMs;
    this.#waiting.push(number);
    for (const part of parts) this.#bytes += part.length;
  }

  /** The oldest file, or undefined. It stays until `taken`. */
  oldest(): { number: number; bytes: Buffer } | undefined {
    const number = this.#waiting[0];
    return number === undefined
      ? undefined
      : { number, bytes: fs.readFileSync(this.#path(number)) };
  }

  /** The oldest file's rows are committed. */
  taken(nowMs: number): void {
    this.#drop();
    this.#oldestMs = nowMs;
  }

  #drop(): void {
    const path = this.#path(this.#waiting.shift()!);
    this.#bytes -= fs.statSync(path).size;
    fs.rmSync(path);
  }

  #path(number: number): string {
    return join(this.#directory, `${number}${SUFFIX}`);
  }
}
