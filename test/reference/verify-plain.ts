// Slow reference of assembly/wire: the same scan of a plain verify request, byte by byte in plain
// JavaScript. It accepts and declines exactly the bodies that the module does.
import { isAction } from "../../src/contract/identifiers.ts";
import { isSoundName } from "./agent-names.ts";
import {
  ACTION_LENGTH_MAX,
  AGENT_ID_BYTES_MAX,
  CITED_SOURCES_MAX,
  SOURCE_ID_LENGTH_MAX,
} from "../../src/contract/limits.ts";
import type { VerifyContext, VerifyRequest } from "../../src/contract/schemas/scores.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../src/contract/vocabulary.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
const DIGITS_MAX = 9;

const NAME_LENGTH_MAX = 32;
const HASH_PREFIX = '"sha256:';
const HASH_LENGTH = 71;

/** Classes of ASCII characters, one bit each. */
const PLAIN = 1;
const ACTION = 2;
const HEX = 4;
/** Stands for what is past the last byte; no class has it. */
const END = 128;
const CLASSES = new Uint8Array(END + 1);
for (let code = 0x20; code < 0x7f; code += 1) {
  const character = String.fromCharCode(code);
  if (character !== "\\") CLASSES[code] = PLAIN;
  if (/[A-Za-z0-9_.-]/.test(character)) CLASSES[code]! |= ACTION;
  if (/[0-9a-f]/.test(character)) CLASSES[code]! |= HEX;
}

const HAS_AGENT = 1;
const HAS_ACTION = 2;
const HAS_LEVEL = 4;
const HAS_CONTEXT = 8;
const HAS_STAKES = 16;
const HAS_LEVELS = 32;
const REQUIRED = HAS_AGENT | HAS_ACTION | HAS_LEVEL;

/** The text being read and where; one reader per thread suffices, nothing here is re-entrant. */
let text = "";
let bytes: Uint8Array = new Uint8Array();
let at = 0;

/** The request in a plain body, or undefined: ask the general parser. */
export function parsePlainVerify(body: Buffer): VerifyRequest | undefined {
  // Read as Latin-1 it is right for ASCII; a byte beyond has no class and declines.
  bytes = body;
  text = body.toString("latin1");
  at = 0;
  const request: VerifyRequest = { agent_id: "", action: "", tool_level: "L0", context: {} };
  const isAccepted = readRequest(request);
  text = "";
  return isAccepted ? request : undefined;
}

/** Passes white space; the code of what follows. */
function next(): number {
  let code = bytes[at] ?? END;
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
    at += 1;
    code = bytes[at] ?? END;
  }
  return code;
}

/** Takes one expected character. */
function take(code: number): boolean {
  if (next() !== code) return false;
  at += 1;
  return true;
}

/** After a member or an element: true for a comma taken, false when the closing one was. */
function hasMore(close: number): boolean | undefined {
  const code = next();
  at += 1;
  if (code === COMMA) return true;
  return code === close ? false : undefined;
}

/**
 * A string all of whose characters belong to one of `classes`, at most `lengthMax` long, or
 * undefined. The bytes are looked at in place: a substring would be looked at a second time.
 */
function readString(classes: number, lengthMax: number): string | undefined {
  if (next() !== QUOTE) return undefined;
  const start = at + 1;
  let end = start;
  const source = bytes;
  const stop = source.length;
  let shared = classes;
  while (end < stop && source[end] !== QUOTE) {
    shared &= CLASSES[source[end]!]!;
    end += 1;
  }
  if (shared === 0 || end === stop) return undefined;
  if (end === start || end - start > lengthMax) return undefined;
  at = end + 1;
  return text.substring(start, end);
}

/** `sha256:` and 64 hex digits, or undefined. */
function readContentHash(): string | undefined {
  if (next() !== QUOTE || !text.startsWith(HASH_PREFIX, at)) return undefined;
  const start = at + 1;
  const end = start + HASH_LENGTH;
  const source = bytes;
  if (end >= source.length || source[end] !== QUOTE) return undefined;
  let shared = HEX;
  for (let index = at + HASH_PREFIX.length; index < end; index += 1) {
    shared &= CLASSES[source[index]!]!;
  }
  if (shared === 0) return undefined;
  at = end + 1;
  return text.substring(start, end);
}

/** A whole number of up to nine digits, or -1. */
function readDigits(): number {
  let code = next();
  const start = at;
  let value = 0;
  while (code >= ZERO && code <= NINE) {
    value = value * 10 + (code - ZERO);
    at += 1;
    code = bytes[at] ?? END;
  }
  const length = at - start;
  const isPlain =
    length > 0 && length <= DIGITS_MAX && (length === 1 || value >= 10 ** (length - 1));
  // A fraction or an exponent follows as something else than a comma or a brace, and declines
  // there.
  return isPlain ? value : -1;
}

function readFlag(): boolean | undefined {
  next();
  for (const value of [true, false]) {
    if (!text.startsWith(String(value), at)) continue;
    at += String(value).length;
    return value;
  }
  return undefined;
}

function readRequest(request: VerifyRequest): boolean {
  if (!take(OPEN_OBJECT)) return false;
  let seen = 0;
  while (true) {
    const name = readString(PLAIN, NAME_LENGTH_MAX);
    if (name === undefined || !take(COLON)) return false;
    const member = readMember(request, name);
    if (member === 0 || (seen & member) !== 0) return false;
    seen |= member;
    const more = hasMore(CLOSE_OBJECT);
    if (more === undefined) return false;
    if (!more) break;
  }
  return (seen & REQUIRED) === REQUIRED && next() === END;
}

/** Reads one member's value; its bit, or 0 to decline. */
function readMember(request: VerifyRequest, name: string): number {
  if (name === "agent_id") {
    const value = readString(PLAIN, AGENT_ID_BYTES_MAX);
    if (value === undefined || !isSoundName(value)) return 0;
    request.agent_id = value;
    return HAS_AGENT;
  }
  if (name === "action") {
    const value = readString(ACTION, ACTION_LENGTH_MAX);
    if (value === undefined || !isAction(value)) return 0;
    request.action = value;
    return HAS_ACTION;
  }
  if (name === "tool_level") {
    const value = readString(PLAIN, NAME_LENGTH_MAX) as ToolLevel;
    if (!TOOL_LEVELS.includes(value)) return 0;
    request.tool_level = value;
    return HAS_LEVEL;
  }
  if (name === "context") return readContext(request.context) ? HAS_CONTEXT : 0;
  if (name === "stakes") {
    const value = readDigits();
    if (value < 0) return 0;
    request.stakes = value;
    return HAS_STAKES;
  }
  if (name === "levels") {
    const value = readFlag();
    if (value === undefined) return 0;
    request.levels = value;
    return HAS_LEVELS;
  }
  return 0;
}

function readContext(context: VerifyContext): boolean {
  if (!take(OPEN_OBJECT)) return false;
  if (next() === CLOSE_OBJECT) return take(CLOSE_OBJECT);
  while (true) {
    const name = readString(PLAIN, NAME_LENGTH_MAX);
    if (name === undefined || !take(COLON) || !readContextMember(context, name)) return false;
    const more = hasMore(CLOSE_OBJECT);
    if (more === undefined) return false;
    if (!more) return true;
  }
}

/** One member of the context; false declines, also when it was there before. */
function readContextMember(context: VerifyContext, name: string): boolean {
  if (name === "content_hash" && context.content_hash === undefined) {
    const value = readContentHash();
    if (value === undefined) return false;
    context.content_hash = value;
    return true;
  }
  if (name === "cited_sources" && context.cited_sources === undefined) {
    const sources: string[] = [];
    context.cited_sources = sources;
    return readSources(sources);
  }
  if (name === "session_duration_sec" && context.session_duration_sec === undefined) {
    const value = readDigits();
    context.session_duration_sec = value;
    return value >= 0;
  }
  return false;
}

function readSources(sources: string[]): boolean {
  if (!take(OPEN_ARRAY)) return false;
  if (next() === CLOSE_ARRAY) return take(CLOSE_ARRAY);
  while (true) {
    const value = readString(PLAIN, SOURCE_ID_LENGTH_MAX);
    if (value === undefined) return false;
    if (sources.push(value) > CITED_SOURCES_MAX) return false;
    const more = hasMore(CLOSE_ARRAY);
    if (more === undefined) return false;
    if (!more) return true;
  }
}
