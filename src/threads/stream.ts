// Entry of the stream thread: connects to the ordered log and serves the ledger thread. Composition only;
// the work is in stream/serve.ts.
import { parentPort, type MessagePort, workerData } from "node:worker_threads";
import type { OrderedLog } from "../stream/ordered-log.ts";
import { refusalOf } from "../stream/reports.ts";
import { type LedJob, StreamFigures } from "../stream/figures.ts";
import { type NatsSettings, openNatsLog } from "../stream/nats-log.ts";
import { Spread } from "../stream/spread.ts";
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
  /** The bureau's public key, in hex. */
  readonly key: string;
  readonly figures: SharedArrayBuffer;
  readonly jobs: readonly LedJob[];
  /** Messages of the log kept behind the slowest node; undefined: none is removed. */
  readonly keep: number | undefined;
}

/** From the main thread: how many of the nodes that are known have in force what is in the log now? */
export interface SpreadQuestion {
  readonly id: number;
  readonly of: number;
}

async function main(parent: MessagePort, data: StreamThreadData): Promise<void> {
  const { settings, port, figures, ...rest } = data;
  const tell = (event: StreamEvent) => parent.postMessage(event);
  const note = (event: string, detail: string) => tell({ kind: "note", event, detail });
  const clock = clockOfThread().now;
  let log: OrderedLog | undefined;
  try {
    log = await openNatsLog({ ...settings, log: note });
    const spread = new Spread(log.polling, new StreamFigures(figures), rest.node);
    parent.on("message", ({ id, of }: SpreadQuestion) => {
      void spread.count(of).then((nodes) => tell({ kind: "spread", id, nodes }));
    });
    const refusal = await refusalOf(log, { ...rest, nowMs: clock() });
    if (refusal !== undefined) throw new Error(refusal);
    serveStream({
      ...rest,
      log,
      port,
      figures: new StreamFigures(figures),
      clock,
      tell,
      closed: () => parent.close(),
    });
    tell({ kind: "ready", generation: log.generation });
  } catch (error) {
    tell({ kind: "refused", detail: (error as Error).message });
    // Its connection would keep the thread, and with it the process.
    await log?.close().catch(() => undefined);
    port.close();
    parent.close();
  }
}

if (parentPort !== null) void main(parentPort, workerData as StreamThreadData);
