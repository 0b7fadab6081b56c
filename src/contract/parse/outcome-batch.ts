// The body of a batch of outcomes -> its rows, each an outcome, a signed item or the fault that it
// is. A signed item is `{"body": "<the exact JSON text of one outcome>", "signature": "<as in
// X-JWS-Signature>"}`: text inside a string, so that what was signed survives every relay.
import { ServiceFault } from "../faults.ts";
import { BATCH_ITEMS_MAX } from "../limits.ts";
import type { OutcomeRequest } from "../schemas/outcomes.ts";
import { isObject } from "./json-object.ts";
import { parseJson } from "./json.ts";
import { parsePlainOutcome, parsePlainOutcomes } from "./outcome-fast.ts";
import { parseOutcomeRequest, parseSignedOutcome } from "./requests.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** One outcome with its own signature, neither looked at yet. */
export interface SignedItem {
  /** 1 to 4,096 bytes. */
  readonly body: Buffer;
  readonly signature: string;
}

export type OutcomeRow = OutcomeRequest | SignedItem | ServiceFault;

/**
 * The rows of a JSON array or of lines. Throws ServiceFault when the body as a whole cannot be
 * read or does not hold 1 to 1,000 rows.
 */
export function parseOutcomeBatch(body: Buffer, isLines: boolean): OutcomeRow[] {
  return isLines ? rowsOfLines(body) : (parsePlainOutcomes(body) ?? outcomeRows(parseJson(body)));
}

/** The same for a body that is a value already. */
export function outcomeRows(value: unknown): OutcomeRow[] {
  if (!Array.isArray(value)) {
    throw new ServiceFault("invalid_request", "the body must be an array or lines of outcomes");
  }
  assertCount(value.length);
  return value.map(parseBatchRow);
}

/** The outcome in a body, which is no batch. Throws ServiceFault. */
export function parseOutcome(body: Buffer): OutcomeRequest {
  return parsePlainOutcome(body) ?? parseOutcomeRequest(parseJson(body));
}

export function isSignedItem(row: OutcomeRow): row is SignedItem {
  return !(row instanceof ServiceFault) && "signature" in row;
}

/** Calls `take` for every line that is not blank; lines count from 1. */
export function readLines(body: Buffer, take: (line: number, bytes: Buffer) => void): void {
  let start = 0;
  for (let line = 1; start < body.length; line += 1) {
    const found = body.indexOf(NEWLINE, start);
    const next = found < 0 ? body.length : found;
    const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    if (end > start) take(line, body.subarray(start, end));
    start = next + 1;
  }
}

function rowsOfLines(body: Buffer): OutcomeRow[] {
  const rows: OutcomeRow[] = [];
  readLines(body, (_line, bytes) => {
    if (rows.length > BATCH_ITEMS_MAX) return;
    rows.push(parsePlainOutcome(bytes) ?? orFault(() => parseBatchRow(parseJson(bytes))));
  });
  assertCount(rows.length);
  return rows;
}

function assertCount(count: number): void {
  if (count > 0 && count <= BATCH_ITEMS_MAX) return;
  throw new ServiceFault("invalid_request", `a batch holds 1 to ${BATCH_ITEMS_MAX} outcomes`);
}

function parseBatchRow(value: unknown): OutcomeRow {
  // Unknown members are ignored, so what makes an item signed is both of its members.
  const isSigned = isObject(value) && "signature" in value && "body" in value;
  return orFault(() => (isSigned ? signedItem(value) : parseOutcomeRequest(value)));
}

function signedItem(value: unknown): SignedItem {
  const { body, signature } = parseSignedOutcome(value);
  return { body: Buffer.from(body), signature };
}

function orFault(parse: () => OutcomeRow): OutcomeRow {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
}
