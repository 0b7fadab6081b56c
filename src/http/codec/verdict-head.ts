// Header lines of a verdict with the request id that ends them, as bytes: one buffer per thread,
// overwritten by the next reply.
import { writeId } from "./request-id.ts";

/** Three lines, and a request id of 128 characters at most. */
const HEAD_BYTES = 512;

const head = Buffer.from(new ArrayBuffer(HEAD_BYTES));
const headViews: (Uint8Array | undefined)[] = [];
let headLines = "";

/** Header lines and the request id that ends them; valid until the next call like the body. */
export function headBytes(lines: string, requestId: string): Uint8Array {
  if (lines !== headLines) {
    head.write(lines, "latin1");
    headLines = lines;
  }
  const length = lines.length + writeId(requestId, head, lines.length);
  return (headViews[length] ??= new Uint8Array(head.buffer, 0, length));
}
