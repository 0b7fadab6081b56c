// Relayed requests and replies: the head of a request, and the body of a streamed reply as chunks over a port.
import type { Exchange } from "../../http/exchange.ts";
import type { RequestHead, BodyStream } from "../../http/server/port.ts";
import { MessageChannel, type MessagePort } from "node:worker_threads";
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

/** The head as data, under the id that this thread gave the request; its time is kept here. */
export function buildRelayedHead(exchange: Exchange): RequestHead {
  const { head, requestId } = exchange;
  const { forwarded } = head;
  return {
    method: head.method,
    path: head.path,
    query: head.query,
    authorization: head.authorization,
    contentType: head.contentType,
    contentEncoding: head.contentEncoding,
    accept: head.accept,
    requestId: head.requestId,
    relayedId: requestId,
    traceparent: selectTraceparent(exchange),
    deadlineMs: undefined,
    idempotencyKey: head.idempotencyKey,
    signature: head.signature,
    wantsTiming: false,
    host: head.host,
    forwarded: forwarded === undefined ? undefined : new Map(forwarded),
    peerAddress: exchange.peerAddress(),
  };
}

/** Under its own span where it has one, which may be the first of its trace. */
function selectTraceparent({ head, traceId, watching }: Exchange): string | undefined {
  const spanId = watching?.spanId;
  return spanId === undefined ? head.traceparent : `00-${traceId}-${spanId}-01`;
}
