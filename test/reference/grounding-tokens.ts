// Slow, obvious tokeniser as the reference of the WASM one: strings and regular expressions, one
// character at a time. Lower-case words without accents, look-alikes as Latin, numbers as digits.
import lexicon from "../../data/grounding/lexicon.json" with { type: "json" };

export interface Token {
  /** Hash of the stem, and of its first five letters (of the integer part for numbers). */
  stem: number;
  prefix: number;
  isNumber: boolean;
  isContent: boolean;
  isName: boolean;
  isNegation: boolean;
  isRefusal: boolean;
  isContrast: boolean;
  /** A number that is whole, or whose part behind the point is zero. */
  isRound: boolean;
  isMixed: boolean;
  sentence: number;
  start: number;
  end: number;
}

const TOKENS_MAX = 65_536;
const WORD_MAX = 48;
const SENTENCE_TOKENS_MAX = 512;
const LETTER = /^\p{L}/u;
const UPPER = /^[\p{Lu}\p{Lt}]/u;
const DIGIT = /^\p{Nd}/u;
const IGNORED = /^[\p{M}\p{Cf}]/u;
const IDEOGRAPH = /^[\u3040-\u30ff\u3400-\u9fff]/;
const HANGUL = /^[\uac00-\ud7a3]/;
const STARTERS = new Set(Array.from("\n\r.!?:;\"'*•#|[]“”‘’«»。！？"));
const stopWords = new Set(lexicon.stop);
const negations = new Set(lexicon.negation);
const contrasts = new Set(lexicon.contrast);
const refusals = new Set(lexicon.refusal);
const numberWords = new Map(Object.entries(lexicon.numbers));
const lookalikes = new Map(Object.entries(lexicon.lookalikes));

export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  }
  return hash;
}

/** What a character counts as: "" a separator, "ignored", one digit, or one folded letter. */
export function foldOf(character: string): string {
  if (HANGUL.test(character)) return character;
  const base = Array.from(character.normalize("NFKD"))[0]!;
  if (base.length > 1) return "";
  if (IGNORED.test(base)) return "ignored";
  if (DIGIT.test(base)) return String(digitValue(base));
  if (!LETTER.test(base)) return "";
  const lower = Array.from(base.toLowerCase().normalize("NFKD"))[0]!;
  if (lower.length > 1) return "";
  return lookalikes.get(lower) ?? lower;
}

function digitValue(digit: string): number {
  let run = 0;
  while (DIGIT.test(String.fromCharCode(digit.charCodeAt(0) - run - 1))) run += 1;
  return run % 10;
}

/** Conflates inflections: studies, studied -> study; makes, making, make -> mak. */
export function stemOf(word: string): string {
  let stem = word;
  if (stem.length > 4) {
    if (stem.endsWith("ies") || stem.endsWith("ied")) stem = `${stem.slice(0, -3)}y`;
    else if (stem.length > 5 && stem.endsWith("ing")) stem = single(stem.slice(0, -3));
    else if (stem.endsWith("ed")) stem = single(stem.slice(0, -2));
    else if (stem.endsWith("ly")) stem = stem.slice(0, -2);
  }
  if (stem.length > 3 && stem.endsWith("s") && !stem.endsWith("ss")) stem = stem.slice(0, -1);
  if (stem.length > 3 && stem.endsWith("e")) stem = stem.slice(0, -1);
  return stem;
}

function single(stem: string): string {
  const last = stem.at(-1)!;
  return last === stem.at(-2) && !"lsz".includes(last) ? stem.slice(0, -1) : stem;
}

interface Unit {
  raw: string;
  fold: string;
  at: number;
  end: number;
}

/** Characters as the scan sees them; a surrogate pair counts if it is mathematical. */
function unitsOf(text: string): Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < text.length; at++) {
    const pair = text.slice(at, at + 2);
    if (/^\ud835[\udc00-\udfff]/.test(pair)) {
      units.push({ raw: pair, fold: foldOf(pair), at, end: at + 2 });
      at += 1;
    } else units.push({ raw: text[at]!, fold: foldOf(text[at]!), at, end: at + 1 });
  }
  return units;
}

const isDigit = (fold: string) => /^[0-9]$/.test(fold);
const isLetter = (fold: string) => fold.length === 1 && !isDigit(fold);
const isJoined = (unit: Unit) => isLetter(unit.fold) && !IDEOGRAPH.test(unit.fold);
const isForeign = (raw: string) => /^[\u0370-\u058f]/.test(raw);

const END: Unit = { raw: "", fold: "", at: 0, end: 0 };

/** Tokens of a text, at most 65,536. */
export function tokensOf(text: string): Token[] {
  return new Scan(unitsOf(text)).tokens;
}

class Scan {
  readonly tokens: Token[] = [];
  readonly #units: Unit[];
  #at = 0;
  #sentence = 0;
  #sentenceTokens = 0;
  #isInitial = true;
  #stop: "none" | "mark" | "space" | "opened" | "line" = "none";

  constructor(units: Unit[]) {
    this.#units = units;
    while (this.#at < units.length && this.tokens.length < TOKENS_MAX) this.#step();
  }

  #unit(ahead = 0): Unit {
    return this.#units[this.#at + ahead] ?? END;
  }

  #step(): void {
    const { fold } = this.#unit();
    if (fold === "ignored") this.#at += 1;
    else if (fold === "") this.#separator();
    else if (isDigit(fold)) this.#number();
    else if (IDEOGRAPH.test(fold)) this.#ideographs();
    else this.#word();
  }

  #separator(): void {
    const { raw } = this.#unit();
    if (STARTERS.has(raw)) this.#isInitial = true;
    if ("\n\r。！？".includes(raw)) this.#stop = "line";
    else if (this.#stop !== "line") {
      if (".!?".includes(raw)) this.#stop = "mark";
      else if (raw === " " || raw === "\t") {
        if (this.#stop === "mark") this.#stop = "space";
      } else if ('"“(-*'.includes(raw) && this.#stop === "space") this.#stop = "opened";
    }
    this.#at += 1;
  }

  /** Decides whether the token that begins here begins a sentence too. */
  #open(starts: boolean): void {
    const isBreak =
      this.#stop === "line" || this.#stop === "opened" || (this.#stop === "space" && starts);
    if (isBreak && this.#sentenceTokens > 0) {
      this.#sentence += 1;
      this.#sentenceTokens = 0;
    }
    this.#stop = "none";
  }

  #add(start: number, fields: Partial<Token>): void {
    if (this.#sentenceTokens === SENTENCE_TOKENS_MAX) {
      this.#sentence += 1;
      this.#sentenceTokens = 0;
    }
    this.#sentenceTokens += 1;
    const sentence = this.#sentence;
    const end = this.#units[this.#at - 1]!.end;
    const plain = { isNumber: false, isContent: false, isName: false, isNegation: false };
    const rest = {
      isRefusal: false,
      isContrast: false,
      isRound: false,
      isMixed: false,
      stem: 0,
      prefix: 0,
    };
    this.tokens.push({ ...plain, ...rest, sentence, start, end, ...fields });
    this.tokens.at(-1)!.stem ||= 1;
    this.#isInitial = false;
  }

  #number(): void {
    const start = this.#unit().at;
    this.#open(true);
    let digits = "";
    for (;;) {
      const { fold, raw } = this.#unit();
      if (isDigit(fold)) digits += fold;
      else if (".,:".includes(raw) && raw !== "" && isDigit(this.#unit(1).fold)) {
        if (raw !== ",") digits += raw;
      } else if (fold !== "ignored") break;
      this.#at += 1;
    }
    this.#add(start, { ...numberHashes(digits.slice(0, WORD_MAX)), isNumber: true });
  }

  /** Scripts without spaces: one token per character, hashed with the one before it. */
  #ideographs(): void {
    this.#open(true);
    let previous = "";
    while (IDEOGRAPH.test(this.#unit().fold) && this.tokens.length < TOKENS_MAX) {
      const { fold, at } = this.#unit();
      const stem = hashOf(previous + fold);
      previous = fold;
      this.#at += 1;
      this.#add(at, { stem, prefix: stem, isContent: true });
    }
  }

  #word(): void {
    const first = this.#unit();
    const isUpper = UPPER.test(first.raw);
    this.#open(isUpper || first.fold.charCodeAt(0) >= 0x590);
    const isInitial = this.#isInitial;
    let word = "";
    let scripts = 0;
    for (;;) {
      const unit = this.#unit();
      if (isJoined(unit)) {
        word += unit.fold;
        scripts |= isForeign(unit.raw) ? 2 : 1;
      } else if (unit.raw === "'" || unit.raw === "’") {
        if (!isJoined(this.#unit(1))) break;
        if (word.length > 1) {
          const isNot = word.endsWith("n") && this.#unit(1).fold === "t";
          if (isNot && !isJoined(this.#unit(2))) word += "t";
          while (isJoined(this.#unit()) || /^['’]$/.test(this.#unit().raw)) this.#at += 1;
          break;
        }
      } else if (unit.fold !== "ignored") break;
      this.#at += 1;
    }
    this.#addWord(first.at, word.slice(0, WORD_MAX), isUpper && !isInitial, scripts === 3);
  }

  #addWord(start: number, word: string, isCapital: boolean, isMixed: boolean): void {
    const digits = numberWords.get(word);
    if (digits !== undefined) {
      this.#add(start, { ...numberHashes(digits), isNumber: true, isMixed });
      return;
    }
    const stem = stemOf(word);
    const isContent = word.length > 1 && !stopWords.has(word);
    this.#add(start, {
      stem: hashOf(stem),
      prefix: hashOf(stem.slice(0, 5)),
      isContent,
      isName: isContent && isCapital,
      isNegation: negations.has(word),
      isRefusal: refusals.has(word),
      isContrast: contrasts.has(word),
      isMixed,
    });
  }
}

function numberHashes(digits: string): { stem: number; prefix: number; isRound: boolean } {
  const whole = digits.split(/[.:]/)[0]!.replace(/^0+(?=.)/, "");
  const isRound = /^[0-9]+([.:]0*)*$/.test(digits);
  return { stem: hashOf(digits), prefix: hashOf(whole), isRound };
}
