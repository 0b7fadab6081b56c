// Entry of the stream thread: connects to the ordered log and serves the ledger thread. Composition only;
// the work is in stream/serve.ts.
import { parentPort, type MessagePort, workerData } from "node:worker_threads";
import { OutgoingSegments, SegmentCopies } from "../store/decisions/node-copies.ts";
import type { SpoolPosition } from "../store/decisions/segments.ts";
import { DecisionCollector } from "../stream/decisions/collecting.ts";
import { type DecisionParts, DECISION_PART_BYTES_MAX } from "../stream/decisions/parts.ts";
import { DecisionShipper } from "../stream/decisions/shipping.ts";
import { hasOtherCollector, type NodeRole, findJoinRefusal } from "../stream/reports.ts";
import { type ClusterJob, StreamMetrics } from "../stream/metrics.ts";
import { type NatsOrderedLog, type NatsSettings, openNatsLog } from "../stream/nats-log.ts";
import { listLivingNodes, ReportWatch } from "../stream/living-nodes.ts";
import { pause } from "../stream/retries.ts";
import { AppliedNodeCounter } from "../stream/applied-nodes.ts";
import type { NameHolder } from "../stream/node-name.ts";
import { ClusterRefused } from "../stream/ordered-log.ts";
import { serveStream } from "../stream/serve.ts";
import type { StreamEvent } from "../stream/stream-event.ts";
import { readMonotonicMs } from "../platform/moment.ts";
import { openThreadClock } from "./clock.ts";

/** Start data of the thread. */
export interface StreamThreadData {
  readonly settings: Omit<NatsSettings, "log">;
  /** The ledger thread. */
  readonly port: MessagePort;
  readonly node: string;
  /** Of its data directory: the node's name is taken for it. */
  readonly holder: NameHolder;
  readonly origin: string;
  readonly version: string;
  readonly url: string | undefined;
  readonly role: NodeRole;
  /** Directory of the decision segments. */
  readonly segments: string;
  /** A node whose report has not changed for so many ms is not asked what it has applied. */
  readonly awayMs: number;
  /** The bureau's public key, in hex. */
  readonly key: string;
  readonly figures: SharedArrayBuffer;
  readonly jobs: readonly ClusterJob[];
  /** Messages of the log kept behind the slowest node; undefined: none is removed. */
  readonly keep: number | undefined;
}

/** From the main thread. */
export type MessageToStreamThread =
  | ({ readonly kind: "spread" } & PropagationQuery)
  | WrittenDecisionsMessage;

/** Own decisions are on disk up to there. */
interface WrittenDecisionsMessage {
  readonly kind: "written";
  readonly mark: SpoolPosition;
}

/** Which of the nodes that live have in force what is in the log now? */
export interface PropagationQuery {
  readonly id: number;
}

/** Longest wait in ms for the reports of the nodes that are asked. */
const READ_TIMEOUT_MS = 300;

async function runStreamThread(parent: MessagePort, data: StreamThreadData): Promise<void> {
  const { settings, port, figures: memory, segments, ...rest } = data;
  const send = (event: StreamEvent) => parent.postMessage(event);
  const note = (event: string, detail: string) => send({ kind: "note", event, detail });
  const clock = openThreadClock().now;
  let log: NatsOrderedLog | undefined;
  try {
    log = await openNatsLog({ ...settings, log: note });
    await log.takeNodeName(rest.node, rest.holder, (detail) => send({ kind: "displaced", detail }));
    const figures = new StreamMetrics(memory);
    const spread = new AppliedNodeCounter(log.polling, figures, rest.node);
    const refusal = await findJoinRefusal(log, { ...rest, nowMs: clock() });
    if (refusal !== undefined) throw new ClusterRefused(refusal);
    const decisions = openDecisionExchange(log.decisions, {
      ...rest,
      figures,
      segments,
      log: note,
    });
    const watch = new ReportWatch(readMonotonicMs, rest.awayMs);
    const read = log.readReports.bind(log);
    const askLivingNodes = async () => {
      // As the log has them now: one that has joined since the last look is asked as well.
      const found = await Promise.race([read().catch(() => undefined), pause(READ_TIMEOUT_MS)]);
      const ages = found === undefined ? watch.measureAges() : watch.update(found);
      return spread.askNodes(listLivingNodes(ages, rest.awayMs), found !== undefined);
    };
    parent.on("message", (message: MessageToStreamThread) => {
      if (message.kind === "written") decisions.shipping.mark = message.mark;
      else {
        const { id } = message;
        void askLivingNodes().then((nodes) => send({ kind: "spread", id, ...nodes }));
      }
    });
    const tell = (event: StreamEvent) => {
      if (event.kind === "view") {
        decisions.shipping.isWanted = hasOtherCollector(rest.node, event.view);
      }
      send(event);
    };
    const closed = () => void decisions.close().finally(() => parent.close());
    const monotonic = readMonotonicMs;
    serveStream({ ...rest, watch, log, port, figures, clock, monotonic, tell, closed });
    tell({ kind: "ready", generation: log.generation });
  } catch (error) {
    const isPermanent = error instanceof ClusterRefused;
    send({ kind: "refused", detail: (error as Error).message, isPermanent });
    // Its connection would keep the thread, and with it the process.
    await log?.close().catch(() => undefined);
    port.close();
    parent.close();
  }
}

interface DecisionTransferOptions extends Pick<StreamThreadData, "node" | "role" | "segments"> {
  readonly figures: StreamMetrics;
  readonly log: (event: string, detail: string) => void;
}

/** The way of decisions between nodes: own ones to those that keep copies, others' to here. */
function openDecisionExchange(parts: DecisionParts, options: DecisionTransferOptions) {
  const { node, role, segments, figures, log } = options;
  const outgoing = new OutgoingSegments(segments, DECISION_PART_BYTES_MAX);
  const shipping = new DecisionShipper({
    node,
    parts,
    read: (place, mark) => outgoing.readPartAfter(place, mark),
    shipped: (bytes) => figures.addShipped(bytes),
    log,
  });
  const collecting =
    role === "analytics"
      ? new DecisionCollector({
          node,
          parts,
          copies: new SegmentCopies(segments),
          collected: (bytes, behind) => figures.addCollected(bytes, behind),
          log,
        })
      : undefined;
  const close = async () => {
    await shipping.close();
    await collecting?.close();
  };
  return { shipping, close };
}

if (parentPort !== null) void runStreamThread(parentPort, workerData as StreamThreadData);
