// Writes replies on node:http: whole, as a stream at the pace of the client, and by hand where the parser has
// refused what came and there is no request.
import type http from "node:http";
import { type BodySink, pumpBody } from "./body-pump.ts";
import type { Reply } from "./port.ts";
import { formatStatusLine } from "./status-lines.ts";

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
