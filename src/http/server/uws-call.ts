// One request on the native server, from its head to its reply, and the response object with it: the
// object must not be touched once its request is over, or the process goes down.
import type { BodyBudget, BodyBuffer } from "./body-buffer.ts";
import { type FramingFault, HeadReader } from "./framing.ts";
import {
  type RequestAdmission,
  type HttpApplication,
  type Peer,
  type Reply,
  formatStatusLine,
  type BodyStream,
} from "./port.ts";
import type { ReplyBackpressure } from "./reply-backpressure.ts";
import type { HttpRequest, HttpResponse } from "./uws-binary.ts";
import { pumpBody } from "./body-pump.ts";

const EMPTY = Buffer.alloc(0);

/** The server as its requests see it. */
export interface UwsHost {
  readonly application: HttpApplication;
  readonly budget: BodyBudget;
  readonly pace: ReplyBackpressure;
  /** Whether a reply ends its connection. */
  readonly isLastReply: boolean;
  /** Requests under way. */
  inflight: number;
  /** Called by each request when it is over, answered or not. */
  leave(): void;
}

/** The head being read by `forEach`: the callback is made once, not once per request. */
let currentHead: HeadReader;
const addHeaderToCurrentHead = (name: string, value: string): void => currentHead.add(name, value);

/** One request and its response object, which must not be touched once `isOpen` is false. */
export class UwsCall implements Peer {
  readonly #server: UwsHost;
  readonly #response: HttpResponse;
  #isOpen = true;
  #isHead = false;
  #contentLength = 0;
  #isRejected = false;
  /** Bytes of its reply that the peer has yet to read. */
  #heldBytes = 0;
  #body: BodyBuffer | undefined = undefined;
  #onGone: (() => void) | undefined = undefined;

  constructor(server: UwsHost, response: HttpResponse) {
    this.#server = server;
    this.#response = response;
    server.inflight += 1;
  }

  /** Everything that needs the request object, which dies when this returns. */
  begin(request: HttpRequest, method: string, path: string): void {
    const head = new HeadReader(method, path);
    currentHead = head;
    request.forEach(addHeaderToCurrentHead);
    this.#isHead = method === "HEAD";
    const { application } = this.#server;
    const fault = head.framingFault(application);
    if (fault !== undefined) return this.#rejectFraming(fault, head.path);
    const admission = application.admit(head, this);
    // One more crossing into native code, which the hot routes are spared: they take no query.
    if (method !== "POST" || admission.keepsBody) head.query = request.getQuery();
    this.#contentLength = head.contentLength;
    if (head.contentLength > admission.bodyBytesMax) {
      const detail = `the body may be at most ${admission.bodyBytesMax} bytes`;
      return this.#reject(admission.refusal ?? admission.refuse("body_too_large", detail));
    }
    if (head.contentLength <= 0) {
      if (head.hasUnprovedEnd) return this.#answerAndClose(admission);
      return this.#answer(admission, EMPTY);
    }
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
    this.#later(INTERNAL_FAILURE_REPLY, true);
  }

  #onChunk(admission: RequestAdmission, chunk: ArrayBuffer, isLast: boolean): void {
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

  #collect(admission: RequestAdmission, chunk: ArrayBuffer, isLast: boolean): void {
    this.#body ??= this.#server.budget.open(this.#contentLength, admission.sender);
    if (this.#body === undefined) {
      return this.#reject(admission.refuse("overloaded", "too many bodies are being received"));
    }
    if (!this.#body.append(new Uint8Array(chunk))) {
      return this.#reject(admission.refuse("body_too_large", "the body is longer than announced"));
    }
    if (isLast) this.#answer(admission, this.#body.bytes);
  }

  #answer(admission: RequestAdmission, body: Buffer): void {
    const reply = admission.refusal ?? admission.answer(body);
    // Inside the server's own callback the response is corked already.
    if (reply instanceof Promise) this.#answerLater(reply);
    else this.#write(reply, this.#server.isLastReply);
  }

  /** One turn later, as `#reject`: what follows on this connection never runs. */
  #answerAndClose(admission: RequestAdmission): void {
    setImmediate(() => {
      if (!this.#isOpen) return;
      Promise.resolve(admission.refusal ?? admission.answer(EMPTY)).then(
        (reply) => this.#later(reply, true),
        (error: unknown) => this.fail(error),
      );
    });
  }

  #answerLater(promise: Promise<Reply>): void {
    promise.then(
      (reply) => this.#later(reply, this.#server.isLastReply),
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
      const call = { isOpen: () => this.#isOpen, leave: () => this.#leave(), isLast };
      this.#onGone = startStreamedReply(this.#response, reply, reply.stream, call);
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
      if (status !== 200) response.writeStatus(formatStatusLine(status));
      writeHeaders(response, reply.headers);
    }
    if (this.#isHead) sendHeadReply(response, Buffer.byteLength(body), isLast);
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

// Replies with headers in one native call, and streamed bodies.

/** Reply where none can be built. */
export const INTERNAL_FAILURE_REPLY: Reply = {
  status: 500,
  headers: ["Content-Type", "application/problem+json", "Cache-Control", "no-store"],
  body: '{"type":"about:blank","title":"internal error","status":500,"code":"internal"}',
};

/** All lines cross into native code as one, for their values hold no line breaks. */
export function writeHeaders(response: HttpResponse, headers: readonly string[]): void {
  let lines = headers[1] as string;
  for (let index = 2; index < headers.length; index += 2) {
    lines += `\r\n${headers[index]}: ${headers[index + 1]}`;
  }
  response.writeHeader(headers[0] as string, lines);
}

/** The call that a stream belongs to. The response must not be touched once it is closed. */
export interface StreamedCall {
  /** Whether the connection closes after the reply. */
  readonly isLast: boolean;
  isOpen(): boolean;
  /** Called when the body is complete, right before its end is written. */
  leave(): void;
}

/**
 * Starts a streamed reply with backpressure from the client.
 * @returns to be called when the client is gone: it wakes what waits for room.
 */
export function startStreamedReply(
  response: HttpResponse,
  { status, headers }: Reply,
  stream: BodyStream,
  call: StreamedCall,
): () => void {
  let wake = (): void => undefined;
  response.writeStatus(formatStatusLine(status));
  writeHeaders(response, headers);
  response.onWritable(() => {
    wake();
    return true;
  });
  void pumpBody(stream, {
    isOpen: () => call.isOpen(),
    write(part) {
      let hasRoom = true;
      response.cork(() => {
        hasRoom = response.write(part);
      });
      return hasRoom;
    },
    onDrained: (drained) => void (wake = drained),
    end() {
      call.leave();
      response.cork(() => void response.end("", call.isLast));
    },
    cut: () => void response.close(),
  });
  return () => wake();
}

/**
 * Ends the reply to HEAD, whose body would have this length. Given the length without a close, the
 * native end takes the reply for unfinished and closes the connection on the next request.
 */
export function sendHeadReply(response: HttpResponse, length: number, isLast: boolean): void {
  if (isLast) response.endWithoutBody(length, true);
  else response.writeHeader("Content-Length", String(length)).endWithoutBody();
}
