// JSON pieces written by hand: numbers, strings and their lists as JSON.stringify writes them.

/** A number as JSON.stringify writes it: null when not finite, and minus zero is zero. */
export function formatJsonNumber(value: number): string {
  return Number.isFinite(value) ? `${value}` : "null";
}

const DECIMALS = 4;
const SCALE = 10 ** DECIMALS;
/** Below it, a number of four decimals has at most 15 digits, and no shorter text is the same number. */
const EXACT_BELOW = 1e15;
const ZERO = 0x30;
const POINT = 0x2e;

/**
 * Writes a number at `at` as `num` would, and returns where it ends. Whole numbers and up to four
 * decimals, as verdicts have, are written digit by digit: making a string and laying it out costs
 * several times as much. There must be space for 32 bytes.
 */
export function writeJsonNumber(bytes: Buffer, at: number, value: number): number {
  const scaled = Math.round(value * SCALE);
  if (!(scaled >= 0 && scaled < EXACT_BELOW) || scaled / SCALE !== value) {
    return at + bytes.write(formatJsonNumber(value), at, "latin1");
  }
  let whole = Math.floor(scaled / SCALE);
  let rest = scaled - whole * SCALE;
  let end = at + 1;
  for (let left = whole; left >= 10; left = Math.floor(left / 10)) end += 1;
  for (let to = end - 1; to >= at; to -= 1) {
    const tenth = Math.floor(whole / 10);
    bytes[to] = ZERO + whole - 10 * tenth;
    whole = tenth;
  }
  if (rest === 0) return end;
  bytes[end++] = POINT;
  for (let unit = SCALE / 10; rest > 0; unit /= 10) {
    const digit = Math.floor(rest / unit);
    bytes[end++] = ZERO + digit;
    rest -= digit * unit;
  }
  return end;
}

/** A list of JSON strings. */
export function formatJsonStringArray(texts: readonly string[]): string {
  if (texts.length === 0) return "[]";
  let list = `[${formatJsonString(texts[0] as string)}`;
  for (let index = 1; index < texts.length; index += 1)
    list += `,${formatJsonString(texts[index] as string)}`;
  return `${list}]`;
}

const CACHED_LENGTH_MIN = 32;
let lastFormatted = { text: "", quoted: '""' };

/**
 * A JSON string; only text that needs escaping pays for the native serialiser. The last long one is
 * kept: the same sentence is sent many times in a row.
 */
export function formatJsonString(text: string): string {
  if (text.length < CACHED_LENGTH_MIN) return escapeJsonString(text);
  if (text !== lastFormatted.text) lastFormatted = { text, quoted: escapeJsonString(text) };
  return lastFormatted.quoted;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** JSON writes ASCII as it is, but for control characters, the quote and the backslash. */
function escapeJsonString(text: string): string {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}
