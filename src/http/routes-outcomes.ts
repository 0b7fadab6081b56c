// Routes that take evidence: the write rail (SPEC §4.4) and the operators' bulk import. Reporting
// is free (SPEC §1). Answers wait for durability, so these are the asynchronous routes.
import { ServiceFault } from "../contract/faults.ts";
import { isPlainText, isToken } from "../contract/identifiers.ts";
import {
  BATCH_BODY_BYTES_MAX,
  BATCH_ITEMS_MAX,
  IMPORT_SOURCE_LENGTH_MAX,
  OUTCOME_BATCH_BYTES_MAX,
  OUTCOME_BODY_BYTES_MAX,
  OUTCOME_ID_LENGTH_MAX,
} from "../contract/limits.ts";
import type { ImportReport, OutcomeReceipt, OutcomeRequest } from "../contract/messages.ts";
import { parseJson } from "../contract/parse-json.ts";
import { parseOutcomeRequest } from "../contract/parse-requests.ts";
import type { SignedBody } from "../bureau/signed-body.ts";
import type { Exchange } from "./exchange.ts";
import { bodyFormat, isNdjson, requireNdjson } from "./negotiation.ts";
import { problemOf } from "./reply.ts";
import { parseTraceparent } from "./request-id.ts";
import type { Route } from "./route.ts";
import { reportersOf } from "./routes-reporters.ts";
import type { Reply } from "./server-port.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
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
    responses: {
      201: { description: "Recorded", schema: "OutcomeReceipt" },
      200: { description: "A repeat: the first receipt", schema: "OutcomeReceipt" },
    },
    isSynchronous: false,
    handle: reportOutcome,
  },
  {
    name: "report_outcomes",
    method: "POST",
    path: "/v1/outcomes/batch",
    summary: "Reports up to 1,000 outcomes, as an array or as lines; one signature over all of it",
    access: "outcomes:write",
    rateClass: "outcomes",
    body: { kind: "batch", bytesMax: OUTCOME_BATCH_BYTES_MAX, schema: "OutcomeBatchRequest" },
    responses: { 200: { description: "One item per outcome", schema: "OutcomeBatchResponse" } },
    isSynchronous: false,
    deadlineMs: 10_000,
    handle: reportOutcomes,
  },
  {
    name: "import_outcomes",
    method: "POST",
    path: "/v1/outcomes/import",
    summary: "Bulk load by the operator: one outcome per line, of any age, never all or nothing",
    access: "admin",
    body: { kind: "ndjson", bytesMax: BATCH_BODY_BYTES_MAX, schema: "OutcomeRequest" },
    query: { source: "Where the rows come from; kept with every row" },
    responses: { 200: { description: "What became of the lines", schema: "ImportReport" } },
    isSynchronous: false,
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
  const signed = signedBody(exchange);
  const request = parseOutcomeRequest(exchange.readDocument());
  const receipt = await exchange.services.bureau.recordOutcome(request, {
    ...exchange.call(),
    body: exchange.body,
    idempotencyKey,
    traceparent: parseTraceparent(traceparent),
    signed,
  });
  exchange.services.usage.countOutcomes(exchange.principal, 1);
  return exchange.document(receipt.duplicate ? 200 : 201, receipt);
}

/** The signature of the body, its cheap checks passed; undefined for an unsigned one. */
function signedBody(exchange: Exchange): SignedBody | undefined {
  const { signature, contentType } = exchange.head;
  const { reporters } = exchange.services;
  if (signature !== undefined) {
    // The media type is not signed: bytes that are JSON must not be read as anything else.
    if (!isNdjson(contentType) && bodyFormat(contentType) !== "json") {
      throw new ServiceFault("unsupported_media_type", "a signed body must be JSON");
    }
    return reportersOf(exchange).signedBody(signature, exchange.body);
  }
  if (reporters?.isSignatureRequired === true) {
    throw new ServiceFault("signature_required", "send `x-jws-signature`");
  }
  return undefined;
}

async function reportOutcomes(exchange: Exchange): Promise<Reply> {
  const signed = signedBody(exchange);
  const rows = outcomeRows(exchange);
  const items = await exchange.services.bureau.recordOutcomeBatch(rows, {
    ...exchange.call(),
    body: exchange.body,
    idempotencyKey: undefined,
    traceparent: parseTraceparent(exchange.head.traceparent),
    signed,
  });
  const accepted = items.filter((item) => !(item instanceof ServiceFault) && !item.duplicate);
  exchange.services.usage.countOutcomes(exchange.principal, accepted.length);
  return exchange.document(200, { items: items.map((item) => itemOf(exchange, item)) });
}

function itemOf(exchange: Exchange, item: OutcomeReceipt | ServiceFault) {
  if (!(item instanceof ServiceFault)) {
    return { status: item.duplicate ? 200 : 201, result: item };
  }
  const { code, detail, errors } = item;
  const problem = problemOf(code, detail, exchange.head.path, exchange.requestId, errors);
  return { status: problem.status, problem };
}

/** The rows of a JSON array or of lines; a row that is no outcome stands as its fault. */
function outcomeRows(exchange: Exchange): (OutcomeRequest | ServiceFault)[] {
  const rows: (OutcomeRequest | ServiceFault)[] = [];
  if (isNdjson(exchange.head.contentType)) {
    readLines(exchange.body, (_line, bytes) => {
      rows.push(orFault(() => parseOutcomeRequest(parseJson(bytes))));
    });
  } else {
    const values = exchange.readDocument();
    if (!Array.isArray(values)) {
      throw new ServiceFault("invalid_request", "the body must be an array or lines of outcomes");
    }
    for (const value of values) rows.push(orFault(() => parseOutcomeRequest(value)));
  }
  if (rows.length === 0 || rows.length > BATCH_ITEMS_MAX) {
    throw new ServiceFault("invalid_request", `a batch holds 1 to ${BATCH_ITEMS_MAX} outcomes`);
  }
  return rows;
}

function orFault(parse: () => OutcomeRequest): OutcomeRequest | ServiceFault {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
}

async function importOutcomes(exchange: Exchange): Promise<Reply> {
  requireNdjson(exchange.head.contentType);
  const source = new URLSearchParams(exchange.head.query).get("source") ?? SOURCE_DEFAULT;
  if (!isPlainText(source, IMPORT_SOURCE_LENGTH_MAX)) {
    const detail = `\`source\` must be 1 to ${IMPORT_SOURCE_LENGTH_MAX} bytes of plain text`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  const report: ImportReport = { accepted: 0, duplicates: 0, rejected: [] };
  const requests: OutcomeRequest[] = [];
  const lines: number[] = [];
  readLines(exchange.body, (line, bytes) => {
    try {
      requests.push(parseOutcomeRequest(parseJson(bytes)));
      lines.push(line);
    } catch (thrown) {
      reject(report, line, thrown);
    }
  });
  const results =
    requests.length === 0
      ? []
      : await exchange.services.bureau.importOutcomes(requests, source, exchange.call());
  for (const [index, result] of results.entries()) {
    if (result instanceof ServiceFault) reject(report, lines[index] as number, result);
    else if (result.duplicate) report.duplicates += 1;
    else report.accepted += 1;
  }
  report.rejected.sort((a, b) => a.line - b.line);
  exchange.services.usage.countOutcomes(exchange.principal, report.accepted);
  return exchange.document(200, report);
}

function reject(report: ImportReport, line: number, thrown: unknown): void {
  if (!(thrown instanceof ServiceFault)) throw thrown;
  const { code, detail, errors } = thrown;
  report.rejected.push({ line, code, detail, errors: [...errors] });
}

/** Calls `take` for every line that is not blank; lines count from 1. */
function readLines(body: Buffer, take: (line: number, bytes: Buffer) => void): void {
  let start = 0;
  for (let line = 1; start < body.length; line += 1) {
    const found = body.indexOf(NEWLINE, start);
    const next = found < 0 ? body.length : found;
    const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    if (end > start) take(line, body.subarray(start, end));
    start = next + 1;
  }
}
