// Turns of the requests on one connection of node:http, which parses and announces every request that
// a peer has sent, whether or not it reads the replies. One is answered at a time; those behind it
// wait, and the connection is not read while several do.
import type { Socket } from "node:net";

/** Requests that wait before the connection is no longer read. One read may bring some more. */
const WAITING_REQUESTS_MAX = 16;

export class RequestPipeline {
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /** Whether a reply is under way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Begins a request now, or once those before it are over. */
  enter(begin: () => void): void {
    if (!this.#isBusy) {
      this.#isBusy = true;
      begin();
      return;
    }
    this.#waiting.push(begin);
    if (this.#waiting.length === WAITING_REQUESTS_MAX) this.#socket.pause();
  }

  /** Called when a reply has left or its connection is gone. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#isBusy = false;
      this.#socket.resume();
    } else if (this.#socket.destroyed) this.#waiting.length = 0;
    else next();
  }
}
