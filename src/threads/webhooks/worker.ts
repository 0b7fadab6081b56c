// Entry of the thread that tells webhooks, at low priority: it follows the decision log, the journal and
// kaizen's state behind the service, and sends what endpoints are subscribed to. No request waits for it.
import { randomBytes } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { parentPort, workerData } from "node:worker_threads";
import { ServiceFault } from "../../contract/faults.ts";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { LedgerMetrics } from "../../ledger/metrics.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { resolveSegmentsDirectory } from "../../store/decisions/segments.ts";
import { NO_NETWORKS, parseNetworks } from "../../webhooks/address.ts";
import { createWebhookSender } from "../../webhooks/sender.ts";
import { WebhookService } from "../../webhooks/service.ts";
import { openThreadClock } from "../clock.ts";
import { DecisionEvents } from "./decision-events.ts";
import { JournalEvents } from "./journal-events.ts";
import { KaizenEvents } from "./kaizen-events.ts";
import type {
  MessageFromWebhookThread,
  MessageToWebhookThread,
  WebhookThreadData,
} from "./messages.ts";
import { encodeFault } from "../../contract/encoded-fault.ts";

const TICK_MS = 250;
/** Between two reports of figures. */
const METRICS_INTERVAL_MS = 1000;
/** Of one question to a name server, ms, and how often it is put. */
const DNS_MS = 3000;
const DNS_TRIES = 2;

if (parentPort !== null) {
  const port = parentPort;
  lowerThreadPriority();
  const tell = (message: MessageFromWebhookThread) => port.postMessage(message);
  const service = openWebhookService(workerData as WebhookThreadData, (event, detail) =>
    tell({ kind: "log", event, detail }),
  );
  const timer = setInterval(() => service.tick(), TICK_MS);
  const telling = setInterval(
    () => tell({ kind: "figures", figures: service.figures() }),
    METRICS_INTERVAL_MS,
  );
  port.on("message", (message: MessageToWebhookThread) => {
    if (message.kind === "end") {
      clearInterval(timer);
      clearInterval(telling);
      void service.close().then(() => port.close());
    } else {
      void runWebhookCall(service, message).then(tell);
    }
  });
}

function openWebhookService(
  data: WebhookThreadData,
  log: (event: string, detail: string) => void,
): WebhookService {
  const { dataDir, serviceId, userAgent } = data;
  const figures = new LedgerMetrics(data.figures);
  const durable = () => Math.max(data.durable, figures.readDurablePosition());
  const allowed = data.allowed === "" ? NO_NETWORKS : parseNetworks(data.allowed);
  return new WebhookService({
    dataDir,
    serviceId,
    sources: [
      new KaizenEvents(dataDir, serviceId),
      new JournalEvents(diskFileLayer, resolveDataPaths(dataDir).journal, serviceId, durable),
      new DecisionEvents(resolveSegmentsDirectory(dataDir), serviceId),
    ],
    post: createWebhookSender({ allowed, resolve: resolveName, userAgent }),
    allowed,
    clock: openThreadClock().now,
    chance: Math.random,
    randomBytes,
    log,
  });
}

/**
 * By name servers alone: the system's own resolver works on threads that the whole process shares, and a
 * name server that does not answer must not hold up the journal.
 */
async function resolveName(name: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_MS, tries: DNS_TRIES });
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [four, six].flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  if (found.length === 0 && four.status === "rejected") throw four.reason;
  return found;
}

async function runWebhookCall(
  service: WebhookService,
  { number, name, parameters }: Extract<MessageToWebhookThread, { kind: "call" }>,
): Promise<MessageFromWebhookThread> {
  try {
    const call = service[name] as (...given: readonly unknown[]) => Promise<unknown>;
    return { kind: "answer", number, value: await call.apply(service, parameters as unknown[]) };
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    return { kind: "refusal", number, fault: encodeFault(error) };
  }
}
