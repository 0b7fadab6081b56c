// Use of the agent table: what it holds, the bytes it may take, and how full that makes it. Read from the
// header of the shared memory, so that any thread may ask.
import {
  HEADER_BASE,
  HEADER_BYTES_ARENA,
  HEADER_HEAP_MAX,
  HEADER_HEAP_TOP,
  HEADER_OVERFLOW,
  HEADER_PAIR_COUNT,
  HEADER_ROW_COUNT,
  HEAP_BASE,
} from "../../assembly/layout.ts";
import type { EngineExports } from "./memory.ts";

const MEBIBYTE = 1024 * 1024;
/** Most that the heap can be told to end at: the address space, less its last bytes. */
const HEAP_END_MAX = 0xfffffffe;
/** Largest table there can be, in MiB, and the smallest that is worth one. */
export const TABLE_MIB_MAX = 4096;
export const TABLE_MIB_MIN = 16;
/** Below so many agents their means say nothing. */
const REPRESENTATIVE_AGENTS_MIN = 1000;
/** More rows than chunks can hold. */
const ADDED_ROWS_LOG2_MAX = 25;
const HEADER_WORDS = 256;

export interface TableUse {
  readonly agents: number;
  readonly pairs: number;
  /** Records that found no room and changed nothing. */
  readonly overflow: number;
  /** Bytes of the heap in use, and the most it may have. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** Share of the room in use, 0 to 1: by agents like those there are. */
  readonly share: number;
}

/** Address at which a heap of so many bytes ends. */
export function computeHeapEnd(bytesMax: number): number {
  return Math.min(HEAP_BASE + bytesMax, HEAP_END_MAX);
}

/** Bytes of the largest heap of `mebibytes`. */
export function convertMebibytesToTableBytes(mebibytes: number): number {
  return computeHeapEnd(mebibytes * MEBIBYTE) - HEAP_BASE;
}

/** Words of the header in use by a writer or a reader. */
export class TableHeader {
  readonly #words: Uint32Array;
  readonly #exports: Pick<EngineExports, "hasRoomFor">;

  constructor(memory: WebAssembly.Memory, exports: Pick<EngineExports, "hasRoomFor">) {
    this.#words = new Uint32Array(memory.buffer, HEADER_BASE, HEADER_WORDS);
    this.#exports = exports;
  }

  get agents(): number {
    return this.#words[HEADER_ROW_COUNT >> 2]!;
  }

  get pairs(): number {
    return this.#words[HEADER_PAIR_COUNT >> 2]!;
  }

  get overflow(): number {
    return this.#words[HEADER_OVERFLOW >> 2]!;
  }

  get heapTop(): number {
    return this.#words[HEADER_HEAP_TOP >> 2]!;
  }

  get heapEnd(): number {
    return this.#words[HEADER_HEAP_MAX >> 2]! || HEAP_END_MAX;
  }

  /** Writer, before anything is folded that the end would refuse. */
  setHeapEnd(address: number): void {
    this.#words[HEADER_HEAP_MAX >> 2] = address;
  }

  readTableUse(): TableUse {
    const { agents, pairs, overflow } = this;
    const bytes = Math.max(0, this.heapTop - HEAP_BASE);
    const bytesMax = this.heapEnd - HEAP_BASE;
    return { agents, pairs, overflow, bytes, bytesMax, share: this.computeFillShare() };
  }

  /**
   * Share of the room in use. Memory grows by doubling, so bytes alone would say nothing of what
   * still fits: it is the number of agents over that which would fit, with as long identifiers and
   * as many pairs as those that are there.
   */
  computeFillShare(): number {
    const { agents, pairs } = this;
    if (agents < REPRESENTATIVE_AGENTS_MIN) {
      return Math.max(0, this.heapTop - HEAP_BASE) / (this.heapEnd - HEAP_BASE);
    }
    const idBytes = this.#words[HEADER_BYTES_ARENA >> 2]! / agents;
    let more = 0;
    for (let step = 2 ** (ADDED_ROWS_LOG2_MAX - 1); step >= 1; step /= 2) {
      const tried = more + step;
      const fits = this.#exports.hasRoomFor(
        tried,
        Math.ceil(tried * idBytes),
        Math.ceil((tried * pairs) / agents),
      );
      if (fits === 1) more = tried;
    }
    return agents / (agents + more);
  }
}
