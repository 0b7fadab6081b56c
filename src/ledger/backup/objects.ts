// Contents of a backup by their SHA-256: written whole and synced, or not at all, and never changed
// after. What two backups have in common is stored once.
import { createHash, hash } from "node:crypto";
import { join } from "node:path";
import {
  readErrno,
  type FileLayer,
  readFileSize,
  readWhole,
  removeIfPresent,
  withFile,
  writeFully,
  writeNewFile,
} from "../../platform/files.ts";
import { createBackupDamageFault } from "./faults.ts";
import { listStoredParts, type StoredContent, type StoredObject } from "./manifest.ts";

export const OBJECTS_DIRECTORY = "objects";
/** Bytes read, hashed and written at a time. */
const SLICE_BYTES = 4 * 1024 * 1024;
/** Bytes synced at a time: one long sync would hold up the journal's own on the same disk. */
const SYNC_BYTES = 8 * 1024 * 1024;
const UNFINISHED_FILE = "unfinished.tmp";
const OBJECT_NAME = /^[0-9a-f]{64}$/;

type SliceConsumer = (slice: Uint8Array) => void;

export class BackupObjects {
  /** Bytes written by this process. */
  bytesWritten = 0;
  /** Names of what it has stored, oldest first. */
  readonly writtenNames: string[] = [];
  readonly #files: FileLayer;
  readonly #directory: string;

  constructor(files: FileLayer, root: string) {
    this.#files = files;
    this.#directory = join(root, OBJECTS_DIRECTORY);
  }

  /** Where a content begins. */
  resolvePath(content: StoredContent): string {
    return join(this.#directory, listStoredParts(content)[0]!.sha256);
  }

  /** Whether all of it is there with its size; its bytes are not read. */
  hasContent(content: StoredContent): boolean {
    return listStoredParts(content).every((part) => this.#hasObject(part));
  }

  #hasObject(object: StoredObject): boolean {
    try {
      return readFileSize(this.#files, this.resolvePath(object)) === object.bytes;
    } catch (cause) {
      if (readErrno(cause) === "ENOENT") return false;
      throw cause;
    }
  }

  /** Stores bytes. */
  putBytes(bytes: Uint8Array): StoredObject {
    const object = { bytes: bytes.byteLength, sha256: hash("sha256", bytes) };
    if (this.#hasObject(object)) return object;
    return this.#writeObject((take) => {
      for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
        take(bytes.subarray(at, at + SLICE_BYTES));
      }
    });
  }

  /** Stores a file as long as it is when it is opened. */
  putFile(path: string): StoredObject {
    return withFile(this.#files, path, "read", (descriptor) => {
      const size = this.#files.size(descriptor);
      return this.#writeObject((take) => readFileSlices(this.#files, descriptor, size, take));
    });
  }

  /**
   * The bytes of a content.
   * @throws BackupFault when they are not there or do not have its hash; `path` names it.
   */
  read(content: StoredContent, path: string, reuse?: Buffer): Buffer {
    const { parts, sha256, bytes } = content;
    if (parts === undefined) return this.#readObject(content, path, reuse);
    const isRoomy = reuse !== undefined && reuse.byteLength >= bytes;
    const whole = isRoomy ? reuse.subarray(0, bytes) : Buffer.alloc(bytes);
    let at = 0;
    for (const part of parts) {
      this.#readObject(part, path).copy(whole, at);
      at += part.bytes;
    }
    if (at !== bytes || hash("sha256", whole) !== sha256) {
      throw this.#createDamageFault(parts[0]!, path, "and its further parts are not the whole");
    }
    return whole;
  }

  #readObject(object: StoredObject, path: string, reuse?: Buffer): Buffer {
    const bytes = this.#readOrExplain(object, path, () =>
      readWhole(this.#files, this.resolvePath(object), reuse),
    );
    if (hash("sha256", bytes) !== object.sha256)
      throw this.#createDamageFault(object, path, "is damaged");
    return bytes;
  }

  /**
   * Hands over the bytes of a content, slice by slice. What was taken is worth nothing if it throws.
   * @throws BackupFault as `read`.
   */
  readSlices(content: StoredContent, path: string, take: SliceConsumer): void {
    if (content.parts === undefined) this.#readObjectSlices(content, path, take);
    // Only what grew while it was copied is in parts: it is small.
    else take(this.read(content, path));
  }

  #readObjectSlices(object: StoredObject, path: string, take: SliceConsumer): void {
    const digest = createHash("sha256");
    const descriptor = this.#readOrExplain(object, path, () =>
      this.#files.open(this.resolvePath(object), "read"),
    );
    try {
      const size = this.#files.size(descriptor);
      readFileSlices(this.#files, descriptor, size, (slice) => {
        digest.update(slice);
        take(slice);
      });
    } finally {
      this.#files.close(descriptor);
    }
    if (digest.digest("hex") !== object.sha256)
      throw this.#createDamageFault(object, path, "is damaged");
  }

  /** Makes the names of all objects durable. */
  syncNames(): void {
    this.#files.syncDirectory(this.#directory);
  }

  /** Removes what a manifest does not name. */
  removeAllBut(kept: readonly StoredContent[]): void {
    this.removeUnfinished();
    this.remove(this.listUnreferenced(kept));
  }

  /** Names of the objects that are in none of these contents. */
  listUnreferenced(kept: readonly StoredContent[]): string[] {
    const names = new Set(
      kept.flatMap((each) => listStoredParts(each).map(({ sha256 }) => sha256)),
    );
    const found = this.#files.list(this.#directory).filter((name) => OBJECT_NAME.test(name));
    return found.filter((name) => !names.has(name));
  }

  /** Removes objects by their names. */
  remove(names: Iterable<string>): void {
    for (const name of names) this.#files.remove(join(this.#directory, name));
  }

  /** Removes what an interrupted or failed write has left. */
  removeUnfinished(): void {
    removeIfPresent(this.#files, join(this.#directory, UNFINISHED_FILE));
  }

  #writeObject(fill: (take: SliceConsumer) => void): StoredObject {
    this.removeUnfinished();
    const temporary = join(this.#directory, UNFINISHED_FILE);
    const digest = createHash("sha256");
    const bytes = writeNewFile(this.#files, temporary, (descriptor) =>
      writeSlices(this.#files, descriptor, fill, (slice) => digest.update(slice)),
    );
    const object = { bytes, sha256: digest.digest("hex") };
    this.#files.rename(temporary, this.resolvePath(object));
    this.bytesWritten += bytes;
    this.writtenNames.push(object.sha256);
    return object;
  }

  #readOrExplain<T>(object: StoredObject, path: string, act: () => T): T {
    try {
      return act();
    } catch (cause) {
      if (readErrno(cause) === "") throw cause;
      throw this.#createDamageFault(object, path, `cannot be read (${readErrno(cause)})`);
    }
  }

  #createDamageFault(object: StoredObject, path: string, how: string) {
    const advice = "remove it and back up again, or use another copy of the backup";
    return createBackupDamageFault(
      `\`${this.resolvePath(object)}\`, which is ${path}, ${how}: ${advice}`,
    );
  }
}

/** Writes the slices that `fill` passes on, synced at intervals; returns their bytes. The caller syncs the last. */
export function writeSlices(
  files: FileLayer,
  descriptor: number,
  fill: (take: SliceConsumer) => void,
  seen: SliceConsumer = () => undefined,
): number {
  let bytes = 0;
  let synced = 0;
  fill((slice) => {
    seen(slice);
    writeFully(files, descriptor, [slice], bytes);
    bytes += slice.byteLength;
    if (bytes - synced < SYNC_BYTES) return;
    files.syncData(descriptor);
    synced = bytes;
  });
  return bytes;
}

function readFileSlices(
  files: FileLayer,
  descriptor: number,
  size: number,
  take: SliceConsumer,
): void {
  const buffer = Buffer.allocUnsafe(Math.min(SLICE_BYTES, Math.max(size, 1)));
  for (let at = 0; at < size;) {
    const taken = files.read(descriptor, buffer, 0, Math.min(buffer.byteLength, size - at), at);
    if (taken <= 0) return;
    take(buffer.subarray(0, taken));
    at += taken;
  }
}
