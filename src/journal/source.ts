// Origin of an outcome (`source`), read off its frame without decoding the rest.
import { FRAME_HEAD_BYTES } from "./format.ts";
import { OUTCOME_HEAD_BYTES } from "./outcome.ts";

/*
 * The head of an outcome ends with eight lengths of two bytes: those of seven strings, of which the
 * source is the last, then that of the proof (drawn in journal/outcome.ts).
 */
const LENGTHS_AT = OUTCOME_HEAD_BYTES - 16;
const SOURCE_LENGTH_AT = OUTCOME_HEAD_BYTES - 4;

/** Whether the `source` of the outcome frame at `at` begins with these bytes. */
export function hasSourcePrefix(bytes: Buffer, at: number, prefix: Uint8Array): boolean {
  const head = at + FRAME_HEAD_BYTES;
  if (bytes.readUInt16LE(head + SOURCE_LENGTH_AT) < prefix.byteLength) return false;
  let from = head + OUTCOME_HEAD_BYTES;
  for (let length = LENGTHS_AT; length < SOURCE_LENGTH_AT; length += 2) {
    from += bytes.readUInt16LE(head + length);
  }
  for (let i = 0; i < prefix.byteLength; i++) if (bytes[from + i] !== prefix[i]) return false;
  return true;
}
