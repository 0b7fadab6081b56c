// Writes replies on node:http, whole or streamed, and by hand where the parser rejected the request. Serializes the
// pipelined requests of one connection.
import type http from "node:http";
import { type BodySink, pumpBody } from "./body-pump.ts";
import { type Reply, formatStatusLine } from "./port.ts";
import type { Socket } from "node:net";

const CLOSE_HEADER = ["Connection", "close"];

/** Sends a reply; the connection ends with the last one. */
export function writeReply(response: http.ServerResponse, reply: Reply, isLast: boolean): void {
  if (reply.stream !== undefined) {
    response.writeHead(
      reply.status,
      isLast ? [...reply.headers, ...CLOSE_HEADER] : [...reply.headers],
    );
    void pumpBody(reply.stream, createBodySink(response));
    return;
  }
  const headers = [...reply.headers, "Content-Length", String(Buffer.byteLength(reply.body))];
  if (isLast) headers.push(...CLOSE_HEADER);
  response.writeHead(reply.status, headers);
  response.end(reply.body);
}

function createBodySink(response: http.ServerResponse): BodySink {
  let wake = (): void => undefined;
  for (const event of ["drain", "close"]) response.on(event, () => wake());
  return {
    isOpen: () => !response.destroyed,
    write: (part) => response.write(part),
    onDrained: (call) => void (wake = call),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  };
}

const STATUS_BY_PARSER_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The bytes of a refusal, with the status of the parser's own error where it has one. */
export function encodeParserErrorReply(error: NodeJS.ErrnoException, reply: Reply): Buffer {
  const status = STATUS_BY_PARSER_ERROR[error.code ?? ""] ?? reply.status;
  const lines = [`HTTP/1.1 ${formatStatusLine(status)}`, "Connection: close"];
  const body = Buffer.from(reply.body);
  for (let index = 0; index < reply.headers.length; index += 2) {
    lines.push(`${reply.headers[index]}: ${reply.headers[index + 1]}`);
  }
  lines.push(`Content-Length: ${body.length}`, "", "");
  return Buffer.concat([Buffer.from(lines.join("\r\n")), body]);
}

// Pipelined requests: node:http parses and announces every request that a peer has sent, whether or not it reads
// the replies. One is answered at a time; the connection is not read while several wait.
/** Waiting requests from which the connection is no longer read. One read may bring several more. */
const WAITING_REQUESTS_MAX = 16;

export class RequestPipeline {
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /** Whether a reply is in progress. */
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
