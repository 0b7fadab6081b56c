// Content of a file that only grows, as an archive stores it: each time what is new as an object of its
// own. Many small ones become one, so that a manifest stays short.
import { createHash, type Hash } from "node:crypto";
import type { StoredContent, StoredObject } from "../backup/manifest.ts";
import type { BackupObjects } from "../backup/objects.ts";

/** Parts of one content; beyond it they are put together, at most 64 MiB of a segment. */
const PARTS_MAX = 128;

/** One state of such a content; it is never changed. */
export class GrowingContent {
  readonly bytes: number;
  readonly #parts: readonly StoredObject[];
  readonly #digest: Hash;

  private constructor(parts: readonly StoredObject[], digest: Hash, bytes: number) {
    this.#parts = parts;
    this.#digest = digest;
    this.bytes = bytes;
  }

  static readonly EMPTY = new GrowingContent([], createHash("sha256"), 0);

  /**
   * Stores what is new.
   * @param whole gives all bytes including `more`, should they be stored together.
   */
  withAppended(more: Uint8Array, objects: BackupObjects, whole: () => Uint8Array): GrowingContent {
    if (more.byteLength === 0) return this;
    const digest = this.#digest.copy().update(more);
    const bytes = this.bytes + more.byteLength;
    const isFull = this.#parts.length >= PARTS_MAX;
    const parts = isFull ? [objects.putBytes(whole())] : [...this.#parts, objects.putBytes(more)];
    return new GrowingContent(parts, digest, bytes);
  }

  buildStoredContent(): StoredContent {
    const content = { bytes: this.bytes, sha256: this.#digest.copy().digest("hex") };
    return this.#parts.length === 1 ? content : { ...content, parts: this.#parts };
  }
}
