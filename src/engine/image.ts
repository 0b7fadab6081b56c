// Image of the agent table as bytes, for snapshots: finds the parts of the shared memory in use,
// and restores them into a new one. Readers' scratch is left out. Only the writer's thread may use
// it, between two folds.
import { createHash } from "node:crypto";
import {
  HEADER_BASE,
  HEADER_HEAP_TOP,
  HEADER_MAGIC,
  HEAP_BASE,
  LAYOUT_VERSION,
  SCRATCH_BASE,
} from "../../assembly/layout.ts";
import { computeConfigDigest, type ScoringConfig } from "./config.ts";
import { readEngineModule } from "./memory.ts";

const PAGE_BYTES = 65_536;

/** Layout of the table's bytes: an image of another one is of no use. */
export const TABLE_LAYOUT: number = LAYOUT_VERSION;

/** Views of a table in use; see `tableImage`. */
export interface TableImage {
  readonly layoutVersion: number;
  /** Bytes of the two parts together. */
  countBytes(): number;
  /** Live views: header to config ring, then the heap up to its top. */
  viewParts(): Uint8Array[];
  /** Grows an empty memory for `bytes` of parts and gives the views to fill. */
  reserve(bytes: number): Uint8Array[];
  /** Empties a memory that was filled in vain. */
  wipe(): void;
}

/** The image of the table in `memory`. */
export function openTableImage(memory: WebAssembly.Memory): TableImage {
  const control = SCRATCH_BASE - HEADER_BASE;
  const heapTop = () => {
    const header = new DataView(memory.buffer, HEADER_BASE, SCRATCH_BASE - HEADER_BASE);
    // Before the first writer the header is zeros.
    return header.getUint32(HEADER_MAGIC, true) === 0
      ? HEAP_BASE
      : header.getUint32(HEADER_HEAP_TOP, true);
  };
  const views = (heapBytes: number) => [
    new Uint8Array(memory.buffer, HEADER_BASE, control),
    new Uint8Array(memory.buffer, HEAP_BASE, heapBytes),
  ];
  return {
    layoutVersion: LAYOUT_VERSION,
    countBytes: () => control + heapTop() - HEAP_BASE,
    viewParts: () => views(heapTop() - HEAP_BASE),
    reserve(bytes) {
      const missing = HEAP_BASE + bytes - control - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
      return views(bytes - control);
    },
    wipe() {
      for (const view of views(memory.buffer.byteLength - HEAP_BASE)) view.fill(0);
    },
  };
}

/**
 * Digest of everything that decides the result of replaying the same evidence: the compiled module
 * and the config that a history begins with. A snapshot with another digest is not this engine's.
 */
export function computeEngineDigest(config: ScoringConfig): Buffer {
  return createHash("sha256")
    .update(readEngineModule())
    .update(computeConfigDigest(config))
    .digest();
}
