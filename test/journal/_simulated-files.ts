// Simulated file system that forgets: `crash` may lose, tear or reorder unsynced writes, by sectors
// for data and in order for directory changes. Also injects errors and short writes.
import type { FileLayer } from "../../src/platform/files.ts";

const SECTOR_BYTES = 512;

interface Inode {
  current: Buffer;
  durable: Buffer;
}

type DirectoryChange = (entries: Map<string, Inode>) => void;

export type Operation = "write" | "syncData" | "syncDirectory" | "open" | "truncate" | "rename";

export class SimulatedFiles implements FileLayer {
  /** Throws this errno at the next such operation, then forgets it. */
  failure: { operation: Operation; errno: string } | undefined;
  /** A write takes at most so many bytes. */
  writeBytesMax = Infinity;
  /** Bytes all files together may hold. */
  capacity = Infinity;
  /** A sync that lies: for showing that the simulation would notice. */
  isSyncIgnored = false;
  /** Power is lost before the n-th mutating operation from now. */
  operationsLeft = Infinity;
  isDown = false;
  readonly #random: () => number;
  #entries = new Map<string, Inode>();
  #durableEntries = new Map<string, Inode>();
  #changes: DirectoryChange[] = [];
  #open_ = new Map<number, Inode>();
  #nextDescriptor = 3;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** What is left after a power cut. Every descriptor is gone. */
  crash(): void {
    const kept = Math.floor(this.#random() * (this.#changes.length + 1));
    for (const change of this.#changes.slice(0, kept)) change(this.#durableEntries);
    this.#changes = [];
    const inodes = new Set(this.#durableEntries.values());
    for (const inode of inodes) {
      inode.durable = this.#surviving(inode);
      inode.current = Buffer.from(inode.durable);
    }
    this.#entries = new Map(this.#durableEntries);
    this.#open_.clear();
    this.isDown = false;
    this.operationsLeft = Infinity;
    this.failure = undefined;
  }

  #surviving(inode: Inode): Buffer {
    const { current, durable } = inode;
    if (current.equals(durable)) return durable;
    const sizes = [current.byteLength, durable.byteLength];
    const low = Math.min(...sizes);
    const size =
      this.#random() < 0.6
        ? (sizes[Math.floor(this.#random() * 2)] as number)
        : low + Math.floor(this.#random() * (Math.max(...sizes) - low + 1));
    const result = Buffer.alloc(size);
    // Either most sectors made it or few did; both ends matter.
    const share = this.#random();
    for (let at = 0; at < size; at += SECTOR_BYTES) {
      const source = this.#random() < share ? current : durable;
      source.subarray(at, at + SECTOR_BYTES).copy(result, at);
    }
    return result;
  }

  #mutate(operation: Operation): void {
    if (this.isDown) throw errnoError("EIO");
    if (--this.operationsLeft < 0) {
      this.isDown = true;
      throw errnoError("EIO");
    }
    if (this.failure?.operation === operation) {
      const { errno } = this.failure;
      this.failure = undefined;
      throw errnoError(errno);
    }
  }

  #inode(descriptor: number): Inode {
    const inode = this.#open_.get(descriptor);
    if (inode === undefined) throw errnoError("EBADF");
    return inode;
  }

  usedBytes(): number {
    return [...new Set(this.#entries.values())].reduce(
      (sum, inode) => sum + inode.current.byteLength,
      0,
    );
  }

  list(directory: string): string[] {
    const prefix = `${directory}/`;
    return [...this.#entries.keys()]
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length));
  }

  makeDirectory(): void {
    // Directories are prefixes of paths here.
  }

  open(path: string, mode: "read" | "write" | "create"): number {
    let inode = this.#entries.get(path);
    if (mode === "create") {
      this.#mutate("open");
      if (inode !== undefined) throw errnoError("EEXIST");
      const made = { current: Buffer.alloc(0), durable: Buffer.alloc(0) };
      inode = made;
      this.#change((entries) => entries.set(path, made));
    }
    if (inode === undefined) throw errnoError("ENOENT");
    const descriptor = this.#nextDescriptor++;
    this.#open_.set(descriptor, inode);
    return descriptor;
  }

  #change(change: DirectoryChange): void {
    change(this.#entries);
    this.#changes.push(change);
  }

  close(descriptor: number): void {
    this.#open_.delete(descriptor);
  }

  size(descriptor: number): number {
    return this.#inode(descriptor).current.byteLength;
  }

  read(
    descriptor: number,
    target: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): number {
    const part = this.#inode(descriptor).current.subarray(position, position + length);
    target.set(part, offset);
    return part.byteLength;
  }

  write(descriptor: number, parts: readonly Uint8Array[], position: number): number {
    this.#mutate("write");
    const inode = this.#inode(descriptor);
    const wanted = Buffer.concat(parts);
    const grown = (bytes: number) => Math.max(0, position + bytes - inode.current.byteLength);
    const room = Math.max(0, this.capacity - this.usedBytes());
    let bytes = Math.min(wanted.byteLength, this.writeBytesMax);
    if (grown(bytes) > room) bytes = Math.max(0, bytes - (grown(bytes) - room));
    if (bytes === 0 && wanted.byteLength > 0) throw errnoError("ENOSPC");
    if (position + bytes > inode.current.byteLength) {
      inode.current = Buffer.concat([
        inode.current,
        Buffer.alloc(position + bytes - inode.current.byteLength),
      ]);
    }
    wanted.copy(inode.current, position, 0, bytes);
    return bytes;
  }

  truncate(descriptor: number, length: number): void {
    this.#mutate("truncate");
    const inode = this.#inode(descriptor);
    const result = Buffer.alloc(length);
    inode.current.copy(result, 0, 0, length);
    inode.current = result;
  }

  syncData(descriptor: number): void {
    this.#mutate("syncData");
    if (this.isSyncIgnored) return;
    const inode = this.#inode(descriptor);
    inode.durable = Buffer.from(inode.current);
  }

  syncDirectory(): void {
    this.#mutate("syncDirectory");
    if (this.isSyncIgnored) return;
    for (const change of this.#changes) change(this.#durableEntries);
    this.#changes = [];
  }

  rename(from: string, to: string): void {
    this.#mutate("rename");
    if (!this.#entries.has(from)) throw errnoError("ENOENT");
    this.#change((entries) => {
      const inode = entries.get(from);
      if (inode === undefined) return;
      entries.delete(from);
      entries.set(to, inode);
    });
  }

  freeBytes(_directory: string): number {
    return Math.max(0, this.capacity - this.usedBytes());
  }

  remove(path: string): void {
    this.#mutate("rename");
    this.#change((entries) => entries.delete(path));
  }
}

function errnoError(errno: string): Error {
  return Object.assign(new Error(`${errno}: simulated`), { code: errno });
}
