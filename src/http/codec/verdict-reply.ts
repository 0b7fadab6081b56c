// Replies of verdicts: header lines in one piece with the seconds for which the verdict may be cached,
// the body written when it is sent.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import type { Exchange } from "../exchange.ts";
import { formatStatusLine, type Reply } from "../server/port.ts";
import { encodeMsgpack } from "./msgpack.ts";
import { type WireFormat, MEDIA_TYPES } from "./negotiation.ts";
import { encodeVerifyJson } from "./verify-writer.ts";
import { writeRequestId } from "./request-id.ts";

/** A verdict may be cached until it expires (SPEC §8.3), by its caller alone. */
export function buildVerdictReply<Response extends VerdictLifetime>(
  exchange: Exchange,
  status: 200 | 403,
  response: Response,
  write: (response: Response) => string,
): Reply {
  const body = exchange.replyFormat === "json" ? write(response) : encodeMsgpack(response);
  return new VerdictReply(status, exchange, computeMaxAgeSec(exchange, response), body);
}

type VerdictLifetime = Record<"evaluated_at" | "expires_at", string>;

/** Seconds for which a verdict may be cached: all its life, or the rest of it after a wait. */
export function computeMaxAgeSec(
  exchange: Exchange,
  { evaluated_at, expires_at }: VerdictLifetime,
): number {
  // For one call alone: an audit's.
  if (expires_at === evaluated_at) return 0;
  if (!exchange.isDelayed) return AGE_SEC_MAX;
  return clampMaxAgeSec(parseExpiryMs(expires_at) - exchange.services.clock());
}

/**
 * Common part of verdict replies: header lines in one piece, or as pairs for adapters that need
 * them.
 */
abstract class BaseVerdictReply {
  readonly status: 200 | 403;
  readonly #format: WireFormat;
  readonly #ageSec: number;
  readonly #echoedId: string;

  constructor(status: 200 | 403, exchange: Exchange, ageSec: number) {
    this.status = status;
    this.#format = exchange.replyFormat;
    this.#ageSec = ageSec;
    this.#echoedId = exchange.echoedId;
  }

  get headLines(): Uint8Array {
    return encodeVerdictHead(
      selectHeadLines(this.status, this.#format)[this.#ageSec]!,
      this.#echoedId,
    );
  }

  get headers(): readonly string[] {
    const id = this.#echoedId;
    const age = formatCacheControl(this.#ageSec);
    return ["Content-Type", MEDIA_TYPES[this.#format], "Cache-Control", age, "X-Request-Id", id];
  }
}

export class VerdictReply extends BaseVerdictReply implements Reply {
  readonly body: string | Uint8Array;

  constructor(status: 200 | 403, exchange: Exchange, ageSec: number, body: string | Uint8Array) {
    super(status, exchange, ageSec);
    this.body = body;
  }
}

/** Written when it is sent: into the thread's buffer, or copied for an adapter that keeps it. */
export class VerifyReply extends BaseVerdictReply implements Reply {
  readonly #response: VerifyResponse;

  constructor(exchange: Exchange, ageSec: number, response: VerifyResponse) {
    super(200, exchange, ageSec);
    this.#response = response;
  }

  get body(): Uint8Array {
    return new Uint8Array(this.lentBody());
  }

  lentBody(): Uint8Array {
    return encodeVerifyJson(this.#response);
  }
}

const AGE_SEC_MAX = VERDICT_TTL_MS / 1000;
const formatCacheControl = (ageSec: number): string => `private, max-age=${ageSec}`;

/** Status and header lines of a verdict but for its request id, by format and remaining seconds. */
const HEAD_LINES = { json: formatHeadLines(200, "json"), msgpack: formatHeadLines(200, "msgpack") };
/** The same for a refused handshake, the one verdict with another status. */
const REFUSED_HEAD_LINES = {
  json: formatHeadLines(403, "json"),
  msgpack: formatHeadLines(403, "msgpack"),
};

function selectHeadLines(status: number, format: WireFormat): readonly string[] {
  return (status === 200 ? HEAD_LINES : REFUSED_HEAD_LINES)[format];
}

function formatHeadLines(status: 200 | 403, format: WireFormat): readonly string[] {
  const first = `${formatStatusLine(status)}\r\nContent-Type: ${MEDIA_TYPES[format]}`;
  return Array.from(
    { length: AGE_SEC_MAX + 1 },
    (_, ageSec) => `${first}\r\nCache-Control: ${formatCacheControl(ageSec)}\r\nX-Request-Id: `,
  );
}

let lastExpiry = { text: "", timeMs: 0 };

/** Epoch ms of an expiry. All verdicts of one millisecond share its text: the last one is kept. */
function parseExpiryMs(text: string): number {
  if (text !== lastExpiry.text) lastExpiry = { text, timeMs: Date.parse(text) };
  return lastExpiry.timeMs;
}

function clampMaxAgeSec(remainingMs: number): number {
  return Math.min(AGE_SEC_MAX, Math.max(0, Math.floor(remainingMs / 1000)));
}

// Header lines of a verdict, then the request id, as bytes: one buffer per thread, overwritten by the next reply.
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
