// Ports of the ledger thread: that of the thread that started it, and one of each further thread
// that reports outcomes. Messages that have arrived on any of them share one sync.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { FromLedger, ToLedger } from "./messages.ts";

/** A message and the port for its answer. */
export interface ArrivedMessage<Message extends ToLedger = ToLedger> {
  readonly port: MessagePort;
  readonly message: Message;
}

export class LedgerPorts {
  readonly #ownerPort: MessagePort;
  readonly #onArrival: (arrived: ArrivedMessage) => void;
  #ports: MessagePort[] = [];
  /** Index of the next port to serve: a busy port must not keep the others waiting. */
  #nextPortIndex = 0;

  /** `take` is called when a message has arrived and no work is in progress. */
  constructor(own: MessagePort, take: (arrived: ArrivedMessage) => void) {
    this.#ownerPort = own;
    this.#onArrival = take;
    this.#listen(own);
  }

  /** Serves this port as well from now on, until its other end closes it. */
  addPort(port: MessagePort): void {
    this.#listen(port);
    port.once("close", () => this.#removePort(port));
  }

  /** The next message of any port, each in its order; undefined when none waits. */
  receiveNext(): ArrivedMessage | undefined {
    const count = this.#ports.length;
    for (let step = 0; step < count; step++) {
      const port = this.#ports[(this.#nextPortIndex + step) % count] as MessagePort;
      const received: { message: ToLedger } | undefined = receiveMessageOnPort(port);
      if (received === undefined) continue;
      this.#nextPortIndex = (this.#nextPortIndex + step + 1) % count;
      return { port, message: received.message };
    }
    return undefined;
  }

  sendToAll(message: FromLedger): void {
    for (const port of this.#ports) port.postMessage(message);
  }

  sendToOwner(message: FromLedger): void {
    this.#ownerPort.postMessage(message);
  }

  isOwnerPort(port: MessagePort): boolean {
    return port === this.#ownerPort;
  }

  /** Closes the joined ports; the thread's own is its owner's to close. */
  closeAddedPorts(): void {
    for (const port of this.#ports) if (port !== this.#ownerPort) port.close();
  }

  #listen(port: MessagePort): void {
    this.#ports.push(port);
    port.on("message", (message: ToLedger) => this.#onArrival({ port, message }));
  }

  #removePort(port: MessagePort): void {
    this.#ports = this.#ports.filter((each) => each !== port);
    this.#nextPortIndex = 0;
  }
}
