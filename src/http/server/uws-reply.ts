// Writing of replies to uWebSockets.js beyond the plain one: header lines in one crossing, and bodies
// that are streamed.
import { pumpBody } from "./body-pump.ts";
import type { BodyStream, Reply } from "./port.ts";
import { formatStatusLine } from "./status-lines.ts";
import type { HttpResponse } from "./uws-binary.ts";

/** Answer where a reply cannot be made. */
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
  isOpen(): boolean;
  /** Called when the body is complete, right before its end is written. */
  leave(): void;
}

/**
 * Begins a streamed reply, and goes on at the pace of the client.
 * @returns to be called when the client is gone: it wakes what waits for room.
 */
export function startStreamedReply(
  response: HttpResponse,
  { status, headers }: Reply,
  stream: BodyStream,
  call: StreamedCall,
  isLast: boolean,
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
      response.cork(() => void response.end("", isLast));
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
