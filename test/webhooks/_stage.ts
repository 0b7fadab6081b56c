// Stage of webhook tests: real endpoints over a real decision log, real receivers, a clock of the test.
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { parseNetworks } from "../../src/webhooks/address.ts";
import { resolveSegmentsDirectory } from "../../src/store/decisions/segments.ts";
import { DecisionEvents } from "../../src/threads/webhooks/decision-events.ts";
import type { WebhookEventSource } from "../../src/webhooks/event.ts";
import { createWebhookSender, type WebhookSender } from "../../src/webhooks/sender.ts";
import { WebhookService } from "../../src/webhooks/service.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";
import { NOW_MS } from "../store/_decisions.ts";
import { openDecisionLog } from "./_decision-log.ts";
import { openReceiver, type Receiver } from "./_receiver.ts";

const ALLOWED = parseNetworks("127.0.0.1");

class Clock {
  nowMs = NOW_MS;
  readonly now = (): number => this.nowMs;
}

const receivers: Receiver[] = [];

/** For `afterEach`. */
export async function closeReceivers(): Promise<void> {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
}

export async function receiverOf(): Promise<Receiver> {
  const receiver = await openReceiver(false);
  receivers.push(receiver);
  return receiver;
}

export interface Stage {
  service: WebhookService;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logged: string[];
  /** Attempts under way. */
  pending: number;
  readonly log: ReturnType<typeof openDecisionLog>;
  /** Ticks until nothing is under way and nothing more begins. */
  settle(): Promise<void>;
  /** As after kill -9: nothing is written down. */
  crash(): void;
  /** Goes on for so long, in steps of a minute. */
  pass(ms: number, stepMs?: number): Promise<void>;
}

export function openStage(serviceId = "tr-1", dataDir = temporaryDirectory()): Stage {
  const clock = new Clock();
  const logged: string[] = [];
  const send = createWebhookSender({
    allowed: ALLOWED,
    resolve: () => Promise.resolve([]),
    userAgent: "t",
  });
  const counted: WebhookSender = async (...given) => {
    stage.pending++;
    try {
      return await send(...given);
    } finally {
      stage.pending--;
    }
  };
  const open = () => {
    const sources: WebhookEventSource[] = [
      new DecisionEvents(resolveSegmentsDirectory(dataDir), serviceId),
    ];
    return new WebhookService({
      dataDir,
      serviceId,
      sources,
      post: counted,
      allowed: ALLOWED,
      clock: clock.now,
      chance: () => 0.5,
      randomBytes,
      log: (event, detail) => void logged.push(`${event} ${detail}`),
    });
  };
  const stage: Stage = {
    service: open(),
    dataDir,
    clock,
    logged,
    pending: 0,
    log: openDecisionLog(dataDir),
    settle: async () => {
      do {
        stage.service.tick();
        while (stage.pending > 0) await turn();
        await turn();
      } while (stage.pending > 0);
    },
    crash: () => {
      stage.service = open();
    },
    pass: async (ms, stepMs = 60_000) => {
      for (const endMs = clock.nowMs + ms; clock.nowMs < endMs; clock.nowMs += stepMs) {
        await stage.settle();
      }
    },
  };
  return stage;
}

export async function register(
  stage: Stage,
  receiver: Receiver,
  more: object = {},
): Promise<string> {
  const { id, secret } = await stage.service.create({ url: receiver.url, ...more });
  receiver.secret = secret;
  return id;
}

/** A server that takes connections and says nothing. */
export async function openSilent(): Promise<{ url: string; close(): void }> {
  const sockets: { destroy(): void }[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
