// The fast way into reported outcomes (SPEC §2.6): one pass over plain JSON, alone or as an array,
// that has only the members of the contract, ASCII, without escapes. Anything else, sound or
// broken, is left to json.ts and requests.ts: this file accepts or declines, it never
// reports a fault.
//
// INVARIANT (same answer): whatever is accepted here, the general path accepts with an equal value.
// test/contract/parse/outcome-fast.test.ts holds it on generated and damaged bodies.
import { isAction, isAgentId, isScoredId, isToken } from "../identifiers.ts";
import {
  ACTION_LENGTH_MAX,
  AGENT_ID_BYTES_MAX,
  BATCH_ITEMS_MAX,
  OUTCOME_ID_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
  STAKES_MAX,
} from "../limits.ts";
import type { OutcomeRequest } from "../schemas/outcomes.ts";
import { isEpochMs, parseDateTimeMs } from "../timestamps.ts";
import { type Grade, GRADES } from "../vocabulary.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const POINT = 0x2e;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
/** Stands for what is past the last byte; no token begins with it. */
const END_OF_TEXT = 0;
/** A number of so many digits is a whole number below 2^53, and dividing it by a power of ten
 * below 10^22 rounds once, as reading it as text does. */
const DIGITS_MAX = 15;
const TIME_LENGTH_MAX = 35;
const NAME_LENGTH_MAX = 15;
const GRADE_LENGTH_MAX = 16;

/** Members by one bit each, to see duplicates and what is missing. */
const MEMBER_BITS: readonly [name: string, bit: number][] = [
  ["subject", 1],
  ["reporter", 2],
  ["outcome", 4],
  ["stakes", 8],
  ["grade", 16],
  ["id", 32],
  ["settled_at", 64],
  ["agent_fault", 128],
  ["action", 256],
  ["request_id", 512],
];
/** By first byte and length, which no two names share: no string is made to look one up. */
const MEMBER_BY_SLOT: ({ bytes: Uint8Array; bit: number } | undefined)[] = [];
for (const [name, bit] of MEMBER_BITS) {
  MEMBER_BY_SLOT[computeNameSlot(name.charCodeAt(0), name.length)] = {
    bytes: Buffer.from(name, "latin1"),
    bit,
  };
}
const REQUIRED_BITS = 31;

/** The text being read and where; one reader per thread suffices, nothing here is re-entrant. */
let text = "";
let bytes: Uint8Array = new Uint8Array();
let at = 0;

/** The outcome in a plain body, or undefined: ask the general parser. */
export function tryParsePlainOutcome(body: Buffer): OutcomeRequest | undefined {
  startReading(body);
  const request = readOutcome();
  const isWhole = request !== undefined && skipWhiteSpace() === END_OF_TEXT && at >= bytes.length;
  text = "";
  return isWhole ? request : undefined;
}

/**
 * The outcomes in a plain array of 1 to 1,000, or undefined: ask the general parser. A single row
 * that is not plain declines them all.
 */
export function tryParsePlainOutcomes(body: Buffer): OutcomeRequest[] | undefined {
  startReading(body);
  const requests = readOutcomeArray();
  text = "";
  return requests;
}

function startReading(body: Buffer): void {
  // Read as Latin-1 it is right for ASCII; a byte beyond is no part of any value and declines.
  bytes = body;
  text = body.toString("latin1");
  at = 0;
}

function readOutcomeArray(): OutcomeRequest[] | undefined {
  if (skipWhiteSpace() !== OPEN_ARRAY) return undefined;
  at += 1;
  const requests: OutcomeRequest[] = [];
  while (true) {
    const request = readOutcome();
    if (request === undefined || requests.push(request) > BATCH_ITEMS_MAX) return undefined;
    const code = skipWhiteSpace();
    at += 1;
    if (code === COMMA) continue;
    if (code !== CLOSE_ARRAY) return undefined;
    return skipWhiteSpace() === END_OF_TEXT && at >= bytes.length ? requests : undefined;
  }
}

/** Passes white space; the code of what follows. */
function skipWhiteSpace(): number {
  let code = bytes[at] ?? END_OF_TEXT;
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
    at += 1;
    code = bytes[at] ?? END_OF_TEXT;
  }
  return code;
}

function readOutcome(): OutcomeRequest | undefined {
  if (skipWhiteSpace() !== OPEN_OBJECT) return undefined;
  at += 1;
  const request: OutcomeRequest = {
    subject: "",
    reporter: "",
    outcome: 0,
    stakes: 0,
    grade: "self",
  };
  let seen = 0;
  while (true) {
    const member = readMemberName();
    if (member === 0 || (seen & member) !== 0 || skipWhiteSpace() !== COLON) return undefined;
    at += 1;
    if (!readMemberValue(request, member)) return undefined;
    seen |= member;
    const code = skipWhiteSpace();
    at += 1;
    if (code === COMMA) continue;
    return code === CLOSE_OBJECT && (seen & REQUIRED_BITS) === REQUIRED_BITS ? request : undefined;
  }
}

function computeNameSlot(first: number, length: number): number {
  return (first << 4) | length;
}

/** The bit of the member whose name stands here, or 0. */
function readMemberName(): number {
  if (skipWhiteSpace() !== QUOTE) return 0;
  const start = at + 1;
  const stop = start + NAME_LENGTH_MAX;
  let end = start;
  while (end < stop && bytes[end] !== QUOTE) end += 1;
  const known = MEMBER_BY_SLOT[computeNameSlot(bytes[start] ?? END_OF_TEXT, end - start)];
  if (known === undefined || bytes[end] !== QUOTE) return 0;
  const { bytes: name, bit } = known;
  for (let index = 1; index < name.length; index += 1) {
    if (bytes[start + index] !== name[index]) return 0;
  }
  at = end + 1;
  return bit;
}

/** Reads one member's value; false declines. */
function readMemberValue(request: OutcomeRequest, member: number): boolean {
  switch (member) {
    case 1:
      return isScoredId((request.subject = readString(AGENT_ID_BYTES_MAX) ?? ""));
    case 2:
      return isAgentId((request.reporter = readString(AGENT_ID_BYTES_MAX) ?? ""));
    case 4:
      return readOutcomeBit(request);
    case 8:
      request.stakes = readNumber();
      return request.stakes >= 0 && request.stakes <= STAKES_MAX;
    case 16:
      request.grade = (readString(GRADE_LENGTH_MAX) ?? "") as Grade;
      return GRADES.includes(request.grade);
    case 32:
      request.id = readString(OUTCOME_ID_LENGTH_MAX) ?? "";
      return isToken(request.id, OUTCOME_ID_LENGTH_MAX);
    case 64:
      return readSettledAt(request);
    case 128:
      return readAgentFault(request);
    case 256:
      return isAction((request.action = readString(ACTION_LENGTH_MAX) ?? ""));
    default:
      request.request_id = readString(REQUEST_ID_LENGTH_MAX) ?? "";
      return isToken(request.request_id, REQUEST_ID_LENGTH_MAX);
  }
}

/** Printable ASCII without a backslash, at most `lengthMax` characters, or undefined. */
function readString(lengthMax: number): string | undefined {
  if (skipWhiteSpace() !== QUOTE) return undefined;
  const start = at + 1;
  const stop = Math.min(bytes.length, start + lengthMax + 1);
  for (let end = start; end < stop; end += 1) {
    const code = bytes[end]!;
    if (code === QUOTE) {
      at = end + 1;
      return text.substring(start, end);
    }
    if (code < 0x20 || code > 0x7e || code === BACKSLASH) return undefined;
  }
  return undefined;
}

function readOutcomeBit(request: OutcomeRequest): boolean {
  const code = skipWhiteSpace();
  const after = bytes[at + 1] ?? END_OF_TEXT;
  const isLonger = (after >= ZERO && after <= NINE) || after === POINT;
  if ((code !== ZERO && code !== ZERO + 1) || isLonger) return false;
  at += 1;
  request.outcome = code === ZERO ? 0 : 1;
  return true;
}

/** A number that is not negative, without an exponent, of up to 15 digits; or NaN. */
function readNumber(): number {
  let code = skipWhiteSpace();
  const start = at;
  let value = 0;
  let digits = 0;
  let fraction = -1;
  for (; (code >= ZERO && code <= NINE) || code === POINT; code = bytes[at] ?? END_OF_TEXT) {
    at += 1;
    if (code === POINT) {
      // A point needs a digit before it, and is the only one.
      if (digits === 0 || fraction >= 0) return Number.NaN;
      fraction = 0;
      continue;
    }
    value = value * 10 + (code - ZERO);
    digits += 1;
    if (fraction >= 0) fraction += 1;
  }
  const hasLeadingZero = bytes[start] === ZERO && digits > 1 && bytes[start + 1] !== POINT;
  if (digits === 0 || digits > DIGITS_MAX || hasLeadingZero || fraction === 0) return Number.NaN;
  // An exponent follows as something else than a comma or a brace, and declines there.
  return fraction > 0 ? value / 10 ** fraction : value;
}

function readSettledAt(request: OutcomeRequest): boolean {
  if (skipWhiteSpace() === QUOTE) {
    const value = readString(TIME_LENGTH_MAX);
    request.settled_at = value === undefined ? Number.NaN : (parseDateTimeMs(value) ?? Number.NaN);
  } else {
    request.settled_at = readNumber();
  }
  return isEpochMs(request.settled_at);
}

function readAgentFault(request: OutcomeRequest): boolean {
  skipWhiteSpace();
  request.agent_fault = text.startsWith("true", at);
  if (!request.agent_fault && !text.startsWith("false", at)) return false;
  at += request.agent_fault ? 4 : 5;
  return true;
}
