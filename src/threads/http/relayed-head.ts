// Head of a request that one HTTP thread hands to the main one: all of it is data, none of it is the
// server's memory.
import type { Exchange } from "../../http/exchange.ts";
import type { RequestHead } from "../../http/server/port.ts";

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
