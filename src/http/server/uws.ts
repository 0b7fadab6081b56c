// Adapter for uWebSockets.js. The native server is fast and trusting: it accepts ambiguous framing,
// has no body limits, and a handler that throws or forgets its response takes the process down. All
// of that is settled here, so that the application never meets it.
import type { FramingFault } from "./framing.ts";
import { HeadReader } from "./framing.ts";
import { type BodyBuffer, BodyBudget } from "./body-buffer.ts";
import {
  type Admission,
  CLOSE_GRACE_MS,
  type HttpApplication,
  type HttpServer,
  type ListenOptions,
  type Peer,
  type Reply,
  SERVER_LIMITS,
} from "./port.ts";
import { ReplyPace } from "./reply-pace.ts";
import { statusLine } from "./status-lines.ts";
import { endHead, FAILURE, streamReply, writeLines } from "./uws-reply.ts";
import {
  type HttpRequest,
  type HttpResponse,
  loadUws,
  type us_listen_socket,
  type Uws,
} from "./uws-binary.ts";

const EMPTY = Buffer.alloc(0);

/** Starts the native server. Rejects when the binary is not usable or the port is taken. */
export async function listenUws(
  application: HttpApplication,
  options: ListenOptions,
): Promise<HttpServer> {
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const server = new UwsServer(loadUws(limits.headerBytesMax), application, new BodyBudget(limits));
  await server.listen(options.host, options.port, options.isPortShared === true);
  return server;
}

class UwsServer implements HttpServer {
  readonly adapter = "uws";
  readonly application: HttpApplication;
  readonly budget: BodyBudget;
  readonly pace = new ReplyPace();
  inflight = 0;
  port = 0;
  isDraining = false;
  readonly #uws: Uws;
  readonly #app: ReturnType<Uws["App"]>;
  #listenSocket: us_listen_socket | undefined = undefined;
  #onIdle: (() => void) | undefined = undefined;
  #closed: Promise<void> | undefined = undefined;

  constructor(uws: Uws, application: HttpApplication, budget: BodyBudget) {
    this.#uws = uws;
    this.application = application;
    this.budget = budget;
    this.#app = uws.App();
    // The paid reads are matched natively: two strings less to bring over from native code.
    for (const path of application.exactPosts) {
      this.#app.post(path, (response, request) => this.#serve(response, request, "POST", path));
    }
    // One catch-all: exact matching, 404, 405 and HEAD are the application's, not the router's.
    this.#app.any("/*", (response, request) => {
      this.#serve(response, request, request.getCaseSensitiveMethod(), request.getUrl());
    });
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
        this.#listenSocket = socket;
        this.port = this.#uws.us_socket_local_port(socket);
        resolve();
      });
    });
  }

  stopAccepting(): void {
    this.isDraining = true;
    if (this.#listenSocket === undefined) return;
    this.#uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
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

/** The head being read by `forEach`: the callback is made once, not once per request. */
let reading: HeadReader;
const readHeader = (name: string, value: string): void => reading.add(name, value);

/** One request and its response object, which must not be touched once `isOpen` is false. */
class UwsCall implements Peer {
  readonly #server: UwsServer;
  readonly #response: HttpResponse;
  #isOpen = true;
  #isHead = false;
  #contentLength = 0;
  #isRejected = false;
  /** Bytes of its reply that the peer has yet to read. */
  #heldBytes = 0;
  #body: BodyBuffer | undefined = undefined;
  #onGone: (() => void) | undefined = undefined;

  constructor(server: UwsServer, response: HttpResponse) {
    this.#server = server;
    this.#response = response;
    server.inflight += 1;
  }

  /** Everything that needs the request object, which dies when this returns. */
  begin(request: HttpRequest, method: string, path: string): void {
    const head = new HeadReader(method, path);
    reading = head;
    request.forEach(readHeader);
    this.#isHead = method === "HEAD";
    const fault = head.framingFault();
    if (fault !== undefined) return this.#rejectFraming(fault, head.path);
    const { application } = this.#server;
    const admission = application.admit(head, this);
    // One more crossing into native code, which the hot routes are spared: they take no query.
    if (method !== "POST" || admission.keepsBody) head.query = request.getQuery();
    this.#contentLength = head.contentLength;
    if (head.contentLength > admission.bodyBytesMax) {
      const detail = `the body may be at most ${admission.bodyBytesMax} bytes`;
      return this.#reject(admission.refusal ?? admission.refuse("body_too_large", detail));
    }
    if (head.contentLength <= 0) return this.#answer(admission, EMPTY);
    this.#response.onData((chunk, isLast) => {
      try {
        this.#onChunk(admission, chunk, isLast);
      } catch (error) {
        this.fail(error);
      }
    });
  }

  address(): string {
    return this.#isOpen ? Buffer.from(this.#response.getRemoteAddressAsText()).toString() : "";
  }

  abort(): void {
    if (!this.#isOpen) return;
    this.#leave();
    this.#onGone?.();
    this.#server.application.onAborted();
  }

  /** A bug in this layer or below: answered, not fatal. */
  fail(error: unknown): void {
    this.#server.application.onFailure(error);
    this.#later(FAILURE, true);
  }

  #onChunk(admission: Admission, chunk: ArrayBuffer, isLast: boolean): void {
    if (!this.#isOpen || this.#isRejected) return;
    if (admission.refusal !== undefined) {
      // Read to its announced end (bounded above) and dropped, so that the connection lives on.
      if (isLast) this.#answer(admission, EMPTY);
      return;
    }
    if (isLast && this.#body === undefined) {
      if (chunk.byteLength > admission.bodyBytesMax) {
        return this.#reject(admission.refuse("body_too_large", "the body is too long"));
      }
      // The chunk is the server's memory and is taken back when this callback returns: lent to a
      // route that is done by then, copied for one that keeps it.
      const lent = Buffer.from(chunk);
      return this.#answer(admission, admission.keepsBody ? Buffer.from(lent) : lent);
    }
    this.#collect(admission, chunk, isLast);
  }

  #collect(admission: Admission, chunk: ArrayBuffer, isLast: boolean): void {
    this.#body ??= this.#server.budget.open(this.#contentLength, admission.sender);
    if (this.#body === undefined) {
      return this.#reject(admission.refuse("overloaded", "too many bodies are being received"));
    }
    if (!this.#body.append(new Uint8Array(chunk))) {
      return this.#reject(admission.refuse("body_too_large", "the body is longer than announced"));
    }
    if (isLast) this.#answer(admission, this.#body.bytes);
  }

  #answer(admission: Admission, body: Buffer): void {
    const reply = admission.refusal ?? admission.answer(body);
    // Inside the server's own callback the response is corked already.
    if (reply instanceof Promise) this.#answerLater(reply);
    else this.#write(reply, this.#server.isDraining);
  }

  #answerLater(promise: Promise<Reply>): void {
    promise.then(
      (reply) => this.#later(reply, this.#server.isDraining),
      (error: unknown) => this.fail(error),
    );
  }

  #rejectFraming(fault: FramingFault, path: string): void {
    this.#reject(this.#server.application.refuse(fault.code, fault.detail, path));
  }

  /**
   * Sends the refusal and closes, one turn later: answered at once, the server would go on to parse
   * the rest of the same segment as a request of its own. While this one is open it does not.
   */
  #reject(reply: Reply): void {
    this.#isRejected = true;
    setImmediate(() => this.#later(reply, true));
  }

  #later(reply: Reply, isLast: boolean): void {
    if (!this.#isOpen) {
      reply.stream?.cancel();
      return;
    }
    if (this.#heldBytes === 0) this.#response.cork(() => this.#write(reply, isLast));
  }

  #write(reply: Reply, isLast: boolean): void {
    if (!this.#isOpen) return;
    // Before the call is over: a reply that cannot be laid out is answered as a failure.
    const { status, headLines } = reply;
    if (headLines === undefined && reply.stream !== undefined) {
      const call = { isOpen: () => this.#isOpen, leave: () => this.#leave() };
      this.#onGone = streamReply(this.#response, reply, reply.stream, call, isLast);
      return;
    }
    const body = reply.lentBody === undefined ? reply.body : reply.lentBody();
    const { pace } = this.#server;
    // Before a close there is nothing more to be read from the peer.
    const isPaced = !this.#isHead && !isLast && pace.isDue(body);
    if (!isPaced) this.#leave();
    const response = this.#response;
    if (headLines !== undefined) response.writeStatus(headLines);
    else {
      if (status !== 200) response.writeStatus(statusLine(status));
      writeLines(response, reply.headers);
    }
    if (this.#isHead) endHead(response, Buffer.byteLength(body), isLast);
    else if (!isPaced) response.end(body, isLast);
    else {
      this.#heldBytes = pace.send(response, body, () => this.#leave());
      if (this.#heldBytes === 0) this.#leave();
    }
  }

  #leave(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#server.pace.release(this.#heldBytes);
    if (this.#body !== undefined) this.#server.budget.release(this.#body);
    this.#server.leave();
  }
}
