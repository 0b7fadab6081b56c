// Classes of UTF-16 units in grounding: a separator, ignored, a digit, or a letter without case and
// accents. Look-alikes of other scripts become the Latin letter they imitate, so a disguised word
// is the word. Computed once from Unicode data; the scan only looks up.
import {
  FOLD_COUNT,
  FOLD_IGNORED,
  FOLD_PAIRS,
  FOLD_SEPARATOR,
  PAIR_HIGH,
} from "../../../assembly/grounding/layout.ts";

const CAPITAL = /^[\p{Lu}\p{Lt}]$/u;
const LETTER = /^\p{L}$/u;
const DIGIT = /^\p{Nd}$/u;
const IGNORED = /^[\p{M}\p{Cf}]$/u;
const HANGUL_FIRST = 0xac00;
const HANGUL_LAST = 0xd7a3;
const ZERO = 0x30;

/** The character at a place of the folding table. */
function decodeFoldIndex(place: number): string {
  if (place < FOLD_PAIRS) return String.fromCharCode(place);
  return String.fromCharCode(PAIR_HIGH, 0xdc00 + place - FOLD_PAIRS);
}

/** Fills the folding values and the bits of capital letters. */
export function fillFoldTables(
  folds: Uint16Array,
  capitals: Uint8Array,
  lookalikes: ReadonlyMap<string, string>,
): void {
  // Digits of a script come in runs of ten, so a digit's value is its place in its run.
  let digitsBefore = 0;
  const digitValues = new Map<string, number>();
  for (let unit = 0; unit < FOLD_PAIRS; unit++) {
    const character = String.fromCharCode(unit);
    if (DIGIT.test(character)) digitValues.set(character, digitsBefore++ % 10);
    else digitsBefore = 0;
  }
  for (let place = 0; place < FOLD_COUNT; place++) {
    const character = decodeFoldIndex(place);
    folds[place] = foldCharacter(character, place, digitValues, lookalikes);
    if (CAPITAL.test(character)) capitals[place >> 3]! |= 1 << (place & 7);
  }
}

function foldCharacter(
  character: string,
  place: number,
  digitValues: ReadonlyMap<string, number>,
  lookalikes: ReadonlyMap<string, string>,
): number {
  // Syllables would decompose into their first sound alone.
  if (place >= HANGUL_FIRST && place <= HANGUL_LAST) return place;
  const base = readFirstCodePoint(character.normalize("NFKD"));
  if (base.length > 1) return FOLD_SEPARATOR;
  if (IGNORED.test(base)) return FOLD_IGNORED;
  const digit = digitValues.get(base);
  if (digit !== undefined) return ZERO + digit;
  if (!LETTER.test(base)) return FOLD_SEPARATOR;
  const lower = readFirstCodePoint(base.toLowerCase().normalize("NFKD"));
  if (lower.length > 1) return FOLD_SEPARATOR;
  return (lookalikes.get(lower) ?? lower).charCodeAt(0);
}

function readFirstCodePoint(text: string): string {
  return String.fromCodePoint(text.codePointAt(0)!);
}
