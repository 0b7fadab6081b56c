// Reads the lines of a file in pieces, so that a history of any size needs a fixed amount of
// memory. Synchronous: an import waits for the journal between pieces anyway, never inside one.
import { closeSync, openSync, readSync } from "node:fs";
import { CommandFailure } from "../failure.ts";

const PIECE_BYTES = 256 * 1024;
/** Longer than any outcome may be; a "line" beyond it means that the file is something else. */
export const LINE_BYTES_MAX = 64 * 1024;

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = "\uFEFF";

export interface TextLine {
  /** Counted from 1, blank lines included. */
  readonly number: number;
  readonly text: string;
  /** With its line break, for progress. */
  readonly bytes: number;
}

/**
 * Every line that is not blank, without its line break.
 * @throws Error when a line is longer than LINE_BYTES_MAX.
 */
export function* readLines(path: string): Generator<TextLine> {
  const descriptor = openSync(path, "r");
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  try {
    for (;;) {
      const taken = readSync(descriptor, piece, 0, PIECE_BYTES, null);
      const isEnd = taken === 0;
      const bytes = Buffer.concat([rest, piece.subarray(0, taken)]);
      let start = 0;
      for (;;) {
        const newline = bytes.indexOf(NEWLINE, start);
        if (newline < 0 && !(isEnd && start < bytes.length)) break;
        const end = newline < 0 ? bytes.length : newline;
        number += 1;
        if (end - start > LINE_BYTES_MAX) throw createLineTooLongFailure(number);
        const text = decodeLine(bytes, start, end, number === 1);
        const lineBytes = Math.min(end + 1, bytes.length) - start;
        start = end + 1;
        if (text !== "") yield { number, text, bytes: lineBytes };
        if (newline < 0) break;
      }
      if (isEnd) return;
      rest = bytes.subarray(start);
      if (rest.length > LINE_BYTES_MAX) throw createLineTooLongFailure(number + 1);
    }
  } finally {
    closeSync(descriptor);
  }
}

function decodeLine(bytes: Buffer, start: number, end: number, isFirst: boolean): string {
  const text = bytes.toString("utf8", start, end).trim();
  return isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function createLineTooLongFailure(number: number): CommandFailure {
  return new CommandFailure(`line ${number} is longer than ${LINE_BYTES_MAX} bytes`);
}
