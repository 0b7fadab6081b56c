// Header lines of a verdict with the request id that ends them, as bytes: one buffer per thread,
// overwritten by the next reply.
import { writeRequestId } from "./request-id.ts";

/** Three lines, and a request id of 128 characters at most. */
const HEAD_BYTES = 512;

const headBuffer = Buffer.from(new ArrayBuffer(HEAD_BYTES));
const headViews: (Uint8Array | undefined)[] = [];
let lastHeadLines = "";

/** Header lines and the request id that ends them; valid until the next call like the body. */
export function encodeVerdictHead(lines: string, requestId: string): Uint8Array {
  if (lines !== lastHeadLines) {
    headBuffer.write(lines, "latin1");
    lastHeadLines = lines;
  }
  const length = lines.length + writeRequestId(requestId, headBuffer, lines.length);
  return (headViews[length] ??= new Uint8Array(headBuffer.buffer, 0, length));
}
