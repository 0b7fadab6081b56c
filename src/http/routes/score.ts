// Routes that read scores: verify (and its batch), check, handshake, explain. Answered
// synchronously, except large batches and verdicts that another thread completes. Reads are the paid
// operation, so each counts itself.
import { parseScoredId } from "../../contract/identifiers.ts";
import { BATCH_BODY_BYTES_MAX, BODY_BYTES_MAX, VERDICT_TTL_MS } from "../../contract/limits.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  VerifyRequest,
  VerifyResponse,
} from "../../contract/schemas/scores.ts";
import {
  parseCheckRequest,
  parseHandshakeRequest,
  parseVerifyRequest,
} from "../../contract/parse/requests.ts";
import type { Exchange } from "../exchange.ts";
import { encodeMsgpack } from "../codec/msgpack.ts";
import { bodyFormat, type Format, MEDIA_TYPES } from "../codec/negotiation.ts";
import { bodyReply } from "../codec/reply.ts";
import type { Route } from "../route.ts";
import { statusLine } from "../server/status-lines.ts";
import type { Reply } from "../server/port.ts";
import { scoreVerifyBatch } from "../codec/verify-batch.ts";
import type { VerifyBatchResult, VerifyBatchTask } from "../codec/verify-batch.ts";
import { writeCheck, writeHandshake } from "../codec/verdict-writer.ts";
import { scanVerify } from "../codec/verify-scan.ts";
import { headBytes } from "../codec/verdict-head.ts";
import { verifyBytes } from "../codec/verify-writer.ts";
import { countVerify } from "../verdict-effect.ts";

const READ = { access: "score:read", rateClass: "score", isSynchronous: true } as const;

export const SCORE_ROUTES: readonly Route[] = [
  {
    ...READ,
    name: "verify",
    method: "POST",
    path: "/v1/trust/verify",
    summary: "Verdict on one agent's action",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "VerifyRequest" },
    responses: { 200: { description: "The verdict, whatever it is", schema: "VerifyResponse" } },
    handle: verify,
  },
  {
    ...READ,
    name: "verify_batch",
    method: "POST",
    path: "/v1/trust/verify/batch",
    summary: "Verdicts on up to 1,000 actions, order kept, never all or nothing",
    body: { kind: "document", bytesMax: BATCH_BODY_BYTES_MAX, schema: "VerifyBatchRequest" },
    responses: {
      200: { description: "One verdict or problem per item", schema: "VerifyBatchResponse" },
    },
    handle: verifyBatch,
  },
  {
    ...READ,
    name: "check",
    method: "POST",
    path: "/v1/check",
    summary: "Score of one agent for given stakes",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "CheckRequest" },
    responses: { 200: { description: "The leg and whether to proceed", schema: "CheckResponse" } },
    handle: check,
  },
  {
    ...READ,
    name: "handshake",
    method: "POST",
    path: "/v1/handshake",
    summary: "Both directions between two agents, the most restrictive leg wins",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "HandshakeRequest" },
    responses: {
      200: { description: "The combined decision", schema: "HandshakeResponse" },
      403: { description: "Refused, with the scored reasons", schema: "HandshakeResponse" },
    },
    handle: handshake,
  },
  {
    ...READ,
    name: "explain",
    method: "GET",
    path: "/v1/agents/{id}",
    summary: "Why an agent scores as it does; the identifier raw or percent-encoded",
    responses: { 200: { description: "The explanation", schema: "AgentExplanation" } },
    handle: explain,
  },
];

function verify(exchange: Exchange): Reply | Promise<Reply> {
  const request = exchange.plainJson(scanVerify) ?? parseVerifyRequest(exchange.readDocument());
  const response = exchange.services.bureau.verify(request, exchange.call());
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => verifyReply(exchange, request, settled));
  }
  return verifyReply(exchange, request, response);
}

function verifyReply(exchange: Exchange, request: VerifyRequest, response: VerifyResponse): Reply {
  countVerify(exchange, request, response);
  const age = ageOf(exchange, response);
  if (exchange.replyFormat === "json") return new VerifyReply(exchange, age, response);
  return new VerdictReply(200, exchange, age, encodeMsgpack(response));
}

/**
 * Small batches are scored here and now; a large one goes to the pool whole, as bytes, because its
 * parsing and printing would hold up every verdict behind it.
 */
function verifyBatch(exchange: Exchange): Reply | Promise<Reply> {
  const { scorer, bureau, requestIds } = exchange.services;
  const isPooled = scorer !== undefined && exchange.body.length >= scorer.bytesMin;
  const task: VerifyBatchTask = {
    // A pooled body outlives this callback, and the server takes its buffer back.
    body: isPooled ? new Uint8Array(exchange.body) : exchange.body,
    bodyFormat: bodyFormat(exchange.head.contentType),
    replyFormat: exchange.replyFormat,
    principal: exchange.principal,
    traceId: exchange.traceId,
    path: exchange.head.path,
  };
  const scored = isPooled
    ? scorer.score(task)
    : scoreVerifyBatch(task, bureau, () => requestIds.next());
  return scored instanceof Promise
    ? scored.then((result) => batchReply(exchange, result))
    : batchReply(exchange, scored);
}

/** Meters count afterwards: the number of items in a body is known once it has been parsed. */
function batchReply(exchange: Exchange, { body, itemCount, verdicts }: VerifyBatchResult): Reply {
  const { limiter, tallies, usage } = exchange.services;
  limiter.charge(exchange.principal, "score", itemCount - 1);
  for (const [cell, count] of verdicts) {
    tallies.addVerdicts(cell, count);
    usage.countRead(exchange.principal, "verify", count);
  }
  return bodyReply(200, MEDIA_TYPES[exchange.replyFormat], body, exchange.echoedId);
}

function check(exchange: Exchange): Reply | Promise<Reply> {
  const request = parseCheckRequest(exchange.readDocument());
  const response = exchange.services.bureau.check(request, exchange.call());
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => checkReply(exchange, settled));
  }
  return checkReply(exchange, response);
}

function checkReply(exchange: Exchange, response: CheckResponse): Reply {
  exchange.services.tallies.checks[response.decision] += 1;
  exchange.services.usage.countRead(exchange.principal, "check");
  return verdictReply(exchange, 200, response, writeCheck);
}

function handshake(exchange: Exchange): Reply | Promise<Reply> {
  const request = parseHandshakeRequest(exchange.readDocument());
  const response = exchange.services.bureau.handshake(request, exchange.call());
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => handshakeReply(exchange, settled));
  }
  return handshakeReply(exchange, response);
}

/**
 * SPEC §3, §7: `refuse` is 403 carrying the scored reasons; a status, not an error. In shadow mode
 * nothing may be held back by it: 200.
 */
function handshakeReply(exchange: Exchange, response: HandshakeResponse): Reply {
  exchange.services.tallies.handshakes[response.decision] += 1;
  exchange.services.usage.countRead(exchange.principal, "handshake");
  const status = response.decision === "refuse" && response.enforced ? 403 : 200;
  return verdictReply(exchange, status, response, writeHandshake);
}

function explain(exchange: Exchange): Reply {
  const agentId = parseScoredId(exchange.decodedParameter());
  const explanation = exchange.services.bureau.explain(agentId, exchange.call());
  exchange.services.usage.countRead(exchange.principal, "explain");
  return exchange.document(200, explanation);
}

/** A verdict may be cached until it expires (SPEC §8.3), by its caller alone. */
function verdictReply<Response extends Lifetime>(
  exchange: Exchange,
  status: 200 | 403,
  response: Response,
  write: (response: Response) => string,
): Reply {
  const body = exchange.replyFormat === "json" ? write(response) : encodeMsgpack(response);
  return new VerdictReply(status, exchange, ageOf(exchange, response), body);
}

type Lifetime = Record<"evaluated_at" | "expires_at", string>;

/** Seconds for which a verdict may be cached: all its life, or the rest of it after a wait. */
function ageOf(exchange: Exchange, { evaluated_at, expires_at }: Lifetime): number {
  // For one call alone: an audit's.
  if (expires_at === evaluated_at) return 0;
  if (!exchange.isDelayed) return AGE_SEC_MAX;
  return maxAgeSec(expiryMs(expires_at) - exchange.services.clock());
}

/**
 * Common part of verdict replies: header lines in one piece, or as pairs for adapters that need
 * them.
 */
abstract class VerdictHead {
  readonly status: 200 | 403;
  readonly #format: Format;
  readonly #ageSec: number;
  readonly #echoedId: string;

  constructor(status: 200 | 403, exchange: Exchange, ageSec: number) {
    this.status = status;
    this.#format = exchange.replyFormat;
    this.#ageSec = ageSec;
    this.#echoedId = exchange.echoedId;
  }

  get headLines(): Uint8Array {
    return headBytes(linesOf(this.status, this.#format)[this.#ageSec]!, this.#echoedId);
  }

  get headers(): readonly string[] {
    const id = this.#echoedId;
    const age = cacheControl(this.#ageSec);
    return ["Content-Type", MEDIA_TYPES[this.#format], "Cache-Control", age, "X-Request-Id", id];
  }
}

class VerdictReply extends VerdictHead implements Reply {
  readonly body: string | Uint8Array;

  constructor(status: 200 | 403, exchange: Exchange, ageSec: number, body: string | Uint8Array) {
    super(status, exchange, ageSec);
    this.body = body;
  }
}

/** Written when it is sent: into the thread's buffer, or copied for an adapter that keeps it. */
class VerifyReply extends VerdictHead implements Reply {
  readonly #response: VerifyResponse;

  constructor(exchange: Exchange, ageSec: number, response: VerifyResponse) {
    super(200, exchange, ageSec);
    this.#response = response;
  }

  get body(): Uint8Array {
    return new Uint8Array(this.lentBody());
  }

  lentBody(): Uint8Array {
    return verifyBytes(this.#response);
  }
}

const AGE_SEC_MAX = VERDICT_TTL_MS / 1000;
const cacheControl = (ageSec: number): string => `private, max-age=${ageSec}`;

/** Status and header lines of a verdict but for its request id, by format and remaining seconds. */
const LINES = { json: makeLines(200, "json"), msgpack: makeLines(200, "msgpack") };
/** The same for a refused handshake, the one verdict with another status. */
const REFUSED_LINES = { json: makeLines(403, "json"), msgpack: makeLines(403, "msgpack") };

function linesOf(status: number, format: Format): readonly string[] {
  return (status === 200 ? LINES : REFUSED_LINES)[format];
}

function makeLines(status: 200 | 403, format: Format): readonly string[] {
  const first = `${statusLine(status)}\r\nContent-Type: ${MEDIA_TYPES[format]}`;
  return Array.from(
    { length: AGE_SEC_MAX + 1 },
    (_, ageSec) => `${first}\r\nCache-Control: ${cacheControl(ageSec)}\r\nX-Request-Id: `,
  );
}

let lastExpiry = { text: "", timeMs: 0 };

/** Epoch ms of an expiry. All verdicts of one millisecond share its text: the last one is kept. */
function expiryMs(text: string): number {
  if (text !== lastExpiry.text) lastExpiry = { text, timeMs: Date.parse(text) };
  return lastExpiry.timeMs;
}

function maxAgeSec(remainingMs: number): number {
  return Math.min(AGE_SEC_MAX, Math.max(0, Math.floor(remainingMs / 1000)));
}
