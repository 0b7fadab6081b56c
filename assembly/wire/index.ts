// Scanner of a plain verify request (SPEC §2.2): one pass over a JSON body that has only the
// members a gateway sends, ASCII, without escapes, sixteen bytes at a time. Accepts or declines,
// never reports: the general parser reads declined bodies, sound or broken. Returns numbers: the
// place of each text, and the slot of its interned copy.
import { intern } from "./intern.ts";
import {
  ACTION,
  AGENT_ID,
  CITED_SO,
  CONTENT_,
  CONTEXT,
  DURATION,
  FALS,
  HASH,
  LEVELS_NAME,
  SESSION_,
  SEVEN_BYTES,
  SHA256,
  STAKES_NAME,
  TOOL_LEVE,
  TRUE,
  URCE,
  _SEC,
} from "./names.ts";
import { endOfPlain, isAction, isHex } from "./text.ts";
import {
  ACTION_END,
  ACTION_START,
  AGENT_END,
  AGENT_START,
  BODY_BASE,
  HASH_LENGTH,
  HASH_START,
  KEPT_ACTION,
  KEPT_AGENT,
  KEPT_SOURCES,
  LEVEL,
  LEVELS,
  PADDING_BYTES,
  RESULT_BASE,
  SESSION,
  SOURCES,
  SOURCES_MAX,
  SOURCE_COUNT,
  STAKES,
} from "./layout.ts";

const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const QUOTE_COLON: u32 = 0x3a22;
const COLON: u32 = 0x3a;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;
const OPEN_ARRAY: u32 = 0x5b;
const CLOSE_ARRAY: u32 = 0x5d;

const AGENT_LENGTH_MAX: u32 = 512;
const ACTION_LENGTH_MAX: u32 = 256;
const SOURCE_LENGTH_MAX: u32 = 512;
const DIGITS_MAX: u32 = 9;

const HAS_AGENT: u32 = 1;
const HAS_ACTION: u32 = 2;
const HAS_LEVEL: u32 = 4;
const HAS_CONTEXT: u32 = 8;
const HAS_STAKES: u32 = 16;
const HAS_LEVELS: u32 = 32;
const REQUIRED: u32 = HAS_AGENT | HAS_ACTION | HAS_LEVEL;

/** Present and last position of the scan: addresses. */
let at: u32 = 0;
let stop: u32 = 0;

function setResult(word: u32, value: i32): void {
  store<i32>(RESULT_BASE + (word << 2), value);
}

function result(word: u32): i32 {
  return load<i32>(RESULT_BASE + (word << 2));
}

/** Passes white space; the byte that follows, 0 at the end. */
function next(): u32 {
  let code: u32 = load<u8>(at);
  while (code == 0x20 || code == 0x0a || code == 0x0d || code == 0x09) {
    at += 1;
    code = load<u8>(at);
  }
  return code;
}

function take(code: u32): bool {
  // Compact bodies have nothing to pass, and most of this scan is calls.
  if (<u32>load<u8>(at) != code && next() != code) return false;
  at += 1;
  return true;
}

/** A plain string of 1 to `lengthMax` characters; its bounds go to `word` and the next. */
function takeString(word: u32, lengthMax: u32): bool {
  if (!take(QUOTE)) return false;
  const start = at;
  // The zeros behind the body end it at the latest.
  const end = endOfPlain(start);
  if (load<u8>(end) != QUOTE || end == start || end - start > lengthMax) return false;
  setResult(word, start - BODY_BASE);
  setResult(word + 1, end - BODY_BASE);
  at = end + 1;
  return true;
}

function takeAction(): bool {
  if (!takeString(ACTION_START, ACTION_LENGTH_MAX)) return false;
  return isAction(BODY_BASE + result(ACTION_START), BODY_BASE + result(ACTION_END));
}

/** `"L0"` to `"L3"`. */
function takeLevel(): bool {
  if (next() != QUOTE) return false;
  const bytes = load<u32>(at);
  const level = ((bytes >> 16) & 0xff) - 0x30;
  if ((bytes & 0xff00ffff) != 0x22004c22 || level > 3) return false;
  setResult(LEVEL, level);
  at += 4;
  return true;
}

/** `true` or `false`. */
function takeFlag(): bool {
  next();
  const bytes = load<u32>(at);
  if (bytes != TRUE && (bytes != FALS || load<u8>(at, 4) != 0x65)) return false;
  setResult(LEVELS, bytes == TRUE ? 1 : 0);
  at += bytes == TRUE ? 4 : 5;
  return true;
}

/** A whole number of up to nine digits without leading zeros, or -1. */
function takeDigits(): i32 {
  next();
  const start = at;
  let value: u32 = 0;
  let digit: u32 = <u32>load<u8>(at) - 0x30;
  while (digit < 10 && at - start <= DIGITS_MAX) {
    value = value * 10 + digit;
    at += 1;
    digit = <u32>load<u8>(at) - 0x30;
  }
  const length = at - start;
  if (length == 0 || length > DIGITS_MAX) return -1;
  // A fraction or an exponent declines where a comma or a brace is expected next.
  return load<u8>(start) == 0x30 && length > 1 ? -1 : <i32>value;
}

/** `"sha256:` and 64 lower-case hex digits. */
function takeHash(): bool {
  if (next() != QUOTE || at + HASH_LENGTH + 1 >= stop || load<u64>(at) != SHA256) return false;
  const end = at + 1 + HASH_LENGTH;
  if (!isHex(at + 8, end) || load<u8>(end) != QUOTE) return false;
  setResult(HASH_START, at + 1 - BODY_BASE);
  at = end + 1;
  return true;
}

/** After a member or an element: 1 when another follows, 0 at the closing one, else -1. */
function more(close: u32): i32 {
  let code: u32 = load<u8>(at);
  if (code <= 0x20) code = next();
  at += 1;
  return code == COMMA ? 1 : code == close ? 0 : -1;
}

function takeSources(): bool {
  if (!take(OPEN_ARRAY)) return false;
  if (next() == CLOSE_ARRAY) {
    setResult(SOURCE_COUNT, 0);
    return take(CLOSE_ARRAY);
  }
  let count: u32 = 0;
  while (true) {
    if (count == SOURCES_MAX) return false;
    if (!takeString(SOURCES + 2 * count, SOURCE_LENGTH_MAX)) return false;
    count++;
    const follows = more(CLOSE_ARRAY);
    if (follows < 0) return false;
    if (follows == 0) break;
  }
  setResult(SOURCE_COUNT, count);
  return true;
}

/** Passes the rest of a name, its closing quote and the colon. */
function takeName(length: u32): bool {
  at += length;
  if (load<u16>(at) == QUOTE_COLON) {
    at += 2;
    return true;
  }
  return take(QUOTE) && take(COLON);
}

function takeContextMember(): bool {
  if (!take(QUOTE)) return false;
  const first = load<u64>(at);
  const second = load<u32>(at, 8);
  if (first == CONTENT_ && second == HASH) {
    return result(HASH_START) < 0 && load<u8>(at, 12) == QUOTE && takeName(12) && takeHash();
  }
  if (first == CITED_SO && second == URCE && load<u8>(at, 12) == 0x73) {
    if (result(SOURCE_COUNT) >= 0 || load<u8>(at, 13) != QUOTE) return false;
    return takeName(13) && takeSources();
  }
  if (first != SESSION_ || load<u64>(at, 8) != DURATION || load<u32>(at, 16) != _SEC) return false;
  if (result(SESSION) >= 0 || load<u8>(at, 20) != QUOTE || !takeName(20)) return false;
  const seconds = takeDigits();
  setResult(SESSION, seconds);
  return seconds >= 0;
}

function takeContext(): bool {
  if (!take(OPEN_OBJECT)) return false;
  if (next() == CLOSE_OBJECT) return take(CLOSE_OBJECT);
  while (true) {
    if (!takeContextMember()) return false;
    const follows = more(CLOSE_OBJECT);
    if (follows < 0) return false;
    if (follows == 0) return true;
  }
}

/** One member of the request; its bit, or 0 to decline. */
function takeMember(): u32 {
  if (!take(QUOTE)) return 0;
  const name = load<u64>(at);
  if (name == AGENT_ID) {
    if (load<u8>(at, 8) != QUOTE || !takeName(8)) return 0;
    return takeString(AGENT_START, AGENT_LENGTH_MAX) ? HAS_AGENT : 0;
  }
  if ((name & SEVEN_BYTES) == ACTION) return takeName(6) && takeAction() ? HAS_ACTION : 0;
  if (name == CONTEXT) return takeName(7) && takeContext() ? HAS_CONTEXT : 0;
  if ((name & SEVEN_BYTES) == STAKES_NAME) {
    if (!takeName(6)) return 0;
    const stakes = takeDigits();
    setResult(STAKES, stakes);
    return stakes >= 0 ? HAS_STAKES : 0;
  }
  if ((name & SEVEN_BYTES) == LEVELS_NAME) return takeName(6) && takeFlag() ? HAS_LEVELS : 0;
  if ((name & 0xff) != 0x74 || load<u64>(at, 1) != TOOL_LEVE) return 0;
  if (load<u16>(at, 9) != 0x226c) return 0;
  return takeName(10) && takeLevel() ? HAS_LEVEL : 0;
}

function keepText(to: u32, bounds: u32): void {
  setResult(to, intern(BODY_BASE + result(bounds), BODY_BASE + result(bounds + 1)));
}

/** Only for accepted bodies: the caller keeps a string for each text that is kept here. */
function keepTexts(): void {
  keepText(KEPT_AGENT, AGENT_START);
  keepText(KEPT_ACTION, ACTION_START);
  const count = result(SOURCE_COUNT);
  for (let index: i32 = 0; index < count; index++) {
    keepText(KEPT_SOURCES + index, SOURCES + 2 * index);
  }
}

/** Scans the `length` bytes at BODY_BASE. True: accepted, the result region is filled. */
export function scan(length: u32): bool {
  at = BODY_BASE;
  stop = BODY_BASE + length;
  for (let index: u32 = 0; index < <u32>PADDING_BYTES; index += 16) {
    v128.store(stop + index, i64x2.splat(0));
  }
  setResult(HASH_START, -1);
  setResult(SESSION, -1);
  setResult(STAKES, -1);
  setResult(LEVELS, -1);
  setResult(SOURCE_COUNT, -1);
  if (!take(OPEN_OBJECT)) return false;
  let seen: u32 = 0;
  while (true) {
    const member = takeMember();
    if (member == 0 || (seen & member) != 0) return false;
    seen |= member;
    const follows = more(CLOSE_OBJECT);
    if (follows < 0) return false;
    if (follows == 0) break;
  }
  next();
  // A zero byte within the body is not its end.
  if ((seen & REQUIRED) != REQUIRED || at != stop) return false;
  keepTexts();
  return true;
}
