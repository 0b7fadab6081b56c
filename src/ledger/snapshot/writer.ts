// Writing thread's side of a snapshot: allocates memory, waits until the ledger has copied the
// table into it, and writes it to disk. Serves one snapshot and ends with its port.
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
  let buffer = new SharedArrayBuffer(0);
  const send = (message: FromSnapshotWriter) => port.postMessage(message);
  const write = (header: SnapshotHeader) => {
    const { tableBytes, guardBytes, keyEventBytes, policyBytes, sourceBytes } = header;
    const bytes = tableBytes + guardBytes + keyEventBytes + policyBytes + sourceBytes;
    writeSnapshot(files, directory, header, new Uint8Array(buffer, 0, bytes), spareBytes);
    send({ kind: "written", lsn: header.lsn });
  };
  port.on("message", (message: ToSnapshotWriter) => {
    try {
      if (message.kind === "write") {
        write(message.header);
      } else {
        buffer = new SharedArrayBuffer(message.bytes);
        // Every page is touched here, so that the ledger's copy need not.
        new Uint8Array(buffer).fill(0);
        send({ kind: "buffer", buffer });
      }
    } catch (error) {
      send({ kind: "failed", detail: String(error) });
    }
  });
}
