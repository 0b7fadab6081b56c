// Pump of streamed bodies, the same for every adapter: takes the next part only once the last has left,
// gives up on a client that takes nothing, and ends the stream with the connection.
import type { BodyStream } from "./port.ts";

/** Longest wait in ms for a client to take what it was sent. */
const STALL_MS_MAX = 30_000;

/** The connection's side of a streamed body. */
export interface BodySink {
  /** False once the client is gone. */
  isOpen(): boolean;
  /** Sends a part; false: the next has to wait for `onDrained`. */
  write(part: Uint8Array): boolean;
  /** Calls back once when there is room again, or when the client is gone. */
  onDrained(call: () => void): void;
  /** The body is complete. */
  end(): void;
  /** The body stays incomplete, and the client must see that it does. */
  cut(): void;
}

/** Sends a whole stream. Never rejects. */
export async function pumpBody(stream: BodyStream, sink: BodySink): Promise<void> {
  try {
    while (sink.isOpen()) {
      const part = await stream.next();
      if (!sink.isOpen()) break;
      if (part === undefined) {
        sink.end();
        return;
      }
      if (!sink.write(part) && !(await waitForDrain(sink))) break;
    }
  } catch {
    // The reason is in the log of whoever made the stream; the client sees a body cut short.
  }
  stream.cancel();
  if (sink.isOpen()) sink.cut();
}

function waitForDrain(sink: BodySink): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), STALL_MS_MAX);
    sink.onDrained(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
