// Writing of one record of a decision ring, without allocation: indexes, numbers, inputs, texts, and the
// id of the trace where there is one.
import { type DecisionEntry, NOT_APPLICABLE } from "../../contract/decisions.ts";
import {
  FLAG_ENFORCED,
  FLAG_FLAGGED,
  FLAG_KNOWN,
  FLAG_LET_THROUGH,
  FLAG_RESERVED,
  FLAG_SESSION,
  FLAG_TRACED,
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_INDEXES,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_SESSION,
  OFFSET_TEXTS,
  SESSION_SECONDS_MAX,
  TRACE_BYTES,
} from "./ring-layout.ts";

/** Views over the bytes that a record is written to. */
export interface Target {
  bytes: Uint8Array;
  lengths: Uint16Array;
  words: Uint32Array;
  numbers: Float64Array;
}

export function targetOf(buffer: ArrayBufferLike, offset: number, length: number): Target {
  return {
    bytes: new Uint8Array(buffer, offset, length),
    lengths: new Uint16Array(buffer, offset, length / 2),
    words: new Uint32Array(buffer, offset, length / 4),
    numbers: new Float64Array(buffer, offset, length / 8),
  };
}

const encoder = new TextEncoder();

/** Bytes an entry takes at most: every UTF-16 unit is up to three bytes. */
export function bytesMaxOf(entry: DecisionEntry): number {
  let units = entry.requestId.length + entry.subject.length + entry.viewer.length;
  units += entry.action.length + entry.logReason.length + entry.hardFailureCode.length;
  units += entry.configVersion.length + entry.policyVersion.length;
  units += entry.principal.tenant.length;
  units += entry.principal.keyId.length;
  const { reasonCodes } = entry;
  for (let index = 0; index < reasonCodes.length; index += 1) {
    units += reasonCodes[index]!.length + 1;
  }
  const traceBytes = entry.traceId === "" ? 0 : TRACE_BYTES;
  return ((OFFSET_TEXTS + 3 * units + 7) & ~7) + traceBytes;
}

/** Writes all but the length at `at` of `target`; returns it, a multiple of 8. */
export function writeEntry(target: Target, at: number, entry: DecisionEntry): number {
  const { bytes, lengths } = target;
  writeIndexes(bytes, at + OFFSET_INDEXES, entry);
  if (entry.sessionSeconds >= 0) writeSession(bytes, at + OFFSET_SESSION, entry.sessionSeconds);
  writeNumbers(target.numbers, (at + OFFSET_NUMBERS) / 8, entry);
  const slot = (at + OFFSET_LENGTHS) / 2;
  let to = at + OFFSET_TEXTS;
  to += lengths[slot] = writeText(bytes, to, entry.requestId);
  to += lengths[slot + 1] = writeText(bytes, to, entry.principal.tenant);
  to += lengths[slot + 2] = writeText(bytes, to, entry.principal.keyId);
  to += lengths[slot + 3] = writeText(bytes, to, entry.subject);
  to += lengths[slot + 4] = writeText(bytes, to, entry.viewer);
  to += lengths[slot + 5] = writeText(bytes, to, entry.action);
  to += lengths[slot + 6] = writeText(bytes, to, entry.logReason);
  to += lengths[slot + 7] = writeText(bytes, to, entry.hardFailureCode);
  to += lengths[slot + 8] = writeText(bytes, to, entry.configVersion);
  to += lengths[slot + 9] = writeCodes(bytes, to, entry.reasonCodes);
  to += lengths[slot + 10] = writeText(bytes, to, entry.policyVersion);
  const length = (to - at + 7) & ~7;
  if (entry.traceId === "") return length;
  writeTraceId(bytes, at + length, entry.traceId);
  return length + TRACE_BYTES;
}

function writeIndexes(bytes: Uint8Array, at: number, entry: DecisionEntry): void {
  bytes[at] = entry.kindIndex;
  bytes[at + 1] = entry.legIndex;
  bytes[at + 2] = entry.toolLevelIndex;
  bytes[at + 3] = entry.verdictIndex;
  bytes[at + 4] = entry.decisionIndex;
  bytes[at + 5] = entry.legDecisionIndex;
  bytes[at + 6] = entry.tierIndex;
  bytes[at + 7] = entry.regimeIndex < 0 ? NOT_APPLICABLE : entry.regimeIndex;
  bytes[at + 8] =
    (entry.isLetThrough ? FLAG_LET_THROUGH : 0) |
    (entry.isFlagged ? FLAG_FLAGGED : 0) |
    (entry.isKnown ? FLAG_KNOWN : 0) |
    (entry.isReserved ? FLAG_RESERVED : 0) |
    (entry.sessionSeconds >= 0 ? FLAG_SESSION : 0) |
    (entry.isEnforced ? FLAG_ENFORCED : 0) |
    (entry.traceId === "" ? 0 : FLAG_TRACED);
}

function writeSession(bytes: Uint8Array, at: number, seconds: number): void {
  const kept = Math.min(seconds, SESSION_SECONDS_MAX);
  bytes[at] = kept;
  bytes[at + 1] = kept >> 8;
  bytes[at + 2] = kept >> 16;
}

function writeNumbers(numbers: Float64Array, at: number, entry: DecisionEntry): void {
  numbers[at] = entry.evaluatedAtMs;
  numbers[at + 1] = entry.stakes;
  numbers[at + 2] = entry.failureProbability;
  numbers[at + 3] = entry.failureOptimistic;
  numbers[at + 4] = entry.failurePessimistic;
  numbers[at + 5] = entry.scoreInternal;
  numbers[at + 6] = entry.scoreEffective;
  numbers[at + 7] = entry.stakesMax;
  numbers[at + 8] = entry.scoreMinimum;
  const { inputs } = entry;
  const from = at + NUMBER_COUNT;
  for (let index = 0; index < INPUT_COUNT; index += 1) numbers[from + index] = inputs[index]!;
}

/** Texts are nearly always ASCII; the encoder takes the others. */
function writeText(bytes: Uint8Array, at: number, text: string): number {
  const { length } = text;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) {
      const encoded = encoder.encode(text);
      bytes.set(encoded, at);
      return encoded.length;
    }
    bytes[at + index] = code;
  }
  return length;
}

/** 32 hexadecimal digits in lower case as 16 bytes. */
function writeTraceId(bytes: Uint8Array, at: number, traceId: string): void {
  for (let index = 0; index < TRACE_BYTES; index += 1) {
    bytes[at + index] = (digitAt(traceId, 2 * index) << 4) | digitAt(traceId, 2 * index + 1);
  }
}

function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < A ? code - ZERO : code - A + 10;
}

const ZERO = 0x30;
const A = 0x61;
const COMMA = 0x2c;

function writeCodes(bytes: Uint8Array, at: number, codes: readonly string[]): number {
  let to = at;
  for (let index = 0; index < codes.length; index += 1) {
    if (index > 0) bytes[to++] = COMMA;
    to += writeText(bytes, to, codes[index]!);
  }
  return to - at;
}
