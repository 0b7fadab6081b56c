// Followers of the change feed on raw sockets: many thousands in one process, each with its own connection.
import net from "node:net";
import { once } from "node:events";
import { ADMIN_KEY } from "../server-process.ts";

/** Connections that are opened at the same time: more would wait in the server's queue of new ones. */
const OPENING_AT_ONCE = 100;

export class Followers {
  readonly #sockets: net.Socket[] = [];
  #token = "";
  #onSeen: () => void = () => undefined;

  /** Resolves once `count` followers have their stream. */
  static async open(url: string, count: number): Promise<Followers> {
    const followers = new Followers();
    const { hostname, port } = new URL(url);
    for (let opened = 0; opened < count; opened += OPENING_AT_ONCE) {
      const length = Math.min(OPENING_AT_ONCE, count - opened);
      const opening = Array.from({ length }, () => followers.#follow(hostname, Number(port)));
      await Promise.all(opening);
    }
    return followers;
  }

  async #follow(host: string, port: number): Promise<void> {
    const socket = net.connect(port, host);
    socket.setEncoding("latin1");
    socket.write(
      `GET /v1/changes HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n` +
        "Accept: text/event-stream\r\n\r\n",
    );
    const [head] = (await once(socket, "data")) as [string];
    if (!head.startsWith("HTTP/1.1 200")) throw new Error(head);
    socket.on("data", (text: string) => {
      if (this.#token !== "" && text.includes(this.#token)) this.#onSeen();
    });
    this.#sockets.push(socket);
  }

  /**
   * Times, monotonic ms, at which each follower has read a change that names `token`. Resolves when all have. Call it
   * before the change is made.
   */
  untilAllSee(token: string): Promise<number[]> {
    const times: number[] = [];
    this.#token = token;
    return new Promise((resolve) => {
      this.#onSeen = () => {
        times.push(performance.now());
        if (times.length === this.#sockets.length) resolve(times);
      };
      if (this.#sockets.length === 0) resolve(times);
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
