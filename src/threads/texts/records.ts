// Reads single records of the journal for the vault's threads: texts that a start has left to be
// indexed later.
import { nodeFiles } from "../../journal/files.ts";
import { FRAME_BYTES, frameLength } from "../../journal/format.ts";
import { readFrames } from "../../journal/places.ts";
import { VaultAssessor } from "../../vault/assessment/assessor.ts";
import type { ReadRecord } from "../../vault/grounding/backlog-indexer.ts";
import type { VaultMemory } from "../../vault/memory.ts";

/** The payload of a frame, a view. */
export function viewPayloadAt(bytes: Buffer, at: number): Uint8Array {
  const start = at + FRAME_BYTES;
  return bytes.subarray(start, start + frameLength(bytes, at));
}

/**
 * Reads payloads in the journal that fills `memory`.
 * @throws JournalDamaged when a record is missing or does not verify.
 */
export function createRecordReader({ journal }: VaultMemory): ReadRecord {
  return (place) => {
    let payload: Uint8Array = new Uint8Array();
    readFrames(nodeFiles, journal, [place], (bytes, at) => {
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
