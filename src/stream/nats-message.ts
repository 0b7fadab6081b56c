// A message of the ordered log as NATS carries it: the frames are its payload, its name stands in headers.
import {
  type OrderedMessage,
  type OutgoingMessage,
  MESSAGE_RULES_VERSION,
} from "../ledger/ordered/message.ts";
import { buildMessageHeaders } from "./nats-connection.ts";

const ORIGIN = "Tr-Origin";
const NUMBER = "Tr-N";
const COUNT = "Tr-Count";
const MESSAGE_RULES = "Tr-Rules";

/** What a consumer of the stream hands over, as far as it is read. */
interface DeliveredMessage {
  readonly headers?: { get(name: string): string } | undefined;
  readonly seq: number;
  readonly info: { readonly timestampNanos: number };
  readonly data: Uint8Array;
}

export function encodeMessageHeaders({ origin, n, count }: OutgoingMessage) {
  return buildMessageHeaders({
    [ORIGIN]: origin,
    [NUMBER]: String(n),
    [COUNT]: String(count),
    [MESSAGE_RULES]: String(MESSAGE_RULES_VERSION),
  });
}

export function decodeOrderedMessage({
  headers,
  seq,
  info,
  data,
}: DeliveredMessage): OrderedMessage {
  return {
    seq,
    timeMs: Math.floor(info.timestampNanos / 1e6),
    origin: headers?.get(ORIGIN) ?? "",
    n: Number(headers?.get(NUMBER)),
    count: Number(headers?.get(COUNT)),
    rules: Number(headers?.get(MESSAGE_RULES)),
    frames: data,
  };
}
