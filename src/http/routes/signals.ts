// `POST /v1/signals`: security event tokens by push (RFC 8935), from transmitters of OpenID Shared Signals.
import { SIGNAL_TOKEN_BYTES_MAX, SignalRefused } from "../../contract/conditions/signals.ts";
import { CLUSTER_CHANGE_DEADLINE_MS } from "../access/missing-ids.ts";
import { assertMediaType, SIGNAL_MEDIA_TYPE } from "../codec/negotiation.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

export const SIGNAL_ROUTES: readonly Route[] = [
  {
    name: "receive_signal",
    method: "POST",
    path: "/v1/signals",
    summary: "Takes a security event token of a pinned issuer (RFC 8935)",
    access: "signals:write",
    body: { kind: "token", bytesMax: SIGNAL_TOKEN_BYTES_MAX, schema: "SecurityEventToken" },
    responses: {
      202: { description: "Received; what follows from it is in force", isEmpty: true },
      400: { description: "Refused, with a code of RFC 8935", schema: "SignalError" },
    },
    deadlineMs: CLUSTER_CHANGE_DEADLINE_MS,
    handle: receiveSignal,
  },
];

async function receiveSignal(exchange: Exchange): Promise<Reply> {
  assertMediaType(exchange.head.contentType, SIGNAL_MEDIA_TYPE);
  const signals = exchange.require("signals");
  try {
    await signals.receive(exchange.body.toString("latin1").trim(), exchange.principal);
  } catch (error) {
    if (!(error instanceof SignalRefused)) throw error;
    // RFC 8935, section 2.3: JSON, whatever the transmitter accepts.
    const answer = JSON.stringify({ err: error.code, description: error.message });
    return exchange.text(400, "application/json", answer);
  }
  return exchange.text(202, "text/plain", "");
}
