// Decision records of earlier versions in the form of today's: an upgrade may find spool files that
// the version before it left waiting. What they did not record is empty or 0.
import {
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_TEXTS,
  TEXT_COUNT,
} from "./ring-layout.ts";

/** "TRSQ": records of eleven texts and 29 inputs. */
const MAGIC_OF_29 = 0x51535254;
/** "TRSP": the same with ten texts; the eleventh length was never written. */
const MAGIC_OF_TEN = 0x50535254;
const OLD_INPUT_COUNT = 29;
const OLD_OFFSET_TEXTS = OFFSET_NUMBERS + 8 * (NUMBER_COUNT + OLD_INPUT_COUNT);
/** Where each input of today stood among the 29, as far as it was there. */
const OLD_INPUT_INDEXES = [
  0, 1, 2, 3, 4, 5, 6, 7, 19, 20, 21, 22, 23, 28, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
];

/**
 * Records of a block of an earlier version as today's; undefined for a magic that never was, or when
 * `stored` finds that they do not verify. A record of an impossible length ends them.
 */
export function upgradeRecords(
  magic: number,
  stored: () => Buffer | undefined,
): Buffer | undefined {
  if (magic !== MAGIC_OF_29 && magic !== MAGIC_OF_TEN) return undefined;
  const records = stored();
  if (records === undefined) return undefined;
  const parts: Buffer[] = [];
  for (let at = 0; at + 4 <= records.byteLength;) {
    const length = records.readUInt32LE(at);
    if (length < OLD_OFFSET_TEXTS || at + length > records.byteLength) break;
    parts.push(upgradeRecord(records.subarray(at, at + length), magic === MAGIC_OF_TEN));
    at += length;
  }
  return Buffer.concat(parts);
}

function upgradeRecord(record: Buffer, isOfTen: boolean): Buffer {
  const grown = 8 * (INPUT_COUNT - OLD_INPUT_COUNT);
  const longer = Buffer.alloc(record.byteLength + grown);
  record.copy(longer, 0, 0, OFFSET_NUMBERS + 8 * NUMBER_COUNT);
  longer.writeUInt32LE(longer.byteLength, 0);
  if (isOfTen) longer.writeUInt16LE(0, OFFSET_LENGTHS + 2 * (TEXT_COUNT - 1));
  const inputsAt = OFFSET_NUMBERS + 8 * NUMBER_COUNT;
  OLD_INPUT_INDEXES.forEach((place, i) => {
    record.copy(longer, inputsAt + 8 * i, inputsAt + 8 * place, inputsAt + 8 * (place + 1));
  });
  record.copy(longer, OFFSET_TEXTS, OLD_OFFSET_TEXTS);
  return longer;
}
