// Flattening of registered documents into text to index: JSON becomes one line per leaf, HTML loses
// its tags, the rest stays. Leaves that are false or null are left out of the text and listed
// apart, since a response that asserts one contradicts the document.
import { isObject } from "../../contract/parse/json-object.ts";

/** Text to index, and lines `!key words` (false) or `?key words` (null) for contradictions. */
export interface FlatDocument {
  text: string;
  leaves: string;
  isStructured: boolean;
}

const NEGATIVE = /^(?:no|none|false)$/i;
const CLOCK = /\b(\d{1,2}):(\d{1,2})\b(?![:\d])/g;
/** Deepest nesting and most leaves that are read; the rest of a document is not evidence. */
const DEPTH_MAX = 32;
const LEAVES_MAX = 20_000;
const JOINED_LENGTH_MAX = 12;

/** Whether texts of this media type are read as JSON. */
export function isJsonMediaType(mediaType: string): boolean {
  return /[/+]json\b/.test(mediaType);
}

/** Flattens by media type; `application/json` that does not parse counts as plain text. */
export function flattenDocument(text: string, mediaType: string): FlatDocument {
  if (isJsonMediaType(mediaType)) {
    try {
      return flattenJson(JSON.parse(text));
    } catch {
      return { text, leaves: "", isStructured: false };
    }
  }
  const isMarkup = /\b(?:html|xml)\b/.test(mediaType);
  return { text: isMarkup ? stripMarkup(text) : text, leaves: "", isStructured: false };
}

interface NegativeLeaf {
  kind: "!" | "?";
  key: string;
  parent: string;
}

interface FlattenedLeaves {
  readonly lines: string[];
  readonly negatives: NegativeLeaf[];
}

/** Flattens a parsed value. */
export function flattenJson(value: unknown): FlatDocument {
  const leaves: FlattenedLeaves = { lines: [], negatives: [] };
  const { lines, negatives } = leaves;
  flattenValue(value, [], "", leaves);
  const text = lines.join("\n");
  return { text, leaves: formatNegativeLeaves(negatives, text), isStructured: true };
}

function flattenValue(
  value: unknown,
  path: readonly string[],
  key: string,
  leaves: FlattenedLeaves,
): void {
  const { lines, negatives } = leaves;
  if (path.length > DEPTH_MAX || lines.length + negatives.length >= LEAVES_MAX) return;
  if (Array.isArray(value)) {
    for (const each of value) flattenValue(each, path, key, leaves);
  } else if (isObject(value)) {
    const names = Object.keys(value);
    for (const name of names) {
      flattenValue(value[name], [...path, name], dropSharedFirstWord(name, names), leaves);
    }
  } else {
    const parent = path.at(-2) ?? "";
    const isFalse = value === false || (typeof value === "string" && NEGATIVE.test(value));
    if (value === null || isFalse) negatives.push({ kind: isFalse ? "!" : "?", key, parent });
    else lines.push(`${path.map(formatKeyForms).join(" ")}: ${formatLeafValue(value)}.`);
  }
}

/** Numbers, times and words of a leaf; times of day in both notations. */
function formatLeafValue(value: unknown): string {
  if (value === true) return "yes";
  return String(value).replaceAll(CLOCK, (_match, hours: string, minutes: string) => {
    const hour = Number(hours) % 24;
    const half = hour < 12 ? "AM" : "PM";
    const short = hour % 12 === 0 ? 12 : hour % 12;
    const padded = minutes.padStart(2, "0");
    return `${hours}:${padded} ${short}:${padded} ${half} ${short} ${half}`;
  });
}

/** Words of a key: camelCase, snake_case and kebab-case apart. */
function splitKeyIntoWords(key: string): string {
  return key
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .trim();
}

/** `Wi Fi WiFi`: a text may write either. */
function formatKeyForms(key: string): string {
  const words = splitKeyIntoWords(key);
  const joined = words.replaceAll(" ", "");
  return words.includes(" ") && joined.length <= JOINED_LENGTH_MAX ? `${words} ${joined}` : words;
}

/** A first word that siblings share names their family, not the leaf (`RestaurantsTakeOut`). */
function dropSharedFirstWord(name: string, siblings: readonly string[]): string {
  const words = splitKeyIntoWords(name).split(" ");
  if (words.length < 2) return name;
  const isShared = siblings.some(
    (other) => other !== name && splitKeyIntoWords(other).split(" ")[0] === words[0],
  );
  return isShared ? words.slice(1).join(" ") : name;
}

function formatNegativeLeaves(negatives: readonly NegativeLeaf[], text: string): string {
  const held = new Set(
    text
      .toLowerCase()
      .match(/\p{L}+/gu)
      ?.map(stripPluralS),
  );
  const lines: string[] = [];
  for (const { kind, key, parent } of negatives) {
    const words = splitKeyIntoWords(key).toLowerCase();
    // A single word that the document also uses elsewhere (`street`) needs its parent beside it.
    const isAmbiguous = !words.includes(" ") && held.has(stripPluralS(words));
    if (words === "" || (isAmbiguous && parent === "")) continue;
    const beside = isAmbiguous ? ` ${splitKeyIntoWords(parent).split(" ").at(-1)}` : "";
    lines.push(`${kind}${words}${beside}`);
    if (words.includes(" ")) lines.push(`${kind}${words.replaceAll(" ", "")}${beside}`);
  }
  return lines.join("\n");
}

function stripPluralS(word: string): string {
  return word.replace(/s$/, "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

/** Text of a markup document: no scripts, styles or tags; blocks become lines. */
export function stripMarkup(markup: string): string {
  return markup
    .replaceAll(/<!--[^]*?(?:-->|$)/g, " ")
    .replaceAll(/<(script|style|template|noscript)\b[^]*?(?:<\/\1\s*>|$)/gi, " ")
    .replaceAll(/<\/?(?:p|div|li|ul|ol|tr|h[1-6]|br|section|article|td|th|table)\b[^<>]*>/gi, "\n")
    .replaceAll(/<[^<>]*>/g, " ")
    .replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, decodeEntity)
    .replaceAll(/[ \t]+/g, " ");
}

function decodeEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? " ";
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
}
