// Entry of the thread that writes one snapshot, started by the ledger thread when one is due.
import { type MessagePort, workerData } from "node:worker_threads";
import { nodeFiles } from "./ledger/journal-files.ts";
import { serveSnapshotWriter } from "./ledger/snapshot-writer.ts";

const { port, directory } = workerData as { port: MessagePort; directory: string };
serveSnapshotWriter(port, nodeFiles, directory);
