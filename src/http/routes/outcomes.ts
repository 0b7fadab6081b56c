// Routes that take evidence: outcome reports (SPEC §4.4) and the operators' bulk import. Reporting
// is free (SPEC §1). Answers wait for durability, so these are the asynchronous routes.
import { ServiceFault } from "../../contract/faults.ts";
import { isPlainText, isToken } from "../../contract/identifiers.ts";
import {
  BATCH_BODY_BYTES_MAX,
  IMPORT_SOURCE_LENGTH_MAX,
  OUTCOME_BATCH_BYTES_MAX,
  OUTCOME_BODY_BYTES_MAX,
  OUTCOME_ID_LENGTH_MAX,
} from "../../contract/limits.ts";
import type {
  ImportedOutcome,
  OutcomeReceipt,
  OutcomeRequest,
} from "../../contract/schemas/outcomes.ts";
import {
  isSignedOutcomeItem,
  type OutcomeOrFault,
  parseOutcomeRows,
  parseOutcome,
  parseOutcomeBatch,
  forEachLine,
  type SignedOutcomeItem,
} from "../../contract/parse/outcome-batch.ts";
import { parseJson } from "../../contract/parse/json.ts";
import { tryParsePlainOutcome } from "../../contract/parse/outcome-fast.ts";
import { parseImportedOutcome, parseOutcomeRequest } from "../../contract/parse/requests.ts";
import type { ImportReport } from "../../contract/schemas/outcomes.ts";
import type { ImportResult as BatchItem } from "../../bureau/bureau.ts";
import type { SignedBody } from "../../bureau/reporters/signed-body.ts";
import type { Exchange } from "../exchange.ts";
import { parseBodyFormat, isNdjson, MEDIA_TYPES, assertNdjson } from "../codec/negotiation.ts";
import { buildBodyReply, buildProblem } from "../codec/reply.ts";
import { normalizeTraceparent } from "../codec/trace-context.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const SOURCE_DEFAULT = "upload";

export const OUTCOME_ROUTES: readonly Route[] = [
  {
    name: "report_outcome",
    method: "POST",
    path: "/v1/outcomes",
    summary: "Reports one settled outcome; answered once it is durable",
    access: "outcomes:write",
    rateClass: "outcomes",
    body: { kind: "document", bytesMax: OUTCOME_BODY_BYTES_MAX, schema: "OutcomeRequest" },
    requestHeaders: ["X-JWS-Signature", "Idempotency-Key"],
    responses: {
      201: { description: "Recorded", schema: "OutcomeReceipt" },
      200: { description: "A repeat: the first receipt", schema: "OutcomeReceipt" },
    },
    handle: reportOutcome,
  },
  {
    name: "report_outcomes",
    method: "POST",
    path: "/v1/outcomes/batch",
    summary:
      "Reports up to 1,000 outcomes, as an array or lines, signed as a whole or each by item",
    access: "outcomes:write",
    rateClass: "outcomes",
    body: { kind: "batch", bytesMax: OUTCOME_BATCH_BYTES_MAX, schema: "OutcomeBatchRequest" },
    requestHeaders: ["X-JWS-Signature"],
    responses: { 200: { description: "One item per outcome", schema: "OutcomeBatchResponse" } },
    deadlineMs: 10_000,
    handle: reportOutcomes,
  },
  {
    name: "import_outcomes",
    method: "POST",
    path: "/v1/outcomes/import",
    summary:
      "Bulk load by the operator: one outcome per line, of any age and of any tenant, never all or nothing",
    access: "admin",
    body: { kind: "ndjson", bytesMax: BATCH_BODY_BYTES_MAX, schema: "ImportedOutcome" },
    query: {
      source:
        "Where the rows come from; kept with every row. `ratings:...` says that stakes were not " +
        "known before the outcome: kaizen learns nothing about stakes from such rows.",
    },
    responses: { 200: { description: "What became of the lines", schema: "ImportReport" } },
    deadlineMs: 30_000,
    handle: importOutcomes,
  },
];

async function reportOutcome(exchange: Exchange): Promise<Reply> {
  const { idempotencyKey, traceparent } = exchange.head;
  if (idempotencyKey !== undefined && !isToken(idempotencyKey, OUTCOME_ID_LENGTH_MAX)) {
    const detail = `\`idempotency-key\` must be 1 to ${OUTCOME_ID_LENGTH_MAX} token characters`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  const signed = readSignedBody(exchange);
  const request =
    parseBodyFormat(exchange.head.contentType) === "json"
      ? parseOutcome(exchange.body)
      : parseOutcomeRequest(exchange.readDocument());
  const receipt = await exchange.services.bureau.recordOutcome(request, {
    ...exchange.call(),
    body: exchange.body,
    idempotencyKey,
    traceparent: normalizeTraceparent(traceparent),
    signed,
  });
  exchange.services.usage.countOutcomes(exchange.principal, 1);
  countRefusedAndRepeated(exchange, [receipt]);
  return exchange.document(receipt.duplicate ? 200 : 201, receipt);
}

/** The signature of the body, its cheap checks passed; undefined for an unsigned one. */
function readSignedBody(exchange: Exchange): SignedBody | undefined {
  const { signature, contentType } = exchange.head;
  const { reporters } = exchange.services;
  if (signature !== undefined) {
    // The media type is not signed: bytes that are JSON must not be read as anything else.
    if (!isNdjson(contentType) && parseBodyFormat(contentType) !== "json") {
      throw new ServiceFault("unsupported_media_type", "a signed body must be JSON");
    }
    return exchange.require("reporters").parseSignedBody(signature, exchange.body);
  }
  if (reporters?.isSignatureRequired === true) {
    throw new ServiceFault("signature_required", "send `x-jws-signature`");
  }
  return undefined;
}

async function reportOutcomes(exchange: Exchange): Promise<Reply> {
  const items = await recordBatchItems(exchange);
  const accepted = items.filter((item) => !(item instanceof ServiceFault) && !item.duplicate);
  exchange.services.limiter.charge(exchange.principal, "outcomes", items.length - 1);
  exchange.services.usage.countOutcomes(exchange.principal, accepted.length);
  countRefusedAndRepeated(exchange, items);
  if (exchange.replyFormat === "json") {
    return buildBodyReply(
      200,
      MEDIA_TYPES.json,
      formatBatchJson(exchange, items),
      exchange.echoedId,
    );
  }
  return exchange.document(200, { items: items.map((item) => describeBatchItem(exchange, item)) });
}

/**
 * Reads a batch. Bytes of JSON leave this thread unread; other bodies are read here, row by row,
 * and so are those so old that the store must be searched for an earlier record.
 */
async function recordBatchItems(exchange: Exchange): Promise<BatchItem[]> {
  const { signature, contentType, traceparent } = exchange.head;
  const { reporters, bureau } = exchange.services;
  const isLines = isNdjson(contentType);
  const isJson = isLines || parseBodyFormat(contentType) === "json";
  const isOld = signature !== undefined && reporters?.mayBeForgotten(signature) === true;
  if (isJson && !isOld && reporters?.intake !== undefined) {
    const document = { body: exchange.body, isLines, signature };
    const items = await reporters.intake.record(document, exchange.call());
    return items.some(isSignatureStale) ? retryStaleItems(exchange, isLines, items) : items;
  }
  const signed = readSignedBody(exchange);
  const rows = isJson
    ? parseOutcomeBatch(exchange.body, isLines)
    : parseOutcomeRows(exchange.readDocument());
  const call = { body: exchange.body, idempotencyKey: undefined, signed };
  return bureau.recordOutcomeBatch(rows.map(rejectSignedItem), {
    ...exchange.call(),
    ...call,
    traceparent: normalizeTraceparent(traceparent),
  });
}

function isSignatureStale(item: BatchItem): boolean {
  return item instanceof ServiceFault && item.code === "signature_stale";
}

/** Items with their own signature that were too old for the pool: searched in the store here. */
function retryStaleItems(
  exchange: Exchange,
  isLines: boolean,
  items: readonly BatchItem[],
): Promise<BatchItem[]> {
  const { reporters, bureau } = exchange.services;
  const rows = parseOutcomeBatch(exchange.body, isLines);
  const again = async (row: SignedOutcomeItem): Promise<BatchItem> => {
    const signed = exchange.require("reporters").parseSignedBody(row.signature, row.body);
    const call = { body: row.body, idempotencyKey: undefined, traceparent: undefined, signed };
    return bureau.recordOutcome(parseOutcome(row.body), { ...exchange.call(), ...call });
  };
  return Promise.all(
    items.map(async (item, index) => {
      const row = rows[index]!;
      if (!isSignatureStale(item) || !isSignedOutcomeItem(row)) return item;
      return reporters?.mayBeForgotten(row.signature) === true
        ? again(row).catch(rethrowUnlessFault)
        : item;
    }),
  );
}

function rethrowUnlessFault(thrown: unknown): ServiceFault {
  if (thrown instanceof ServiceFault) return thrown;
  throw thrown;
}

/** Signed items are text inside JSON: another format gives them no meaning. */
function rejectSignedItem(row: OutcomeOrFault): OutcomeRequest | ServiceFault {
  if (!isSignedOutcomeItem(row)) return row;
  return new ServiceFault("invalid_request", "signed items must come as JSON");
}

/** The answer of a batch, as one text: a thousand receipts are alike but for two members. */
function formatBatchJson(exchange: Exchange, items: readonly BatchItem[]): string {
  let text = '{"items":[';
  let separator = "";
  for (const item of items) {
    text += separator;
    separator = ",";
    if (item instanceof ServiceFault) text += JSON.stringify(describeBatchItem(exchange, item));
    else text += `{"status":${item.duplicate ? 200 : 201},"result":${formatReceiptJson(item)}}`;
  }
  return `${text}]}`;
}

/** Ids, times and vocabulary need no escapes. */
function formatReceiptJson(receipt: OutcomeReceipt): string {
  const { outcome_id, position, recorded_at, duplicate, signature, evidence_id } = receipt;
  const { claimed_grade, attested } = receipt;
  const claimed = claimed_grade === undefined ? "" : `,"claimed_grade":"${claimed_grade}"`;
  const attestation = attested === undefined ? "" : `,"attested":"${attested}"`;
  const evidence =
    evidence_id === undefined
      ? ""
      : `,"evidence_id":"${evidence_id}","evidence_index":${receipt.evidence_index}`;
  return (
    `{"outcome_id":"${outcome_id}","position":${position},"recorded_at":"${recorded_at}",` +
    `"duplicate":${duplicate},"signature":"${signature}"${claimed}${attestation}${evidence}}`
  );
}

function describeBatchItem(exchange: Exchange, item: BatchItem) {
  if (!(item instanceof ServiceFault)) {
    return { status: item.duplicate ? 200 : 201, result: item };
  }
  const problem = buildProblem(item, exchange.head.path, exchange.requestId);
  return { status: problem.status, problem };
}

async function importOutcomes(exchange: Exchange): Promise<Reply> {
  assertNdjson(exchange.head.contentType);
  const source = exchange.query.get("source") ?? SOURCE_DEFAULT;
  if (!isPlainText(source, IMPORT_SOURCE_LENGTH_MAX)) {
    const detail = `\`source\` must be 1 to ${IMPORT_SOURCE_LENGTH_MAX} bytes of plain text`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  const report: ImportReport = { accepted: 0, duplicates: 0, rejected: [] };
  const requests: ImportedOutcome[] = [];
  const lines: number[] = [];
  forEachLine(exchange.body, (line, bytes) => {
    try {
      requests.push(tryParsePlainOutcome(bytes) ?? parseImportedOutcome(parseJson(bytes)));
      lines.push(line);
    } catch (thrown) {
      addRejectedLine(report, line, thrown);
    }
  });
  const results =
    requests.length === 0
      ? []
      : await exchange.services.bureau.importOutcomes(requests, source, exchange.call());
  countRefusedAndRepeated(exchange, results);
  for (const [index, result] of results.entries()) {
    if (result instanceof ServiceFault) addRejectedLine(report, lines[index] as number, result);
    else if (result.duplicate) report.duplicates += 1;
    else report.accepted += 1;
  }
  report.rejected.sort((a, b) => a.line - b.line);
  exchange.services.usage.countOutcomes(exchange.principal, report.accepted);
  return exchange.document(200, report);
}

/** Those recorded are counted by the ledger, whichever way they came. */
function countRefusedAndRepeated({ services }: Exchange, items: readonly BatchItem[]): void {
  for (const item of items) {
    if (item instanceof ServiceFault) services.tallies.refuseOutcome(item.code);
    else if (item.duplicate) services.tallies.outcomesRepeated += 1;
  }
}

function addRejectedLine(report: ImportReport, line: number, thrown: unknown): void {
  if (!(thrown instanceof ServiceFault)) throw thrown;
  const { code, detail, errors } = thrown;
  report.rejected.push({ line, code, detail, errors: [...errors] });
}
