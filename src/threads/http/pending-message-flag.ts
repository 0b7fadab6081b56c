// Doorbell for control messages (a revoked key, another table): a thread applies them ahead of its next
// request. A message to another thread arrives as soon as it is posted, but is taken when the event
// loop comes to it, and requests may come first. So the sender raises a word in shared memory after
// posting, and the receiver checks it per request.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

export function createPendingMessageFlag(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** Raises the word. Call it after posting. */
export function raisePendingMessageFlag(doorbell: SharedArrayBuffer): void {
  Atomics.add(new Int32Array(doorbell), 0, 1);
}

/** Receiving end. */
export class PendingMessageReceiver<Message> {
  readonly #doorbell: Int32Array;
  readonly #port: MessagePort;
  readonly #take: (message: Message) => void;
  #answered = 0;

  /** `take` gets each message once and in order, here or from the event loop. */
  constructor(doorbell: SharedArrayBuffer, port: MessagePort, take: (message: Message) => void) {
    this.#doorbell = new Int32Array(doorbell);
    this.#port = port;
    this.#take = take;
    port.on("message", take);
  }

  /** Takes the messages posted before the bell was rung, if it was: one atomic load otherwise. */
  follow(): void {
    const rung = Atomics.load(this.#doorbell, 0);
    if (rung === this.#answered) return;
    this.#answered = rung;
    for (;;) {
      const next: { message: Message } | undefined = receiveMessageOnPort(this.#port);
      if (next === undefined) return;
      this.#take(next.message);
    }
  }
}
