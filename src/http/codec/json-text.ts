// JSON pieces written by hand: numbers, strings and their lists as JSON.stringify writes them.

/** A number as JSON.stringify writes it: null when not finite, and minus zero is zero. */
export function num(value: number): string {
  return Number.isFinite(value) ? `${value}` : "null";
}

/** A list of JSON strings. */
export function quoteAll(texts: readonly string[]): string {
  if (texts.length === 0) return "[]";
  let list = `[${quote(texts[0] as string)}`;
  for (let index = 1; index < texts.length; index += 1) list += `,${quote(texts[index] as string)}`;
  return `${list}]`;
}

const KEPT_LENGTH_MIN = 32;
let lastQuoted = { text: "", quoted: '""' };

/**
 * A JSON string; only text that needs escaping pays for the native serialiser. The last long one is
 * kept: the same sentence is sent many times in a row.
 */
export function quote(text: string): string {
  if (text.length < KEPT_LENGTH_MIN) return escape(text);
  if (text !== lastQuoted.text) lastQuoted = { text, quoted: escape(text) };
  return lastQuoted.quoted;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** JSON writes ASCII as it is, but for control characters, the quote and the backslash. */
function escape(text: string): string {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}
