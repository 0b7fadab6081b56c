// Entry of the thread that writes one snapshot, started by the ledger thread when one is due.
import { type MessagePort, workerData } from "node:worker_threads";
import { diskFileLayer } from "../platform/files.ts";
import { serveSnapshotWriter } from "../ledger/snapshot/scheduler.ts";
import { lowerThreadPriority } from "../platform/thread-priority.ts";

interface SnapshotWorkerData {
  port: MessagePort;
  directory: string;
  spareBytes: number;
}

lowerThreadPriority();
const { port, directory, spareBytes } = workerData as SnapshotWorkerData;
serveSnapshotWriter(port, diskFileLayer, directory, spareBytes);
