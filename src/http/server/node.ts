// Adapter for node:http: used where no native binary loads, and the oracle for tests of the native
// adapter. Same framing rules, same limits, same texts.
import http from "node:http";
import type net from "node:net";
import type { Socket } from "node:net";
import { type BodyBuffer, BodyBudget } from "./body-buffer.ts";
import { HeadReader, splitTarget } from "./framing.ts";
import type { ConnectionLimit } from "./connections.ts";
import { encodeParserErrorReply, writeReply, RequestPipeline } from "./node-reply.ts";
import {
  type RequestAdmission,
  CLOSE_GRACE_MS,
  type HttpApplication,
  type HttpServer,
  type ListenOptions,
  type Reply,
  SERVER_LIMITS,
  type ServerLimits,
} from "./port.ts";

/** As the native server. */
const IDLE_MS = 10_000;
const REQUEST_MS_MAX = 30_000;
const EMPTY = Buffer.alloc(0);

/** Starts a node:http server. Rejects when the port is taken. */
export async function listenNode(
  application: HttpApplication,
  options: ListenOptions,
): Promise<HttpServer> {
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const server = new NodeServer(application, limits, options.connections);
  const { host, port, isPortShared = false } = options;
  if (options.isTcpWanted !== false) {
    await server.listen({ host, port, exclusive: true, reusePort: isPortShared });
  }
  return server;
}

class NodeServer implements HttpServer {
  readonly adapter = "node";
  inflight = 0;
  port = 0;
  readonly #application: HttpApplication;
  readonly #budget: BodyBudget;
  readonly #headerBytesMax: number;
  /** One for each address: a server of Node's listens once. */
  readonly #servers: http.Server[] = [];
  /** Sockets about to be closed: further input that the parser finds on them is not a request. */
  readonly #condemned = new WeakSet<Socket>();
  readonly #pipelines = new WeakMap<Socket, RequestPipeline>();
  readonly connections: ConnectionLimit;
  /** Sockets without a request under way, the longest idle first; none of the file system's. */
  readonly #idle = new Set<Socket>();
  readonly #counted = new Set<Socket>();
  #isDraining = false;
  #onIdle: (() => void) | undefined = undefined;
  #closed: Promise<void> | undefined = undefined;

  constructor(application: HttpApplication, limits: ServerLimits, connections: ConnectionLimit) {
    this.#application = application;
    this.connections = connections;
    this.#budget = new BodyBudget(limits);
    this.#headerBytesMax = limits.headerBytesMax;
  }

  #makeServer(): http.Server {
    const server = http.createServer({
      maxHeaderSize: this.#headerBytesMax,
      headersTimeout: IDLE_MS,
      requestTimeout: REQUEST_MS_MAX,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: 1000,
      // Our own check answers with a problem.
      requireHostHeader: false,
      insecureHTTPParser: false,
    });
    server.on("connection", (socket) => this.#take(socket));
    server.on("request", (request, response) => {
      const { socket } = request;
      const pipeline = this.#findOrAddPipeline(socket);
      this.#idle.delete(socket);
      pipeline.enter(() => {
        response.once("close", () => {
          pipeline.leave();
          const isIdle = !pipeline.isBusy && !socket.destroyed;
          if (isIdle && !isUnixSocket(socket)) this.#idle.add(socket);
        });
        try {
          this.#serve(request, response);
        } catch (error) {
          this.#application.onFailure(error);
          response.destroy();
        }
      });
    });
    server.on("clientError", (error, socket) => this.#onClientError(error, socket as Socket));
    return server;
  }

  listen(options: net.ListenOptions): Promise<void> {
    const server = this.#makeServer();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(options, () => {
        server.off("error", reject);
        this.#servers.push(server);
        const address = server.address();
        if (typeof address === "object" && address !== null) this.port = address.port;
        resolve();
      });
    });
  }

  listenAt(path: string): Promise<void> {
    return this.listen({ path, exclusive: true });
  }

  drain(): void {
    this.#isDraining = true;
  }

  stopAccepting(): void {
    this.drain();
    // Without effect on one that is closed.
    for (const server of this.#servers) server.close();
  }

  close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#closed ??= this.#closeOnce(graceMs);
    return this.#closed;
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
    await new Promise((resolve) => setImmediate(resolve));
    for (const server of this.#servers) server.closeAllConnections();
  }

  /** At the bound the longest idle connection makes room for a new one. */
  #take(socket: Socket): void {
    const { connections } = this;
    const hasRoom = connections.enter(() => isUnixSocket(socket));
    this.#counted.add(socket);
    socket.once("close", () => this.#drop(socket));
    if (!hasRoom) {
      const [oldest] = this.#idle;
      connections.turnAway(oldest === undefined ? "refused" : "closedIdle");
      // Now, not when it has closed: many may come before that.
      this.#drop(oldest ?? socket);
      (oldest ?? socket).destroy();
      if (oldest === undefined) return;
    }
    if (!isUnixSocket(socket)) this.#idle.add(socket);
  }

  #drop(socket: Socket): void {
    this.#idle.delete(socket);
    if (this.#counted.delete(socket)) this.connections.leave();
  }

  #findOrAddPipeline(socket: Socket): RequestPipeline {
    const known = this.#pipelines.get(socket);
    if (known !== undefined) return known;
    const made = new RequestPipeline(socket);
    this.#pipelines.set(socket, made);
    return made;
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    if (this.#condemned.has(request.socket)) return;
    this.inflight += 1;
    response.once("close", () => {
      if (!response.writableFinished) this.#application.onAborted();
      this.inflight -= 1;
      if (this.inflight === 0) this.#onIdle?.();
    });
    // A peer that resets the connection is not an event worth a crash; `close` follows.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const [path = "", query = ""] = splitTarget(request.url ?? "");
    const head = new HeadReader(request.method ?? "", path);
    const { rawHeaders } = request;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      head.add((rawHeaders[index] as string).toLowerCase(), rawHeaders[index + 1] as string);
    }
    head.query = query;
    const fault = head.framingFault(this.#application);
    if (fault !== undefined) {
      this.#reject(response, this.#application.refuse(fault.code, fault.detail, path));
      return;
    }
    const admission = this.#application.admit(head, {
      address: () => request.socket.remoteAddress ?? "",
    });
    if (head.contentLength > admission.bodyBytesMax) {
      const detail = `the body may be at most ${admission.bodyBytesMax} bytes`;
      const reply = admission.refusal ?? admission.refuse("body_too_large", detail);
      this.#reject(response, reply);
    } else if (head.contentLength <= 0) {
      if (head.hasUnprovedEnd) this.#condemn(response);
      this.#answer(response, admission, EMPTY);
    } else {
      this.#receive(request, response, admission, head.contentLength);
    }
  }

  #receive(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    admission: RequestAdmission,
    length: number,
  ): void {
    if (admission.refusal !== undefined) {
      request.resume();
      request.once("end", () => this.#answer(response, admission, EMPTY));
      return;
    }
    let body: BodyBuffer | undefined;
    let whole: Buffer | undefined;
    request.on("data", (piece: Buffer) => {
      if (this.#condemned.has(request.socket)) return;
      if (body === undefined && piece.length === length) {
        // It takes no place among those that wait for their rest, however many those are.
        whole = piece;
        return;
      }
      body ??= this.#openBody(response, length, admission.sender);
      if (body === undefined) {
        const detail = "too many bodies are being received";
        this.#reject(response, admission.refuse("overloaded", detail));
      } else body.append(piece);
    });
    request.once("end", () => {
      if (whole !== undefined) this.#answer(response, admission, whole);
      else if (body?.isComplete === true) this.#answer(response, admission, body.bytes);
    });
  }

  #openBody(response: http.ServerResponse, length: number, sender: string): BodyBuffer | undefined {
    const body = this.#budget.open(length, sender);
    if (body !== undefined) response.once("close", () => this.#budget.release(body));
    return body;
  }

  #answer(response: http.ServerResponse, admission: RequestAdmission, body: Buffer): void {
    const reply = admission.refusal ?? admission.answer(body);
    const isLast = () => this.#isDraining || this.#condemned.has(response.req.socket);
    if (!(reply instanceof Promise)) this.#write(response, reply, isLast());
    else {
      reply.then(
        (settled) => this.#write(response, settled, isLast()),
        (error: unknown) => {
          this.#application.onFailure(error);
          response.destroy();
        },
      );
    }
  }

  #reject(response: http.ServerResponse, reply: Reply): void {
    this.#condemn(response);
    this.#write(response, reply, true);
  }

  /** Nothing that follows on this connection runs; it is closed once the reply has left. */
  #condemn(response: http.ServerResponse): void {
    const { socket } = response.req;
    this.#condemned.add(socket);
    response.once("finish", () => socket.destroySoon());
  }

  #write(response: http.ServerResponse, reply: Reply, isLast: boolean): void {
    if (response.destroyed || response.headersSent) {
      reply.stream?.cancel();
      return;
    }
    writeReply(response, reply, isLast);
  }

  /**
   * A refusal by the parser itself: there is no request object, so the reply is written by hand.
   */
  #onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#condemned.has(socket)) return;
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const detail = "the request is not valid HTTP";
    socket.end(
      encodeParserErrorReply(error, this.#application.refuse("invalid_framing", detail, "/")),
    );
  }
}

/** Whether it came by a socket of the file system, where peers have no address. */
function isUnixSocket(socket: Socket): boolean {
  return socket.remoteAddress === undefined;
}
