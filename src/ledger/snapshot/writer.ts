// The writing thread's side of a snapshot: makes room, waits until the ledger has copied the table
// into it, and brings it to disk. Serves one snapshot and ends with its port.
import type { MessagePort } from "node:worker_threads";
import type { FileLayer } from "../../journal/files.ts";
import { writeSnapshot } from "./files.ts";
import type { SnapshotHeader } from "./format.ts";
import type { FromSnapshotWriter, ToSnapshotWriter } from "./taker.ts";

/** Serves the ledger thread at the other end of `port`. Returns at once. */
export function serveSnapshotWriter(
  port: MessagePort,
  files: FileLayer,
  directory: string,
  spareBytes: number,
): void {
  let room = new SharedArrayBuffer(0);
  const tell = (message: FromSnapshotWriter) => port.postMessage(message);
  const write = (header: SnapshotHeader) => {
    const { tableBytes, guardBytes, keyEventBytes, sourceBytes } = header;
    const bytes = tableBytes + guardBytes + keyEventBytes + sourceBytes;
    writeSnapshot(files, directory, header, new Uint8Array(room, 0, bytes), spareBytes);
    tell({ kind: "written", lsn: header.lsn });
  };
  port.on("message", (message: ToSnapshotWriter) => {
    try {
      if (message.kind === "write") {
        write(message.header);
      } else {
        room = new SharedArrayBuffer(message.bytes);
        // Every page is touched here, so that the ledger's copy need not.
        new Uint8Array(room).fill(0);
        tell({ kind: "room", room });
      }
    } catch (error) {
      tell({ kind: "failed", detail: String(error) });
    }
  });
}
