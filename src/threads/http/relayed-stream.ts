// Streamed body on its way between HTTP threads: a port on which the receiving thread asks for each
// part. Nothing is sent that was not asked for, so the client's pace reaches the store.
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { BodyStream } from "../../http/server/port.ts";
import { ensureTransferable } from "./messages.ts";

type StreamRequest = "next" | "cancel";
/** A part, `null` at the end, or no part at all: the rest will not come. */
type StreamPart = { readonly part: Uint8Array | null } | { readonly failed: true };

/** Serves a stream on a port, which is for the other thread. */
export function serveStreamOnPort(stream: BodyStream): MessagePort {
  const { port1: own, port2: lent } = new MessageChannel();
  const send = (part: StreamPart, transfer: ArrayBuffer[] = []) => own.postMessage(part, transfer);
  const sendNext = async () => {
    try {
      const part = await stream.next();
      const bytes = part === undefined ? null : ensureTransferable(part);
      send({ part: bytes }, bytes === null ? [] : [bytes.buffer]);
    } catch {
      send({ failed: true });
    }
  };
  own.on("message", (asked: StreamRequest) => {
    if (asked === "cancel") {
      own.close();
      return;
    }
    void sendNext();
  });
  // Also when the other thread ends; a stream at its end is not harmed by it.
  own.once("close", () => stream.cancel());
  return lent;
}

/** The stream behind a lent port. */
export function readStreamFromPort(port: MessagePort): BodyStream {
  return {
    next() {
      return new Promise((resolve, reject) => {
        const gone = () => reject(new Error("the stream has ended before its last part"));
        port.once("close", gone);
        port.once("message", (answer: StreamPart) => {
          port.off("close", gone);
          if ("failed" in answer) gone();
          else resolve(answer.part ?? undefined);
        });
        port.postMessage("next" satisfies StreamRequest);
      });
    },
    cancel() {
      port.postMessage("cancel" satisfies StreamRequest);
      port.close();
    },
  };
}
