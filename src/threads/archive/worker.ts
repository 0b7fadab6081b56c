// Entry of the thread that ships to the archive, at low priority: one shipment for each message. A target
// that does not answer stops this thread and nothing else.
import { hostname } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { diskFileLayer } from "../../platform/files.ts";
import { Archive } from "../../ledger/archive/archive.ts";
import { LedgerMetrics } from "../../ledger/metrics.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type { ArchiveReply, ArchiveRequest, ArchiveThreadData } from "./scheduler.ts";

if (parentPort !== null) {
  const port = parentPort;
  const { dataDir, target, serviceId, writer, madeBy, figures } = workerData as ArchiveThreadData;
  lowerThreadPriority();
  const ledger = new LedgerMetrics(figures);
  let durable = 0;
  const archive = new Archive({
    files: diskFileLayer,
    dataDir,
    target,
    claim: { service_id: serviceId, writer, pid: process.pid, host: hostname() },
    madeBy,
    durable: () => Math.max(durable, ledger.readDurablePosition()),
  });
  port.on("message", (request: ArchiveRequest) => {
    ({ durable } = request);
    let reply: ArchiveReply;
    try {
      reply = { kind: "shipped", ...archive.update(request.nowMs) };
    } catch (error) {
      reply = { kind: "failed", why: (error as Error).message };
    }
    port.postMessage(reply);
    if (request.isLast !== true) return;
    archive.close();
    port.close();
  });
}
