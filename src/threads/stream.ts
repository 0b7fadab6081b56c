// Entry of the stream thread: connects to the ordered log and serves the ledger thread. Composition only;
// the work is in stream/serve.ts.
import { parentPort, type MessagePort, workerData } from "node:worker_threads";
import { StreamFigures } from "../stream/figures.ts";
import { type NatsSettings, openNatsLog } from "../stream/nats-log.ts";
import { serveStream, type StreamEvent } from "../stream/serve.ts";
import { clockOfThread } from "./clock.ts";

/** Start data of the thread. */
export interface StreamThreadData {
  readonly settings: Omit<NatsSettings, "log">;
  /** The ledger thread. */
  readonly port: MessagePort;
  readonly node: string;
  readonly origin: string;
  readonly version: string;
  readonly url: string | undefined;
  readonly figures: SharedArrayBuffer;
}

async function main(parent: MessagePort, data: StreamThreadData): Promise<void> {
  const { settings, port, figures, ...rest } = data;
  const tell = (event: StreamEvent) => parent.postMessage(event);
  const note = (event: string, detail: string) => tell({ kind: "note", event, detail });
  const log = await openNatsLog({ ...settings, log: note });
  serveStream({
    ...rest,
    log,
    port,
    generation: settings.generation,
    figures: new StreamFigures(figures),
    clock: clockOfThread().now,
    tell,
    closed: () => parent.close(),
  });
}

if (parentPort !== null) void main(parentPort, workerData as StreamThreadData);
