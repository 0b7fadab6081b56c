// Routes that take evidence: the write rail (SPEC §4.4) and the operators' bulk import. Reporting
// is free (SPEC §1). Answers wait for durability, so these are the asynchronous routes.
import { ServiceFault } from "../contract/faults.ts";
import { isPlainText, isToken } from "../contract/identifiers.ts";
import {
  BATCH_BODY_BYTES_MAX,
  IMPORT_SOURCE_LENGTH_MAX,
  OUTCOME_BODY_BYTES_MAX,
  OUTCOME_ID_LENGTH_MAX,
} from "../contract/limits.ts";
import type { ImportReport, OutcomeRequest } from "../contract/messages.ts";
import { parseJson } from "../contract/parse-json.ts";
import { parseOutcomeRequest } from "../contract/parse-requests.ts";
import type { Exchange } from "./exchange.ts";
import { requireNdjson } from "./negotiation.ts";
import { parseTraceparent } from "./request-id.ts";
import type { Route } from "./route.ts";
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
  const request = parseOutcomeRequest(exchange.readDocument());
  const receipt = await exchange.services.bureau.recordOutcome(request, {
    ...exchange.call(),
    body: exchange.body,
    idempotencyKey,
    traceparent: parseTraceparent(traceparent),
  });
  exchange.services.usage.countOutcomes(exchange.principal, 1);
  return exchange.document(receipt.duplicate ? 200 : 201, receipt);
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
