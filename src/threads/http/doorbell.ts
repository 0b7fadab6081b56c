// Messages that must be heard before the next request. A message to another thread is there as soon
// as it is posted, but is taken when the event loop comes to it, and requests may come first. So
// the sender raises a word in shared memory after posting; the receiver looks at it per request.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

export function createDoorbell(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** Call it after posting. */
export function ring(bell: SharedArrayBuffer): void {
  Atomics.add(new Int32Array(bell), 0, 1);
}

/** The receiving end. */
export class DoorbellListener<Message> {
  readonly #bell: Int32Array;
  readonly #port: MessagePort;
  readonly #take: (message: Message) => void;
  #heard = 0;

  /** `take` gets each message once and in order, here or from the event loop. */
  constructor(bell: SharedArrayBuffer, port: MessagePort, take: (message: Message) => void) {
    this.#bell = new Int32Array(bell);
    this.#port = port;
    this.#take = take;
    port.on("message", take);
  }

  /** Takes what was posted before the bell was rung, if it was: one atomic load otherwise. */
  follow(): void {
    const rung = Atomics.load(this.#bell, 0);
    if (rung === this.#heard) return;
    this.#heard = rung;
    for (;;) {
      const next: { message: Message } | undefined = receiveMessageOnPort(this.#port);
      if (next === undefined) return;
      this.#take(next.message);
    }
  }
}
