// Identifiers of the agent table by row number, for those who list all agents. Rows and identifiers are
// published before the count that admits them, and never move.
import {
  CHUNK_DIRECTORY_BASE,
  CHUNK_ROWS_LOG2,
  ROW_ID_LENGTH,
  ROW_ID_PTR,
  ROW_STRIDE,
  SCRATCH_SLOTS,
} from "../../assembly/layout.ts";

/** Scratch slot of the thread that lists agents: others take theirs from the first on. */
export const AGENT_LISTING_SLOT = SCRATCH_SLOTS - 1;

const CHUNK_MASK = (1 << CHUNK_ROWS_LOG2) - 1;

/** Identifiers of rows `first` to `end` (exclusive), all below the table's agent count. */
export function readAgentIdentifiers(
  memory: WebAssembly.Memory,
  first: number,
  end: number,
): string[] {
  // A shared memory that grew has a new buffer: the view is made for each call.
  const view = new DataView(memory.buffer);
  const found: string[] = [];
  for (let row = first; row < end; row++) {
    const entry = CHUNK_DIRECTORY_BASE + (row >>> CHUNK_ROWS_LOG2) * 4;
    const record = view.getUint32(entry, true) + (row & CHUNK_MASK) * ROW_STRIDE;
    const at = view.getUint32(record + ROW_ID_PTR, true);
    const length = view.getUint16(record + ROW_ID_LENGTH, true);
    found.push(Buffer.from(memory.buffer, at, length).toString());
  }
  return found;
}
