// Fault proxy of the conformance kit: sits between a gateway and the service and injects faults on
// real sockets. The only part of the client that needs Node.
import http from "node:http";
import type { AddressInfo } from "node:net";

/** Treatment of a request. `delay` and `silence` may still reach the service. */
export type Fault =
  | { readonly kind: "none" }
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "silence" }
  | { readonly kind: "refused" }
  | { readonly kind: "reset" }
  | { readonly kind: "half_head" }
  | { readonly kind: "half_body" }
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "garbage" }
  | { readonly kind: "wrong_type" }
  | { readonly kind: "not_http" };

/** Turns of the event loop. */
const TURNS = 3;
const NONE: Fault = { kind: "none" };
const WRONG_TYPES = '{"policy_action":"ALLOW","decision":1,"allowed":"yes"}';

export class FaultProxy {
  /** Requests since the start, broken ones included. */
  count = 0;
  readonly #target: URL;
  readonly #server: http.Server;
  #fault = NONE;
  #port = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = http.createServer((request, response) => {
      this.count += 1;
      this.#serve(request, response);
    });
  }

  /** Listens on a free loopback port in front of `target` (an http address). */
  static async open(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await proxy.#listen(0);
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Treats every request from now on like this. Closes open connections. */
  async set(fault: Fault): Promise<void> {
    const wasRefusing = this.#fault.kind === "refused";
    this.#fault = fault;
    this.#server.closeAllConnections();
    // A client in this process has to read that its connections are closed before it uses one again.
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise(setImmediate);
    if (fault.kind === "refused" && !wasRefusing) await this.#stop();
    if (fault.kind !== "refused" && wasRefusing) await this.#listen(this.#port);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await this.#stop();
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  #stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    const fault = this.#fault;
    const { socket } = request;
    response.on("error", () => undefined);
    request.on("error", () => undefined);
    switch (fault.kind) {
      case "none":
        this.#forward(request, response, 0);
        return;
      case "delay":
        this.#forward(request, response, fault.ms);
        return;
      case "silence":
      case "refused":
        return;
      case "reset":
        socket.resetAndDestroy();
        return;
      case "half_head":
        socket.end("HTTP/1.1 200 OK\r\nContent-Le");
        return;
      case "half_body":
        socket.end(`HTTP/1.1 200 OK\r\n${JSON_HEAD}Content-Length: 4000\r\n\r\n{"policy_action":`);
        return;
      case "not_http":
        socket.end("220 mail.example ESMTP\r\n");
        return;
      case "status":
        response.writeHead(fault.status, { "Content-Type": "text/plain" }).end("upstream error");
        return;
      case "garbage":
        response.writeHead(200, { "Content-Type": "application/json" }).end("}{ garbage");
        return;
      case "wrong_type":
        response.writeHead(200, { "Content-Type": "application/json" }).end(WRONG_TYPES);
    }
  }

  /** Forwards the request and sends the answer `delayMs` after the request came in. */
  #forward(request: http.IncomingMessage, response: http.ServerResponse, delayMs: number): void {
    const startMs = performance.now();
    const onward = http.request({
      // A connection of its own: one that is used again may be closed, and that fault nobody asked for.
      agent: false,
      host: this.#target.hostname,
      port: this.#target.port,
      method: request.method,
      path: request.url,
      headers: request.headers,
    });
    onward.on("error", () => response.destroy());
    onward.on("response", (answer) => {
      const waitMs = Math.max(0, delayMs - (performance.now() - startMs));
      setTimeout(() => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      }, waitMs);
    });
    request.pipe(onward);
  }
}

const JSON_HEAD = "Content-Type: application/json\r\n";
