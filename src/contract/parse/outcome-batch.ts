// The body of a batch of outcomes -> its rows, each an outcome, a signed item or the fault that it
// is. A signed item is `{"body": "<the exact JSON text of one outcome>", "signature": "<as in
// X-JWS-Signature>"}`: text inside a string, so that what was signed survives every relay.
import { ServiceFault } from "../faults.ts";
import { BATCH_ITEMS_MAX } from "../limits.ts";
import type { OutcomeRequest } from "../schemas/outcomes.ts";
import { isObject } from "./json-object.ts";
import { parseJson } from "./json.ts";
import { tryParsePlainOutcome, tryParsePlainOutcomes } from "./outcome-fast.ts";
import { parseOutcomeRequest, parseSignedOutcome } from "./requests.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** One outcome with its own signature, neither looked at yet. */
export interface SignedOutcomeItem {
  /** 1 to 4,096 bytes. */
  readonly body: Buffer;
  readonly signature: string;
}

export type OutcomeOrFault = OutcomeRequest | SignedOutcomeItem | ServiceFault;

/**
 * The rows of a JSON array or of lines. Throws ServiceFault when the body as a whole cannot be
 * read or does not hold 1 to 1,000 rows.
 */
export function parseOutcomeBatch(body: Buffer, isLines: boolean): OutcomeOrFault[] {
  return isLines
    ? parseOutcomeLines(body)
    : (tryParsePlainOutcomes(body) ?? parseOutcomeRows(parseJson(body)));
}

/** The same for a body that is a value already. */
export function parseOutcomeRows(value: unknown): OutcomeOrFault[] {
  if (!Array.isArray(value)) {
    throw new ServiceFault("invalid_request", "the body must be an array or lines of outcomes");
  }
  assertBatchSize(value.length);
  return value.map(parseBatchRow);
}

/** The outcome in a body, which is no batch. Throws ServiceFault. */
export function parseOutcome(body: Buffer): OutcomeRequest {
  return tryParsePlainOutcome(body) ?? parseOutcomeRequest(parseJson(body));
}

export function isSignedOutcomeItem(row: OutcomeOrFault): row is SignedOutcomeItem {
  return !(row instanceof ServiceFault) && "signature" in row;
}

/** Calls `take` for every line that is not blank; lines count from 1. */
export function forEachLine(body: Buffer, take: (line: number, bytes: Buffer) => void): void {
  let start = 0;
  for (let line = 1; start < body.length; line += 1) {
    const found = body.indexOf(NEWLINE, start);
    const next = found < 0 ? body.length : found;
    const end = next > start && body[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    if (end > start) take(line, body.subarray(start, end));
    start = next + 1;
  }
}

function parseOutcomeLines(body: Buffer): OutcomeOrFault[] {
  const rows: OutcomeOrFault[] = [];
  forEachLine(body, (_line, bytes) => {
    if (rows.length > BATCH_ITEMS_MAX) return;
    rows.push(
      tryParsePlainOutcome(bytes) ?? parseOrReturnFault(() => parseBatchRow(parseJson(bytes))),
    );
  });
  assertBatchSize(rows.length);
  return rows;
}

function assertBatchSize(count: number): void {
  if (count > 0 && count <= BATCH_ITEMS_MAX) return;
  throw new ServiceFault("invalid_request", `a batch holds 1 to ${BATCH_ITEMS_MAX} outcomes`);
}

function parseBatchRow(value: unknown): OutcomeOrFault {
  // Unknown members are ignored, so what makes an item signed is both of its members.
  const isSigned = isObject(value) && "signature" in value && "body" in value;
  return parseOrReturnFault(() => (isSigned ? parseSignedItem(value) : parseOutcomeRequest(value)));
}

function parseSignedItem(value: unknown): SignedOutcomeItem {
  const { body, signature } = parseSignedOutcome(value);
  return { body: Buffer.from(body), signature };
}

function parseOrReturnFault(parse: () => OutcomeOrFault): OutcomeOrFault {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
}
