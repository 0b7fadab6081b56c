// Writing thread's side of a snapshot: allocates memory, waits until the ledger has copied the
// table into it, and writes it to disk. Serves one snapshot and ends with its port.
import type { MessagePort } from "node:worker_threads";
import type { FileLayer } from "../../platform/files.ts";
import { writeSnapshot } from "./files.ts";
import { type SnapshotHeader, computeSnapshotBodyBytes } from "./format.ts";
import type { FromSnapshotWriter, ToSnapshotWriter } from "./taker.ts";

/** Serves the ledger thread at the other end of `port`. Returns at once. */
export function serveSnapshotWriter(
  port: MessagePort,
  files: FileLayer,
  directory: string,
  spareBytes: number,
): void {
  let buffer: SharedArrayBuffer | undefined;
  const send = (message: FromSnapshotWriter) => port.postMessage(message);
  const write = (header: SnapshotHeader) => {
    const body = new Uint8Array(buffer!, 0, computeSnapshotBodyBytes(header));
    writeSnapshot(files, directory, header, body, spareBytes);
    send({ kind: "written", lsn: header.lsn });
  };
  port.on("message", (message: ToSnapshotWriter) => {
    try {
      if (message.kind === "write") {
        write(message.header);
      } else {
        buffer = growBuffer(buffer, message.bytes);
        send({ kind: "buffer", buffer });
      }
    } catch (error) {
      send({ kind: "failed", detail: String(error) });
    }
  });
}

/** Room to grow in place: address space, no memory. */
const GROWTH_FACTOR = 4;

/**
 * The buffer, made as large as asked. A table that has outgrown it meanwhile gets more of the same: one
 * beside it would hold memory until the garbage collectors of both threads have seen to it.
 */
function growBuffer(buffer: SharedArrayBuffer | undefined, bytes: number): SharedArrayBuffer {
  const isRoomy = buffer !== undefined && bytes <= buffer.maxByteLength;
  const next = isRoomy
    ? buffer
    : new SharedArrayBuffer(0, { maxByteLength: bytes * GROWTH_FACTOR });
  const from = next.byteLength;
  if (bytes > from) next.grow(bytes);
  // Every new page is touched here, so that the ledger's copy need not.
  new Uint8Array(next).fill(0, from);
  return next;
}
