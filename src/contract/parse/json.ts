// Bytes of a body -> JSON value, strictly: UTF-8, bounded nesting, no duplicate member names,
// finite numbers, no lone surrogates. The fast path is one scan of the bytes and the native parser;
// only a body that is refused pays for json-fault.ts, which finds out where and why.
import { isUtf8 } from "node:buffer";
import { ServiceFault } from "../faults.ts";
import { findJsonFault } from "./json-fault.ts";
import { JSON_DEPTH_MAX } from "../limits.ts";

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;

/** What the scan cannot settle in the low bits, packed above the member count. */
const TOO_DEEP = -1;
const HAS_UNICODE_ESCAPE = 0x2000_0000;
const IS_NOT_ASCII = 0x4000_0000;
const MEMBER_COUNT_MASK = 0x1fff_ffff;

/**
 * The value of a JSON body. Throws ServiceFault `malformed_body` (not UTF-8, not JSON, too deep) or
 * `invalid_request` (duplicate member, number beyond the double range, lone surrogate) with the
 * pointer of the offender. Never quotes the body, only pointers into it.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw new ServiceFault("malformed_body", "the body is empty");
  const scanned = scanJsonBytes(bytes);
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (scanned === TOO_DEEP) throw createJsonFault(buffer);
  const isAscii = (scanned & IS_NOT_ASCII) === 0;
  if (!isAscii && !isUtf8(bytes)) {
    throw new ServiceFault("malformed_body", "the body is not valid UTF-8");
  }
  const text = buffer.toString(isAscii ? "latin1" : "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw createJsonFault(buffer);
  }
  // INVARIANT (members counted): in valid JSON every colon outside a string belongs to one member,
  // so fewer members in the value than colons in the text means a name was given twice.
  if (countMembers(value) !== (scanned & MEMBER_COUNT_MASK)) throw createJsonFault(buffer);
  // A lone surrogate can only come from an escape: fatal UTF-8 decoding excludes the raw form.
  if ((scanned & HAS_UNICODE_ESCAPE) !== 0 && !hasOnlyWellFormedText(value))
    throw createJsonFault(buffer);
  return value;
}

/** One pass over the bytes: members, depth, escapes and whether all of it is ASCII. */
function scanJsonBytes(bytes: Uint8Array): number {
  const length = bytes.length;
  let members = 0;
  let depth = 0;
  let seen = 0;
  let flags = 0;
  for (let index = 0; index < length; index += 1) {
    const byte = bytes[index] as number;
    if (byte === QUOTE) {
      index += 1;
      for (; index < length; index += 1) {
        const inner = bytes[index] as number;
        if (inner === QUOTE) break;
        seen |= inner;
        if (inner === BACKSLASH) {
          index += 1;
          if (bytes[index] === LETTER_U) flags |= HAS_UNICODE_ESCAPE;
        }
      }
    } else if (byte === COLON) {
      members += 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
      if (depth > JSON_DEPTH_MAX) return TOO_DEEP;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
    } else {
      seen |= byte;
    }
  }
  if (seen > 0x7f) flags |= IS_NOT_ASCII;
  return flags | members;
}

/** Members in the whole value; -1 when a number is not finite. Depth is bounded by the scan. */
function countMembers(value: unknown): number {
  if (typeof value === "number") return Number.isFinite(value) ? 0 : -1;
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const inner = countMembers(value[index]);
      if (inner < 0) return -1;
      count += inner;
    }
    return count;
  }
  const members = value as Record<string, unknown>;
  // `for in` without a hasOwn test: a parsed value inherits nothing enumerable.
  for (const name in members) {
    const inner = countMembers(members[name]);
    if (inner < 0) return -1;
    count += inner + 1;
  }
  return count;
}

function hasOnlyWellFormedText(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  for (const [name, inner] of Object.entries(value)) {
    if (!name.isWellFormed() || !hasOnlyWellFormedText(inner)) return false;
  }
  return true;
}

/** The refused body again, slowly: which rule, where. */
function createJsonFault(buffer: Buffer): ServiceFault {
  if (!isUtf8(buffer)) return new ServiceFault("malformed_body", "the body is not valid UTF-8");
  const found = findJsonFault(buffer.toString("utf8"));
  if (found === undefined) return new ServiceFault("malformed_body", "the body is not valid JSON");
  if (found.error === undefined) return new ServiceFault("malformed_body", found.detail);
  const code = found.error.code === "depth" ? "malformed_body" : "invalid_request";
  return new ServiceFault(code, found.detail, [found.error]);
}
