// Segments of this node's journal, for a node that takes a copy: read beside the writer, part by part. Who
// reads verifies them; the end of the newest may be a batch that is half written.
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JournalSegments } from "../../contract/schemas/cluster/segments.ts";
import { parseSegmentNames } from "../../journal/format.ts";

const PART_BYTES = 256 * 1024;

/** Bytes of a segment, as a reply sends them. */
export interface SegmentStream {
  next(): Promise<Uint8Array | undefined>;
  cancel(): void;
}

export class JournalSegmentFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async list(): Promise<JournalSegments> {
    const found = parseSegmentNames(await readdir(this.#directory));
    const segments = await Promise.all(
      found.map(async ({ name, firstLsn: first }) => {
        const { size: bytes } = await stat(join(this.#directory, name));
        return { name, first, bytes };
      }),
    );
    return { segments };
  }

  /** Undefined when there is none of that name. */
  async read(name: string): Promise<SegmentStream | undefined> {
    const found = parseSegmentNames(await readdir(this.#directory));
    if (!found.some((each) => each.name === name)) return undefined;
    const file = await open(join(this.#directory, name), "r");
    const end = (await file.stat()).size;
    let at = 0;
    let isOpen = true;
    const close = () => {
      if (isOpen) void file.close();
      isOpen = false;
    };
    return {
      next: async () => {
        if (at >= end || !isOpen) {
          close();
          return undefined;
        }
        const part = Buffer.alloc(Math.min(PART_BYTES, end - at));
        const { bytesRead } = await file.read(part, 0, part.byteLength, at);
        at = bytesRead === 0 ? end : at + bytesRead;
        return part.subarray(0, bytesRead);
      },
      cancel: close,
    };
  }
}
