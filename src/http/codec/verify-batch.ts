// Verify batches as whole documents, bytes in and bytes out: the unit of work that is worth a
// thread hop. The routes call it in place for small bodies; a pool worker calls the same function
// for large ones, so that both give the same bytes.
import type { Bureau } from "../../bureau/bureau.ts";
import { type FieldError, invalidRequest, ServiceFault } from "../../contract/faults.ts";
import { isReservedAgent } from "../../contract/identifiers.ts";
import type { Principal } from "../../contract/principal.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { parseJson } from "../../contract/parse/json.ts";
import { parseVerifyBatch } from "../../contract/parse/requests.ts";
import type { VerifyBatchResponse } from "../../contract/schemas/scores.ts";
import { encodeMsgpack, parseMsgpack } from "./msgpack.ts";
import type { WireFormat } from "./negotiation.ts";
import { computeVerdictCell } from "../metrics/verdict-cells.ts";
import { buildProblem } from "./reply.ts";

/** A batch as it crosses to another thread: structured-clonable, nothing but data. */
export interface VerifyBatchTask {
  body: Uint8Array;
  bodyFormat: WireFormat;
  replyFormat: WireFormat;
  principal: Principal;
  /** Of the request: the trace of every item. */
  traceId: string;
  /** For the `instance` of problems. */
  path: string;
}

/** Result of a batch: the reply's body, and the counts for the meters. */
export interface VerifyBatchResult {
  body: string | Uint8Array;
  itemCount: number;
  /** Cells of verdicts (metrics/verdict-cells.ts) and their counts. */
  verdicts: [number, number][];
  /** Verdicts about reserved test agents, which are free. */
  testCount: number;
}

type VerifyBatchItem = VerifyBatchResponse["items"][number];

/**
 * Scores a batch; an item's fault stays with the item.
 * @throws ServiceFault for a wrong envelope.
 */
export function scoreVerifyBatch(
  task: VerifyBatchTask,
  bureau: Bureau,
  nextRequestId: () => string,
): VerifyBatchResult | Promise<VerifyBatchResult> {
  const document =
    task.bodyFormat === "json" ? parseJson(task.body) : parseMsgpack(wrapBodyAsBuffer(task));
  const requests = parseVerifyBatch(document);
  const { items: received } = document as { items: object[] };
  const results = requests.map((request, index) =>
    scoreBatchItem(task, { request, facts: received[index]! }, bureau, nextRequestId()),
  );
  if (results.some((result) => result instanceof Promise)) {
    return Promise.all(results.map((result) => Promise.resolve(result))).then((items) =>
      buildBatchResult(task, requests, items),
    );
  }
  return buildBatchResult(task, requests, results as VerifyBatchItem[]);
}

/** A Buffer that crossed to another thread arrives as a plain Uint8Array. */
function wrapBodyAsBuffer({ body }: VerifyBatchTask): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.length);
}

function buildBatchResult(
  task: VerifyBatchTask,
  requests: readonly (VerifyRequest | FieldError[])[],
  items: VerifyBatchItem[],
): VerifyBatchResult {
  const cells = new Map<number, number>();
  let testCount = 0;
  for (const [index, { result }] of items.entries()) {
    const request = requests[index]!;
    if (result === undefined || Array.isArray(request)) continue;
    const level = result.action_entry?.tool_level ?? request.tool_level;
    const cell = computeVerdictCell(level, result.policy_action);
    cells.set(cell, (cells.get(cell) ?? 0) + 1);
    if (isReservedAgent(request.agent_id)) testCount += 1;
  }
  const reply = { items };
  const body = task.replyFormat === "json" ? JSON.stringify(reply) : encodeMsgpack(reply);
  return { body, itemCount: items.length, verdicts: [...cells], testCount };
}

/** One item under a request id of its own: an outcome must name the verdict it settles. */
function scoreBatchItem(
  task: VerifyBatchTask,
  { request, facts }: { request: VerifyRequest | FieldError[]; facts: object },
  bureau: Bureau,
  requestId: string,
): VerifyBatchItem | Promise<VerifyBatchItem> {
  try {
    if (Array.isArray(request)) throw invalidRequest(request);
    const { principal, traceId } = task;
    const response = bureau.verify(request, {
      requestId,
      principal,
      traceId,
      facts,
      isBatched: true,
    });
    if (!(response instanceof Promise)) return buildResultItem(response);
    return response.then(buildResultItem, (thrown: unknown) =>
      buildProblemItem(task, requestId, thrown),
    );
  } catch (thrown) {
    return buildProblemItem(task, requestId, thrown);
  }
}

function buildResultItem(result: VerifyResponse): VerifyBatchItem {
  return { status: 200, result };
}

/** A fault belongs to its item; an internal error fails the batch, where it is logged. */
function buildProblemItem(
  task: VerifyBatchTask,
  requestId: string,
  thrown: unknown,
): VerifyBatchItem {
  if (!(thrown instanceof ServiceFault)) throw thrown;
  const problem = buildProblem(thrown, task.path, requestId);
  return { status: problem.status, problem };
}
