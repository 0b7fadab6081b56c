// Reads single records of the journal for the vault's threads: texts that a start has left to be
// indexed later.
import { diskFileLayer } from "../../platform/files.ts";
import { FRAME_HEAD_BYTES, readPayloadLength } from "../../journal/format.ts";
import { visitFramesAt } from "../../journal/places.ts";
import { VaultAssessor } from "../../vault/assessment/assessor.ts";
import type { TextRecordReader } from "../../vault/grounding/backlog-indexer.ts";
import type { VaultMemory } from "../../vault/memory.ts";

/** The payload of a frame, a view. */
export function viewPayloadAt(bytes: Buffer, at: number): Uint8Array {
  const start = at + FRAME_HEAD_BYTES;
  return bytes.subarray(start, start + readPayloadLength(bytes, at));
}

/**
 * Reads payloads in the journal that fills `memory`.
 * @throws JournalDamaged when a record is missing or does not verify.
 */
export function createRecordReader({ journal }: VaultMemory): TextRecordReader {
  return (place) => {
    let payload: Uint8Array = new Uint8Array();
    visitFramesAt(diskFileLayer, journal, [place], (bytes, at) => {
      payload = viewPayloadAt(bytes, at);
    });
    return payload;
  };
}

/** Opens an assessor for this thread; it indexes a text that it needs and that has no index yet. */
export function openAssessor(
  memory: VaultMemory,
  clock: () => number,
  workMax?: number,
): VaultAssessor {
  return new VaultAssessor(memory, clock, workMax, createRecordReader(memory));
}
