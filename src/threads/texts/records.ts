// How the vault's threads read single records of the journal: for texts that a start has left to be
// indexed later.
import { nodeFiles } from "../../journal/files.ts";
import { FRAME_BYTES, frameLength } from "../../journal/format.ts";
import { readFrames } from "../../journal/places.ts";
import { VaultAssessor } from "../../vault/assessment/assessor.ts";
import type { ReadRecord } from "../../vault/grounding/backlog-indexer.ts";
import type { VaultMemory } from "../../vault/memory.ts";

/** The payload of a frame, a view. */
export function payloadAt(bytes: Buffer, at: number): Uint8Array {
  const start = at + FRAME_BYTES;
  return bytes.subarray(start, start + frameLength(bytes, at));
}

/** Reads payloads in the journal that fills `memory`. Throws JournalDamaged. */
export function recordReader({ journal }: VaultMemory): ReadRecord {
  return (place) => {
    let payload: Uint8Array = new Uint8Array();
    readFrames(nodeFiles, journal, [place], (bytes, at) => {
      payload = payloadAt(bytes, at);
    });
    return payload;
  };
}

/** An assessor for this thread that indexes what it needs and nobody has indexed yet. */
export function openAssessor(
  memory: VaultMemory,
  clock: () => number,
  workMax?: number,
): VaultAssessor {
  return new VaultAssessor(memory, clock, workMax, recordReader(memory));
}
