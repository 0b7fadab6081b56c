// Webhooks as the main thread sees them: starts the thread that tells them, where there are endpoints or
// when the first is made, and passes calls on. A thread that fails is started again; the service needs
// none of it.
import { Worker } from "node:worker_threads";
import { ServiceFault } from "../../contract/faults.ts";
import type { Webhooks } from "../../contract/webhooks/port.ts";
import type { Log } from "../../platform/log.ts";
import { hasWebhookEndpoints } from "../../webhooks/files.ts";
import type { WebhookMetrics } from "../../webhooks/endpoint-status.ts";
import type {
  MessageFromWebhookThread,
  MessageToWebhookThread,
  WebhookMethodName,
  WebhookThreadData,
} from "./messages.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { PendingCalls } from "../../concurrency/calls.ts";

const ENTRY = new URL("./worker.ts", import.meta.url);
/** Before a thread that failed is started again. */
const RESTART_DELAY_MS = 30_000;
/** An end waits so long, ms, for what is under way to be written down. */
const END_MS_MAX = 1000;
/** Calls that wait for the thread; an operator's, so few. */
const CALLS_MAX = 256;

/** Events of the log that an operator has to look at. */
const WARNINGS: ReadonlySet<string> = new Set(["webhook_paused", "webhook_dead_letter"]);

export interface WebhookThreadClientOptions {
  /** Made when the thread is started: the durable position among it. */
  readonly data: () => WebhookThreadData;
  readonly log: Log;
}

export class WebhookThreadClient implements Webhooks {
  readonly #options: WebhookThreadClientOptions;
  readonly #calls = new PendingCalls();
  /** As of the last second; undefined before there was an endpoint. */
  figures: WebhookMetrics | undefined;
  #worker: Worker | undefined;
  #again: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(options: WebhookThreadClientOptions) {
    this.#options = options;
    if (hasWebhookEndpoints(options.data().dataDir)) this.#start();
  }

  readonly create: Webhooks["create"] = (request) => this.#call("create", request);
  readonly list: Webhooks["list"] = () => this.#call("list");
  readonly read: Webhooks["read"] = (id) => this.#call("read", id);
  readonly change: Webhooks["change"] = (id, patch) => this.#call("change", id, patch);
  readonly remove: Webhooks["remove"] = (id) => this.#call("remove", id);
  readonly renewSecret: Webhooks["renewSecret"] = (id) => this.#call("renewSecret", id);
  readonly test: Webhooks["test"] = (id) => this.#call("test", id);
  readonly deliveries: Webhooks["deliveries"] = (id) => this.#call("deliveries", id);
  readonly dead: Webhooks["dead"] = (id) => this.#call("dead", id);
  readonly redeliver: Webhooks["redeliver"] = (id, ids) => this.#call("redeliver", id, ids);

  /** Ends the thread once deliveries under way are written down, or after a moment. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#again);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    this.#post(worker, { kind: "end" });
    await withDeadline(ended, END_MS_MAX, () => undefined);
    await worker.terminate();
  }

  #call<Answer>(name: WebhookMethodName, ...parameters: unknown[]): Promise<Answer> {
    if (this.#worker === undefined && this.#again === undefined && !this.#isClosing) this.#start();
    const worker = this.#worker;
    if (worker === undefined || this.#calls.size >= CALLS_MAX)
      return Promise.reject(createWebhooksUnavailableFault());
    return this.#calls.start<Answer>((number) => {
      this.#post(worker, { kind: "call", number, name, parameters });
    });
  }

  #post(worker: Worker, message: MessageToWebhookThread): void {
    worker.postMessage(message);
  }

  #start(): void {
    this.#again = undefined;
    const worker = new Worker(ENTRY, { name: "webhooks", workerData: this.#options.data() });
    // It never keeps the process alive by itself.
    worker.unref();
    this.#worker = worker;
    worker.on("message", (message: MessageFromWebhookThread) => this.#take(message));
    worker.on("error", (error) => {
      this.#options.log.error("webhooks_failed", { detail: error.message });
    });
    worker.once("exit", () => this.#ended());
  }

  #ended(): void {
    this.#worker = undefined;
    this.#calls.rejectAll(createWebhooksUnavailableFault);
    if (this.#isClosing) return;
    this.#again = setTimeout(() => this.#start(), RESTART_DELAY_MS).unref();
  }

  #take(message: MessageFromWebhookThread): void {
    if (message.kind === "figures") {
      this.figures = message.figures;
      return;
    }
    if (message.kind === "log") {
      const { event, detail } = message;
      this.#options.log[WARNINGS.has(event) ? "warn" : "error"](event, { detail });
      return;
    }
    this.#calls.settle(message.number, message);
  }
}

function createWebhooksUnavailableFault(): ServiceFault {
  return new ServiceFault("webhooks_unavailable", "webhooks are not told now, the log says why");
}
