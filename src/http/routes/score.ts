// Routes that read scores: verify (and its batch), check, handshake, explain. Answered
// synchronously, except large batches and verdicts that another thread completes. Reads are the paid
// operation, so each counts itself.
import { parseRecordedId, parseScoredId } from "../../contract/identifiers.ts";
import { BATCH_BODY_BYTES_MAX, BODY_BYTES_MAX } from "../../contract/limits.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
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
import { parseBodyFormat, MEDIA_TYPES } from "../codec/negotiation.ts";
import { buildBodyReply } from "../codec/reply.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import {
  scoreVerifyBatch,
  type VerifyBatchResult,
  type VerifyBatchTask,
} from "../codec/verify-batch.ts";
import { formatCheckJson, formatHandshakeJson } from "../codec/verdict-writer.ts";
import { scanVerifyRequest } from "../codec/verify-scan.ts";
import {
  computeMaxAgeSec,
  VerdictReply,
  buildVerdictReply,
  VerifyReply,
} from "../codec/verdict-reply.ts";
import { countVerify } from "../metered-verify.ts";

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
    handle: handleVerify,
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
    handle: handleVerifyBatch,
  },
  {
    ...READ,
    name: "check",
    method: "POST",
    path: "/v1/check",
    summary: "Score of one agent for given stakes",
    body: { kind: "document", bytesMax: BODY_BYTES_MAX, schema: "CheckRequest" },
    responses: { 200: { description: "The leg and whether to proceed", schema: "CheckResponse" } },
    handle: handleCheck,
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
    handle: handleHandshake,
  },
  {
    ...READ,
    name: "explain",
    method: "GET",
    path: "/v1/agents/{id}",
    summary: "Why an agent scores as it does; the identifier raw or percent-encoded",
    responses: { 200: { description: "The explanation", schema: "AgentExplanation" } },
    handle: handleExplain,
  },
];

function handleVerify(exchange: Exchange): Reply | Promise<Reply> {
  const plain = exchange.plainJson(scanVerifyRequest);
  if (plain !== undefined) {
    return answerVerify(exchange, plain, exchange.services.bureau.verify(plain, exchange.call()));
  }
  const document = exchange.readDocument();
  const request = parseVerifyRequest(document);
  // A policy's `actions` may read members that the message does not name.
  const call = { ...exchange.call(), facts: document as object };
  return answerVerify(exchange, request, exchange.services.bureau.verify(request, call));
}

function answerVerify(
  exchange: Exchange,
  request: VerifyRequest,
  response: VerifyResponse | Promise<VerifyResponse>,
): Reply | Promise<Reply> {
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => completeVerify(exchange, request, settled));
  }
  return completeVerify(exchange, request, response);
}

function completeVerify(
  exchange: Exchange,
  request: VerifyRequest,
  response: VerifyResponse,
): Reply {
  countVerify(exchange, request, response);
  const age = computeMaxAgeSec(exchange, response);
  if (exchange.replyFormat === "json") return new VerifyReply(exchange, age, response);
  return new VerdictReply(200, exchange, age, encodeMsgpack(response));
}

/**
 * Small batches are scored here and now; a large one goes to the pool whole, as bytes, because its
 * parsing and printing would hold up every verdict behind it.
 */
function handleVerifyBatch(exchange: Exchange): Reply | Promise<Reply> {
  const { scorer, bureau, requestIds } = exchange.services;
  const isPooled = scorer !== undefined && exchange.body.length >= scorer.bytesMin;
  const task: VerifyBatchTask = {
    // A pooled body outlives this callback, and the server takes its buffer back.
    body: isPooled ? new Uint8Array(exchange.body) : exchange.body,
    bodyFormat: parseBodyFormat(exchange.head.contentType),
    replyFormat: exchange.replyFormat,
    principal: exchange.principal,
    traceId: exchange.traceId,
    path: exchange.head.path,
  };
  const scored = isPooled
    ? scorer.score(task)
    : scoreVerifyBatch(task, bureau, () => requestIds.next());
  return scored instanceof Promise
    ? scored.then((result) => completeVerifyBatch(exchange, result))
    : completeVerifyBatch(exchange, scored);
}

/** Meters count afterwards: the number of items in a body is known once it has been parsed. */
function completeVerifyBatch(exchange: Exchange, result: VerifyBatchResult): Reply {
  const { body, itemCount, verdicts, testCount } = result;
  const { limiter, tallies, usage } = exchange.services;
  limiter.charge(exchange.principal, "score", itemCount - 1);
  let answered = 0;
  for (const [cell, count] of verdicts) {
    tallies.addVerdicts(cell, count);
    answered += count;
  }
  usage.countReads(exchange.principal, "verify", answered, testCount);
  return buildBodyReply(200, MEDIA_TYPES[exchange.replyFormat], body, exchange.echoedId);
}

function handleCheck(exchange: Exchange): Reply | Promise<Reply> {
  const request = parseCheckRequest(exchange.readDocument());
  const response = exchange.services.bureau.check(request, exchange.call());
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => completeCheck(exchange, request, settled));
  }
  return completeCheck(exchange, request, response);
}

function completeCheck(
  exchange: Exchange,
  { subject }: CheckRequest,
  response: CheckResponse,
): Reply {
  exchange.services.tallies.checks[response.decision] += 1;
  exchange.services.usage.countRead(exchange.principal, "check", subject);
  return buildVerdictReply(exchange, 200, response, formatCheckJson);
}

function handleHandshake(exchange: Exchange): Reply | Promise<Reply> {
  const request = parseHandshakeRequest(exchange.readDocument());
  const response = exchange.services.bureau.handshake(request, exchange.call());
  if (response instanceof Promise) {
    exchange.isDelayed = true;
    return response.then((settled) => completeHandshake(exchange, request, settled));
  }
  return completeHandshake(exchange, request, response);
}

/**
 * SPEC §3, §7: `refuse` is 403 carrying the scored reasons; a status, not an error. In shadow mode
 * nothing may be held back by it: 200.
 */
function completeHandshake(
  exchange: Exchange,
  { initiator, counterparty }: HandshakeRequest,
  response: HandshakeResponse,
): Reply {
  exchange.services.tallies.handshakes[response.decision] += 1;
  exchange.services.usage.countHandshake(exchange.principal, initiator, counterparty);
  const status = response.decision === "refuse" && response.enforced ? 403 : 200;
  return buildVerdictReply(exchange, status, response, formatHandshakeJson);
}

function handleExplain(exchange: Exchange): Reply {
  const agentId = parseRecordedId(exchange.decodedParameter());
  const explanation = exchange.services.bureau.explainScore(agentId, exchange.call());
  if (!explanation.known) parseScoredId(agentId);
  exchange.services.usage.countRead(exchange.principal, "explain", agentId);
  return exchange.document(200, explanation);
}
