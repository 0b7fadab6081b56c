// Adapter for uWebSockets.js. The native server is fast and trusting: it accepts ambiguous framing,
// has no body limits, and a handler that throws or forgets its response takes the process down. All
// of that is settled here, so that the application never meets it.
import { BodyBudget } from "./body-buffer.ts";
import {
  CLOSE_GRACE_MS,
  type HttpApplication,
  type HttpServer,
  type ListenOptions,
  SERVER_LIMITS,
} from "./port.ts";
import type { ConnectionLimit } from "./connections.ts";
import { ReplyBackpressure } from "./reply-backpressure.ts";
import { UwsCall, type UwsHost } from "./uws-call.ts";
import {
  type HttpRequest,
  type HttpResponse,
  loadUws,
  type us_listen_socket,
  type UwsModule,
} from "./uws-binary.ts";

/** Starts the native server. Rejects when the binary is not usable or the port is taken. */
export async function listenUws(
  application: HttpApplication,
  options: ListenOptions,
): Promise<HttpServer> {
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const uws = loadUws(limits.headerBytesMax);
  const server = new UwsServer(uws, application, new BodyBudget(limits), options.connections);
  if (options.isTcpWanted !== false) {
    await server.listen(options.host, options.port, options.isPortShared === true);
  }
  return server;
}

class UwsServer implements HttpServer, UwsHost {
  readonly adapter = "uws";
  readonly application: HttpApplication;
  readonly budget: BodyBudget;
  readonly connections: ConnectionLimit;
  readonly pace = new ReplyBackpressure();
  inflight = 0;
  port = 0;
  isDraining = false;
  readonly #uws: UwsModule;
  readonly #app: ReturnType<UwsModule["App"]>;
  readonly #listenSockets: us_listen_socket[] = [];
  #onIdle: (() => void) | undefined = undefined;
  #closed: Promise<void> | undefined = undefined;

  constructor(
    uws: UwsModule,
    application: HttpApplication,
    budget: BodyBudget,
    connections: ConnectionLimit,
  ) {
    this.#uws = uws;
    this.application = application;
    this.budget = budget;
    this.connections = connections;
    this.#app = uws.App();
    this.#app.filter((response, change) => this.#count(response, change));
    // The paid reads are matched natively: two strings less to bring over from native code.
    for (const path of application.exactPosts) {
      this.#app.post(path, (response, request) => this.#serve(response, request, "POST", path));
    }
    // One catch-all: exact matching, 404, 405 and HEAD are the application's, not the router's.
    this.#app.any("/*", (response, request) => {
      this.#serve(response, request, request.getCaseSensitiveMethod(), request.getUrl());
    });
  }

  /**
   * Whether a reply ends its connection. When it is crowded, so that callers who have their answer
   * make room; who never asks is closed by the native server after ten seconds.
   */
  get isLastReply(): boolean {
    return this.isDraining || this.connections.isCrowded;
  }

  /** The native server has no handle on idle connections: the new one is closed, at once. */
  #count(response: HttpResponse, change: number): void {
    if (change < 0) return this.connections.leave();
    // Only sockets of the file system have peers without an address.
    if (this.connections.enter(() => response.getRemoteAddressAsText().byteLength === 0)) return;
    this.connections.turnAway("refused");
    response.close();
  }

  listen(host: string, port: number, isShared: boolean): Promise<void> {
    // Without the exclusive flag a second copy of the service would bind the same port silently.
    const exclusive = isShared ? 0 : this.#uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, exclusive, (socket) => {
        if (socket === false) {
          reject(new Error(`cannot listen on \`${host}:${port}\`: is the port taken?`));
          return;
        }
        this.#listenSockets.push(socket);
        this.port = this.#uws.us_socket_local_port(socket);
        resolve();
      });
    });
  }

  listenAt(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#app.listen_unix((socket) => {
        if (socket === false) return reject(new Error(`cannot listen on \`unix:${path}\``));
        this.#listenSockets.push(socket);
        resolve();
      }, path);
    });
  }

  drain(): void {
    this.isDraining = true;
  }

  stopAccepting(): void {
    this.drain();
    for (const socket of this.#listenSockets.splice(0)) this.#uws.us_listen_socket_close(socket);
  }

  close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#closed ??= this.#closeOnce(graceMs);
    return this.#closed;
  }

  /** Called by each request when it is over, answered or not. */
  leave(): void {
    this.inflight -= 1;
    if (this.inflight === 0) this.#onIdle?.();
  }

  async #closeOnce(graceMs: number): Promise<void> {
    this.stopAccepting();
    if (this.inflight > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    // The last replies leave with the end of their callback: one turn before sockets are cut.
    await new Promise((resolve) => setImmediate(resolve));
    this.#app.close();
  }

  /** The one entry: an abort handler before anything else, and nothing thrown past this frame. */
  #serve(response: HttpResponse, request: HttpRequest, method: string, path: string): void {
    const call = new UwsCall(this, response);
    response.onAborted(() => call.abort());
    try {
      call.begin(request, method, path);
    } catch (error) {
      call.fail(error);
    }
  }
}
