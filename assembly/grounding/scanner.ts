// Tokeniser: one pass over UTF-16, one token per call of `next`. Its state is in globals of the
// instance, of which every thread has its own, so none of it is shared.
import {
  foldAt,
  isApostrophe,
  isCapitalAt,
  isDigit,
  isForeign,
  isFullStop,
  isIdeograph,
  isJoined,
  isStarter,
  widthAt,
} from "./characters.ts";
import {
  FOLD_IGNORED,
  SCRATCH_WORD,
  SENTENCE_TOKENS_MAX,
  TOKENS_MAX,
  WORD_CONTRAST,
  WORD_NEGATION,
  WORD_NUMBER,
  WORD_REFUSAL,
  WORD_STOP,
  WORD_UNITS_MAX,
} from "./layout.ts";
import { findWord } from "./lexicon.ts";
import { FNV_BASIS, hashUnit, hashWord, stemWord } from "./stem.ts";

export const TOKEN_NUMBER: u32 = 1;
export const TOKEN_CONTENT: u32 = 2;
export const TOKEN_NAME: u32 = 4;
export const TOKEN_ROUND: u32 = 8;
export const TOKEN_NEGATION: u32 = 16;
export const TOKEN_REFUSAL: u32 = 32;
export const TOKEN_CONTRAST: u32 = 64;
export const TOKEN_MIXED: u32 = 128;
/** Set by the features of a sentence: whether some document holds the token's stem, once known. */
export const TOKEN_HELD: u32 = 256;
export const TOKEN_ABSENT: u32 = 512;

// Progress towards the end of a sentence: a mark, the space behind it, an opening sign, a line.
const STOP_NONE: u32 = 0;
const STOP_MARK: u32 = 1;
const STOP_SPACE: u32 = 2;
const STOP_OPENED: u32 = 3;
const STOP_LINE: u32 = 4;

/** Token found by `next`. `tokenStart` and `tokenEnd` are addresses. */
export let tokenStem: u32 = 0;
export let tokenPrefix: u32 = 0;
export let tokenFlags: u32 = 0;
export let tokenSentence: u32 = 0;
export let tokenStart: u32 = 0;
export let tokenEnd: u32 = 0;
export let tokenCount: u32 = 0;

let scratch: u32 = 0;
let cursor: u32 = 0;
let limit: u32 = 0;
let stop: u32 = 0;
let isInitial: bool = true;
let sentence: u32 = 0;
let sentenceTokens: u32 = 0;
/** Hash unit of the ideograph just behind; 0 outside a run. */
let ideographBefore: u32 = 0;

/** Begins a text of `units` at `address`; the word buffer is that of `scratchAddress`. */
export function open(scratchAddress: u32, address: u32, units: u32): void {
  scratch = scratchAddress;
  cursor = address;
  limit = address + units * 2;
  stop = STOP_NONE;
  isInitial = true;
  sentence = 0;
  sentenceTokens = 0;
  ideographBefore = 0;
  tokenCount = 0;
}

/** Finds the next token. False at the end of the text, or after TOKENS_MAX tokens. */
export function next(): bool {
  if (tokenCount >= <u32>TOKENS_MAX) return false;
  while (cursor < limit) {
    const fold = foldAt(cursor, limit);
    if (ideographBefore != 0 && !isIdeograph(fold)) ideographBefore = 0;
    if (fold == FOLD_IGNORED) {
      cursor += widthAt(cursor, limit);
    } else if (fold == 0) {
      separate();
    } else {
      tokenStart = cursor;
      if (isDigit(fold)) scanNumber();
      else if (isIdeograph(fold)) scanIdeograph(fold);
      else scanWord(fold);
      tokenEnd = cursor;
      return true;
    }
  }
  return false;
}

function separate(): void {
  const unit = <u32>load<u16>(cursor);
  if (unit == 0x20) {
    if (stop == STOP_MARK) stop = STOP_SPACE;
    cursor += 2;
    return;
  }
  if (isStarter(unit)) isInitial = true;
  if (unit == 0x0a || unit == 0x0d || isFullStop(unit)) {
    stop = STOP_LINE;
  } else if (stop != STOP_LINE) {
    if (unit == 0x2e || unit == 0x21 || unit == 0x3f) stop = STOP_MARK;
    else if (unit == 0x09 && stop == STOP_MARK) stop = STOP_SPACE;
    else if (stop == STOP_SPACE && isOpening(unit)) stop = STOP_OPENED;
  }
  cursor += widthAt(cursor, limit);
}

function isOpening(unit: u32): bool {
  return unit == 0x22 || unit == 0x201c || unit == 0x28 || unit == 0x2d || unit == 0x2a;
}

/** Decides whether the token that begins here begins a sentence too. */
function begin(starts: bool): void {
  const isBreak = stop >= STOP_OPENED || (stop == STOP_SPACE && starts);
  if (isBreak && sentenceTokens > 0) {
    sentence += 1;
    sentenceTokens = 0;
  }
  stop = STOP_NONE;
}

function emit(stem: u32, prefix: u32, flags: u32): void {
  if (sentenceTokens == SENTENCE_TOKENS_MAX) {
    sentence += 1;
    sentenceTokens = 0;
  }
  sentenceTokens += 1;
  tokenCount += 1;
  isInitial = false;
  // Zero marks an empty slot in every table of stems.
  tokenStem = stem == 0 ? 1 : stem;
  tokenPrefix = prefix;
  tokenFlags = flags;
  tokenSentence = sentence;
}

/** Digits joined by points, colons and commas; commas are dropped, so 1,000 is 1000. */
function scanNumber(): void {
  begin(true);
  let hash = FNV_BASIS;
  let whole = FNV_BASIS;
  let length: u32 = 0;
  let isWhole: bool = true;
  let isLeading: bool = true;
  let isRound: bool = true;
  while (cursor < limit) {
    const unit = <u32>load<u16>(cursor);
    let fold = foldAt(cursor, limit);
    if (!isDigit(fold)) {
      const isPoint = unit == 0x2e || unit == 0x3a;
      if ((isPoint || unit == 0x2c) && isDigit(foldAt(cursor + 2, limit))) fold = unit;
      else if (fold != FOLD_IGNORED) break;
    }
    if (fold != FOLD_IGNORED && fold != 0x2c && length < <u32>WORD_UNITS_MAX) {
      length += 1;
      hash = hashUnit(hash, fold);
      if (!isDigit(fold)) isWhole = false;
      else if (!isWhole) isRound = isRound && fold == 0x30;
      else if (fold != 0x30 || !isLeading) {
        isLeading = false;
        whole = hashUnit(whole, fold);
      }
    }
    cursor += widthAt(cursor, limit);
  }
  if (isLeading) whole = hashUnit(FNV_BASIS, 0x30);
  emit(hash, whole, TOKEN_NUMBER | (isRound ? TOKEN_ROUND : 0));
}

/** Scripts without spaces: one token per character, hashed with the one before it. */
function scanIdeograph(fold: u32): void {
  if (ideographBefore == 0) begin(true);
  let hash = FNV_BASIS;
  if (ideographBefore != 0) hash = hashUnit(hash, ideographBefore);
  hash = hashUnit(hash, fold);
  ideographBefore = fold;
  cursor += widthAt(cursor, limit);
  emit(hash, hash, TOKEN_CONTENT);
}

/** A run of letters. A suffix behind an apostrophe is dropped, but n't and o'brien are kept. */
function scanWord(first: u32): void {
  const isCapital = isCapitalAt(cursor, limit);
  begin(isCapital || first >= 0x590);
  const isNamed = isCapital && !isInitial;
  let length: u32 = 0;
  let last: u32 = 0;
  let scripts: u32 = 0;
  while (cursor < limit) {
    const unit = <u32>load<u16>(cursor);
    const fold = foldAt(cursor, limit);
    if (isJoined(fold)) {
      push(length, fold);
      length += 1;
      last = fold;
      scripts |= isForeign(unit) ? 2 : 1;
    } else if (isApostrophe(unit)) {
      const after = foldAt(cursor + 2, limit);
      if (!isJoined(after)) break;
      if (length > 1) {
        const afterNext = cursor + 2 + widthAt(cursor + 2, limit);
        if (last == 0x6e && after == 0x74 && !isJoined(foldAt(afterNext, limit))) {
          push(length, 0x74);
          length += 1;
        }
        skipTail();
        break;
      }
    } else if (fold != FOLD_IGNORED) {
      break;
    }
    cursor += widthAt(cursor, limit);
  }
  finishWord(min<u32>(length, WORD_UNITS_MAX), isNamed, scripts == 3);
}

function push(at: u32, fold: u32): void {
  if (at < <u32>WORD_UNITS_MAX) store<u16>(scratch + SCRATCH_WORD + at * 2, <u16>fold);
}

function skipTail(): void {
  while (cursor < limit) {
    if (!isApostrophe(<u32>load<u16>(cursor)) && !isJoined(foldAt(cursor, limit))) return;
    cursor += widthAt(cursor, limit);
  }
}

function finishWord(length: u32, isNamed: bool, isMixed: bool): void {
  const hash = hashWord(scratch, length);
  const entry = findWord(hash);
  const meaning = load<u32>(entry) == hash ? load<u32>(entry, 4) : 0;
  let flags: u32 = isMixed ? TOKEN_MIXED : 0;
  if ((meaning & WORD_NUMBER) != 0) {
    emit(load<u32>(entry, 8), load<u32>(entry, 12), flags | TOKEN_NUMBER | TOKEN_ROUND);
    return;
  }
  if (length > 1 && (meaning & WORD_STOP) == 0) {
    flags |= TOKEN_CONTENT;
    if (isNamed) flags |= TOKEN_NAME;
  }
  if ((meaning & WORD_NEGATION) != 0) flags |= TOKEN_NEGATION;
  if ((meaning & WORD_REFUSAL) != 0) flags |= TOKEN_REFUSAL;
  if ((meaning & WORD_CONTRAST) != 0) flags |= TOKEN_CONTRAST;
  const stemLength = stemWord(scratch, length);
  const prefix = hashWord(scratch, min<u32>(stemLength, 5));
  emit(hashWord(scratch, stemLength), prefix, flags);
}
