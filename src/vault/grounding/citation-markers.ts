// Citation markers in a text: which sentence cites which of the named sources. `[2]`, `[1, 3]` and
// `[1-3]` count the sources of the request; `[id]` and `(Smith, 2020)` name them. A bracket that
// names no source of the request is no marker: its words and numbers stay part of the text.

export interface CitationMarker {
  /** Units of the text, the end behind the last. */
  readonly start: number;
  readonly end: number;
  /** Places in the list of cited sources. */
  readonly sources: readonly number[];
}

/** Limit of markers of one kind: the rest stays part of the text. */
const MARKERS_MAX = 512;
const NUMBERS = /\[\^?\d{1,3}(?:\s{0,2}[,;–-]\s{0,2}\^?\d{1,3}){0,15}\]/g;
const AUTHORS = /\(([^()[\]]{6,160})\)/g;
const NAME = String.raw`\p{Lu}[\p{L}'’-]{1,40}`;
const YEAR = String.raw`((?:1[5-9]|20)\d\d)[a-z]?`;
const CO_AUTHORS = String.raw`(?:\s(?:et\sal\.?|(?:and|&)\s${NAME}))?`;
const PAGES = String.raw`(?:,\s*pp?\.\s*[\d–-]{1,9})?`;
const NARRATIVE = new RegExp(String.raw`(?<!\p{L})(${NAME})${CO_AUTHORS}\s\(${YEAR}\)`, "gu");
const AUTHOR_YEAR = new RegExp(
  String.raw`^\s*(?:see\s|cf\.\s|e\.g\.,?\s)?(${NAME})\D{0,80}?${YEAR}${PAGES}\s*$`,
  "u",
);

/** Markers of a text in the order of the text; `ids` are the cited sources. */
export function findCitationMarkers(text: string, ids: readonly string[]): CitationMarker[] {
  const found = [
    ...(text.includes("[")
      ? [...findNumberMarkers(text, ids.length), ...findIdMarkers(text, ids)]
      : []),
    ...(text.includes("(")
      ? [...findAuthorMarkers(text, ids), ...findNarrativeMarkers(text, ids)]
      : []),
  ];
  return found.toSorted((a, b) => a.start - b.start);
}

/** The first matches of a pattern. */
function* iterateMatches(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  let count = 0;
  for (const match of text.matchAll(pattern)) {
    if (++count > MARKERS_MAX) return;
    yield match;
  }
}

/** The text with blanks in place of its markers: a marker is neither a number nor a name. */
export function blankMarkers(text: string, markers: readonly CitationMarker[]): string {
  let blanked = "";
  let from = 0;
  for (const { start, end } of markers) {
    if (start < from) continue;
    blanked += text.slice(from, start) + " ".repeat(end - start);
    from = end;
  }
  return blanked + text.slice(from);
}

function* findNumberMarkers(text: string, count: number): Generator<CitationMarker> {
  for (const match of iterateMatches(text, NUMBERS)) {
    const sources = parseSourceList(match[0].slice(1, -1).replaceAll("^", ""), count);
    if (sources === undefined) continue;
    yield { start: match.index, end: match.index + match[0].length, sources };
  }
}

/** `1, 3-4` as places from 0; undefined when one of them is not a source. */
function parseSourceList(list: string, count: number): number[] | undefined {
  const sources: number[] = [];
  for (const part of list.split(/[,;]/)) {
    const [first = 0, last = first] = part.split(/[–-]/).map(Number);
    if (!(first >= 1 && last >= first && last <= count)) return undefined;
    for (let number = first; number <= last; number++) sources.push(number - 1);
  }
  return sources;
}

function* findIdMarkers(text: string, ids: readonly string[]): Generator<CitationMarker> {
  let count = 0;
  for (const [source, id] of ids.entries()) {
    const marker = `[${id}]`;
    // A short number is a place in the list.
    if (/^\d{1,3}$/.test(id)) continue;
    for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
      if (++count > MARKERS_MAX) return;
      yield { start: at, end: at + marker.length, sources: [source] };
    }
  }
}

/** `(Smith, 2020; Jones et al. 2021)`: every part must name a source. */
function* findAuthorMarkers(text: string, ids: readonly string[]): Generator<CitationMarker> {
  for (const match of iterateMatches(text, AUTHORS)) {
    const parts = match[1]!.split(";").map((part) => AUTHOR_YEAR.exec(part));
    const sources = parts.map((part) => part && findSourceByAuthorYear(part[1]!, part[2]!, ids));
    if (!sources.every((source) => typeof source === "number" && source >= 0)) continue;
    const start = match.index;
    yield { start, end: start + match[0].length, sources: sources as number[] };
  }
}

/** `Smith (2020) found`: the name belongs to the sentence, the year to the marker. */
function* findNarrativeMarkers(text: string, ids: readonly string[]): Generator<CitationMarker> {
  for (const match of iterateMatches(text, NARRATIVE)) {
    const source = findSourceByAuthorYear(match[1]!, match[2]!, ids);
    if (source < 0) continue;
    const end = match.index + match[0].length;
    yield { start: text.lastIndexOf("(", end), end, sources: [source] };
  }
}

/** The only source whose id holds both name and year; -1 for none or several. */
function findSourceByAuthorYear(name: string, year: string, ids: readonly string[]): number {
  const wanted = name.toLowerCase();
  const holds = (id: string) => id.includes(year) && id.toLowerCase().includes(wanted);
  const first = ids.findIndex(holds);
  return first >= 0 && ids.findLastIndex(holds) === first ? first : -1;
}

/** A sentence of a text by its place. */
export interface SentenceSpan {
  readonly start: number;
  readonly end: number;
}

/** Only a full stop and other markers may come between a sentence's last word and its marker. */
const GAP_MAX = 200;

/**
 * The sentence of each marker: the one around it, the one just before it, or, at the very
 * beginning, the one after it. Sentences in order; `blanked` is the text without its markers. A
 * marker behind words that belong to no sentence has none.
 */
export function mapSentencesToSources(
  blanked: string,
  sentences: readonly SentenceSpan[],
  markers: readonly CitationMarker[],
): Map<number, Set<number>> {
  const citing = new Map<number, Set<number>>();
  let at = 0;
  for (const { start, sources } of markers) {
    while (at + 1 < sentences.length && sentences[at + 1]!.start < start) at += 1;
    const sentence = sentences[at];
    if (sentence === undefined) break;
    const from = start >= sentence.end ? sentence.end : start;
    const to = start >= sentence.end ? start : Math.max(start, sentence.start);
    if (to - from > GAP_MAX || /[\p{L}\p{N}]/u.test(blanked.slice(from, to))) continue;
    const known = citing.get(at) ?? new Set<number>();
    for (const source of sources) known.add(source);
    citing.set(at, known);
  }
  return citing;
}
