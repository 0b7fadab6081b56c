// Pieces of JSON by hand: numbers, strings and their lists as JSON.stringify writes them, and the
// memory of texts that are written often.

/** Texts kept in one memory; past it the memory starts anew. */
const KEPT_MAX = 512;

/** Keeps `text` for the next time; what is said of one request in a thousand is lost again. */
export function keep(texts: Map<string, string>, key: string, text: string): string {
  if (texts.size >= KEPT_MAX) texts.clear();
  const kept = flat(text);
  // A key cut out of a request would keep all of its body alive.
  texts.set(flat(key), kept);
  return kept;
}

/** The same text laid out in one piece: what is kept is joined often. */
export function flat(text: string): string {
  return Buffer.from(text).toString();
}

/** As JSON.stringify: what is no JSON number is null, and minus zero is zero. */
export function num(value: number): string {
  return Number.isFinite(value) ? `${value}` : "null";
}

/** 0, 0.001 to 1 as text: printing a fraction costs more than all the rest of a number. */
const THOUSANDTHS: readonly string[] = Array.from({ length: 1001 }, (_, n) => `${n / 1000}`);

export function thousandths(value: number): string {
  const count = Math.round(value * 1000);
  return count / 1000 === value ? (THOUSANDTHS[count] ?? num(value)) : num(value);
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
 * kept: the same sentence goes out many times in a row.
 */
export function quote(text: string): string {
  if (text.length < KEPT_LENGTH_MIN) return escape(text);
  if (text !== lastQuoted.text) lastQuoted = { text, quoted: escape(text) };
  return lastQuoted.quoted;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** JSON writes ASCII as it is, but for control characters, the quote and the backslash. */
export function escape(text: string): string {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}
