// Ports of the ledger thread: that of the thread that started it, and one of each further thread
// that reports outcomes. Messages that have arrived on any of them share one sync.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { FromLedger, ToLedger } from "./messages.ts";

/** A message and the port for its answer. */
export interface Arrived<Message extends ToLedger = ToLedger> {
  readonly port: MessagePort;
  readonly message: Message;
}

export class LedgerPorts {
  readonly #own: MessagePort;
  readonly #take: (arrived: Arrived) => void;
  #ports: MessagePort[] = [];
  /** Index of the next port to serve: a busy port must not keep the others waiting. */
  #turn = 0;

  /** `take` is called when a message has arrived and no work is in progress. */
  constructor(own: MessagePort, take: (arrived: Arrived) => void) {
    this.#own = own;
    this.#take = take;
    this.#listen(own);
  }

  /** Serves this port as well from now on, until its other end closes it. */
  join(port: MessagePort): void {
    this.#listen(port);
    port.once("close", () => this.#forget(port));
  }

  /** The next message of any port, each in its order; undefined when none waits. */
  receive(): Arrived | undefined {
    const count = this.#ports.length;
    for (let step = 0; step < count; step++) {
      const port = this.#ports[(this.#turn + step) % count] as MessagePort;
      const received: { message: ToLedger } | undefined = receiveMessageOnPort(port);
      if (received === undefined) continue;
      this.#turn = (this.#turn + step + 1) % count;
      return { port, message: received.message };
    }
    return undefined;
  }

  sendAll(message: FromLedger): void {
    for (const port of this.#ports) port.postMessage(message);
  }

  sendOwn(message: FromLedger): void {
    this.#own.postMessage(message);
  }

  isOwn(port: MessagePort): boolean {
    return port === this.#own;
  }

  /** Closes the joined ports; the thread's own is its owner's to close. */
  closeJoined(): void {
    for (const port of this.#ports) if (port !== this.#own) port.close();
  }

  #listen(port: MessagePort): void {
    this.#ports.push(port);
    port.on("message", (message: ToLedger) => this.#take({ port, message }));
  }

  #forget(port: MessagePort): void {
    this.#ports = this.#ports.filter((each) => each !== port);
    this.#turn = 0;
  }
}
