// Snapshot files on disk: written whole or not at all, read only when every byte verifies. Two are
// kept, so that damage to the newest costs a longer replay and nothing else.
import { createHash } from "node:crypto";
import {
  readErrno,
  type FileLayer,
  withFile,
  writeFully,
  writeNewFile,
} from "../../platform/files.ts";
import type { FramePlace } from "../../journal/places.ts";
import { type JournalPoint, JournalPointUnknown } from "../../journal/recovery.ts";
import {
  decodePayloads,
  decodePlaces,
  decodeSnapshotHeader,
  encodeSnapshotHeader,
  type EngineIdentity,
  SNAPSHOT_HEADER_BYTES,
  computeSnapshotBodyBytes,
  type SnapshotHeader,
  formatSnapshotName,
  selectSnapshotNames,
} from "./format.ts";
import type { TableImage } from "../../engine/image.ts";

const SNAPSHOTS_KEPT = 2;
/** Bytes read, written and hashed at a time. */
const SLICE_BYTES = 4 * 1024 * 1024;
/** Bytes synced at a time: one long sync would hold up the journal's own. */
const SYNC_BYTES = 32 * 1024 * 1024;

/** Reason why a snapshot cannot be used: lower case, no full stop. Never fatal. */
export class SnapshotRefused extends Error {}

/** A commit of the journal, and the ledger's state as of it beside table and guard. */
export interface SnapshotContents extends JournalPoint {
  /** Number of outcomes folded. */
  readonly outcomes: number;
  /** Payloads of the records of kind `key`, in order. */
  readonly keyEvents: readonly Buffer[];
  /** Payloads of the records of kind `policy`, in order. */
  readonly policies: readonly Buffer[];
  /** Places of the vault's sources in the journal, in order. */
  readonly sources: readonly FramePlace[];
  /** Reviews as they stand, one JSON document each. */
  readonly reviews: Iterable<Buffer>;
  /** Conditions and stops, past ones included, one JSON document each. */
  readonly conditions: Iterable<Buffer>;
  /** Progress along the ordered log; empty where none feeds the journal. */
  readonly stream: Buffer;
}

/** A snapshot whose table is in place. */
export interface LoadedSnapshot extends SnapshotContents {
  /** Entries of the replay guard. */
  readonly guard: Buffer;
}

/**
 * Writes a snapshot durably, then removes all but the newest two. `body` must not change. A failed
 * write leaves no file behind.
 * @param spareBytes of the disk that the snapshot has to leave free.
 * @throws the file layer's error when a write fails.
 */
export function writeSnapshot(
  files: FileLayer,
  directory: string,
  { header, body }: { readonly header: SnapshotHeader; readonly body: Uint8Array },
  spareBytes = 0,
): void {
  files.makeDirectory(directory);
  const name = formatSnapshotName(header.lsn);
  removeUnfinished(files, directory);
  if (files.freeBytes(directory) < body.byteLength + spareBytes) {
    throw new Error(`no room for ${body.byteLength} bytes on the disk`);
  }
  const temporary = `${directory}/${name}.tmp`;
  try {
    writeNewFile(files, temporary, (descriptor) =>
      writeSnapshotContent(files, descriptor, header, body),
    );
  } catch (cause) {
    // Half a snapshot is good for nothing and may be what fills the disk.
    try {
      removeUnfinished(files, directory);
    } catch {
      // The next one tries again.
    }
    throw cause;
  }
  files.rename(temporary, `${directory}/${name}`);
  files.syncDirectory(directory);
  for (const old of selectSnapshotNames(files.list(directory)).slice(SNAPSHOTS_KEPT)) {
    files.remove(`${directory}/${old}`);
  }
}

function removeUnfinished(files: FileLayer, directory: string): void {
  for (const leftover of files.list(directory)) {
    if (leftover.endsWith(".tmp")) files.remove(`${directory}/${leftover}`);
  }
}

function writeSnapshotContent(
  files: FileLayer,
  descriptor: number,
  header: SnapshotHeader,
  body: Uint8Array,
): void {
  const digest = createHash("sha256");
  for (let at = 0; at < body.byteLength; at += SLICE_BYTES) {
    const slice = body.subarray(at, at + SLICE_BYTES);
    digest.update(slice);
    writeFully(files, descriptor, [slice], SNAPSHOT_HEADER_BYTES + at);
    if ((at + slice.byteLength) % SYNC_BYTES === 0) files.syncData(descriptor);
  }
  writeFully(files, descriptor, [encodeSnapshotHeader(header, digest.digest())], 0);
}

/** Removes every snapshot durably: the journal that they were derived from has changed. */
export function removeSnapshots(files: FileLayer, directory: string): void {
  files.makeDirectory(directory);
  const names = selectSnapshotNames(files.list(directory));
  for (const name of names) files.remove(`${directory}/${name}`);
  if (names.length > 0) files.syncDirectory(directory);
}

/**
 * Reads a snapshot's table into the views that `reserve` gives for its bytes.
 * @throws SnapshotRefused when it is not whole or not ours; the views may hold anything then.
 */
export function loadSnapshot(
  files: FileLayer,
  path: string,
  identity: EngineIdentity,
  reserve: (bytes: number) => readonly Uint8Array[],
): LoadedSnapshot {
  try {
    return withFile(files, path, "read", (descriptor) =>
      readSnapshotFile(files, descriptor, identity, reserve),
    );
  } catch (error) {
    if (readErrno(error) === "") throw error;
    throw new SnapshotRefused(`it cannot be read (${readErrno(error)})`);
  }
}

function readSnapshotFile(
  files: FileLayer,
  descriptor: number,
  identity: EngineIdentity,
  reserve: (bytes: number) => readonly Uint8Array[],
): LoadedSnapshot {
  const head = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
  files.read(descriptor, head, 0, SNAPSHOT_HEADER_BYTES, 0);
  const header = decodeSnapshotHeader(head);
  if (header === undefined) throw new SnapshotRefused("its header does not verify");
  assertSameEngine(header, identity);
  const { guardBytes, keyEventBytes, policyBytes, sourceBytes, reviewBytes, streamBytes } = header;
  const conditions = Buffer.alloc(header.conditionBytes);
  const size = SNAPSHOT_HEADER_BYTES + computeSnapshotBodyBytes(header);
  if (files.size(descriptor) !== size) throw new SnapshotRefused("its size is not what it says");
  const digest = createHash("sha256");
  const guard = Buffer.allocUnsafeSlow(guardBytes);
  const keyEvents = Buffer.alloc(keyEventBytes);
  const policies = Buffer.alloc(policyBytes);
  const sources = Buffer.alloc(sourceBytes);
  const reviews = Buffer.alloc(reviewBytes);
  const stream = Buffer.alloc(streamBytes);
  let position = SNAPSHOT_HEADER_BYTES;
  const payloads = [guard, keyEvents, policies, sources, reviews, stream, conditions];
  for (const part of [...reserve(header.tableBytes), ...payloads]) {
    for (let at = 0; at < part.byteLength;) {
      const length = Math.min(SLICE_BYTES, part.byteLength - at);
      const taken = files.read(descriptor, part, at, length, position);
      if (taken <= 0) throw new SnapshotRefused("it ends too early");
      digest.update(part.subarray(at, at + taken));
      at += taken;
      position += taken;
    }
  }
  if (!digest.digest().equals(header.bodyHash)) throw new SnapshotRefused("its hash is wrong");
  const { lsn, chain, outcomes } = header;
  return {
    lsn,
    chain,
    outcomes,
    guard,
    keyEvents: decodePayloads(keyEvents),
    policies: decodePayloads(policies),
    sources: decodePlaces(sources),
    reviews: decodePayloads(reviews),
    conditions: decodePayloads(conditions),
    stream,
  };
}

function assertSameEngine(header: SnapshotHeader, identity: EngineIdentity): void {
  if (header.layoutVersion !== identity.layoutVersion) {
    throw new SnapshotRefused(`its table layout is version ${header.layoutVersion}`);
  }
  if (Buffer.compare(header.engineDigest, identity.engineDigest) !== 0) {
    throw new SnapshotRefused("another engine or first config made it");
  }
  if (header.seed !== identity.seed) throw new SnapshotRefused("its table has another seed");
}

export interface SnapshotSource {
  files: FileLayer;
  /** Made when missing. */
  directory: string;
  identity: EngineIdentity;
  /** Of the empty memory to start in. */
  image: TableImage;
  /** Most bytes that an image may have. */
  imageBytesMax?: number;
  /** Called with the reason why a snapshot was ignored: lower case, one line. */
  ignored: (why: string) => void;
}

/**
 * Calls `open` with the table in place and the snapshot it came from, or with an empty table.
 * `open` may throw JournalPointUnknown or SnapshotRefused before it folds: the next older snapshot
 * is tried then.
 */
export function startFromSnapshot<Opened>(
  source: SnapshotSource,
  open: (start: LoadedSnapshot | undefined) => Opened,
): Opened {
  const { files, directory, identity, image } = source;
  const reserve = (bytes: number) => {
    if (bytes <= (source.imageBytesMax ?? Number.POSITIVE_INFINITY)) return image.reserve(bytes);
    throw new SnapshotRefused("its table is larger than the memory that tables may take now");
  };
  files.makeDirectory(directory);
  for (const name of selectSnapshotNames(files.list(directory))) {
    try {
      const path = `${directory}/${name}`;
      return open(loadSnapshot(files, path, identity, reserve));
    } catch (error) {
      const isUnusable = error instanceof SnapshotRefused || error instanceof JournalPointUnknown;
      if (!isUnusable) throw error;
      image.wipe();
      source.ignored(`snapshot ${name} ignored: ${error.message}`);
    }
  }
  return open(undefined);
}
