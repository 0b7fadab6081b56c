// Backpressure of replies on the native server, which buffers everything written and keeps reading: a peer that
// sends requests and never reads would grow the process without bound. A reply that its socket does not accept stays
// open, and while it is open the server closes a connection on which further requests arrive.
import type { HttpResponse } from "./uws-binary.ts";

/** Of all replies held, bytes; beyond it the connection is closed. */
const HELD_REPLY_BYTES_MAX = 64 * 1024 * 1024;
/** Replies from this length on are paced, bytes. */
const LARGE_BODY_BYTES_MIN = 4096;
/**
 * Of the small ones every sixteenth: asking costs more than writing, and a peer that does not read
 * is stopped within some sixteen replies of a kilobyte.
 */
const SMALL_REPLY_MASK = 15;

export class ReplyBackpressure {
  #replies = 0;
  #heldBytes = 0;

  /** Whether a body is to be sent by `send`, or at once. */
  isDue(body: string | Uint8Array): boolean {
    if (body.length >= LARGE_BODY_BYTES_MIN) return true;
    this.#replies = (this.#replies + 1) & SMALL_REPLY_MASK;
    return this.#replies === 0;
  }

  /**
   * Ends a response with a body as fast as the peer reads it. Returns the number of bytes that are
   * held for it: 0 when all are sent, or else `onSent` follows, unless the connection is closed first.
   * Give them back with `release` in both cases.
   */
  send(response: HttpResponse, body: string | Uint8Array, onSent: () => void): number {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const { length } = bytes;
    const start = response.getWriteOffset();
    const [isSent] = response.tryEnd(bytes, length);
    if (isSent) return 0;
    const sent = response.getWriteOffset() - start;
    if (this.#heldBytes + length - sent > HELD_REPLY_BYTES_MAX) {
      response.close();
      return 0;
    }
    // A copy: the bytes may be lent until the next reply is made.
    const rest = Uint8Array.from(bytes.subarray(sent));
    this.#heldBytes += rest.length;
    response.onWritable((offset) => {
      const [isWritten] = response.tryEnd(rest.subarray(offset - start - sent), length);
      if (isWritten) onSent();
      return isWritten;
    });
    return rest.length;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}
