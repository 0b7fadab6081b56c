// Features of one sentence of a response against the cited documents together. Fractions are in
// 1/1024, words weigh their idf in 1/16, all integers; nothing is allocated.
import { findKey, pairKey, prefixKey, wholeKey } from "./evidence.ts";
import {
  CITATION_STEMS_MIN,
  FEATURE_FOUND,
  FEATURE_LEAVES,
  FEATURE_NAMES,
  FEATURE_NOVEL,
  FEATURE_NOVEL_COUNT,
  FEATURE_NUMBERS,
  FEATURE_PAIRS,
  FEATURE_WINDOW,
  FEATURES_COUNT,
  GROUNDING_HEADER,
  HALF,
  NUMBERS_BIAS,
  NUMBERS_WEIGHTS,
  ONE,
  SCRATCH_DISTINCT,
  SCRATCH_INDEXES,
  SCRATCH_STEMS,
  SCRATCH_TOKENS,
} from "./layout.ts";
import { countAssertedLeaves } from "./assertions.ts";
import { isContradictedBy } from "./contradiction.ts";
import { weightOf } from "./lexicon.ts";
import {
  TOKEN_ABSENT,
  TOKEN_CONTENT,
  TOKEN_CONTRAST,
  TOKEN_HELD,
  TOKEN_NAME,
  TOKEN_NEGATION,
  TOKEN_NUMBER,
  TOKEN_REFUSAL,
  TOKEN_ROUND,
} from "./scanner.ts";
import { addStem, isAsked, takeStamp } from "./stem-set.ts";
import { noteCitation, sumFound, sumWindow } from "./support.ts";

export const SENTENCE_TOKEN_STRIDE: u32 = 24;
export const STEM_STRIDE: u32 = 16;
const PIECE: u32 = TOKEN_CONTENT | TOKEN_NUMBER;
/** A refusal to answer says no more than that: no fact, no second half behind a `but`. */
const CLAIM: u32 = TOKEN_NUMBER | TOKEN_NAME | TOKEN_CONTRAST;

/**
 * Results of `scoreSentence` besides the row: the first number, else name, without support; how
 * many there are; tokens that no document holds; whether a document has another number here.
 */
export let unsupportedKind: i32 = 0;
export let unsupportedToken: u32 = 0;
export let unsupportedFacts: u32 = 0;
export let absentTokens: u32 = 0;
export let isContradicted: bool = false;

let content: u32 = 0;
let novel: u32 = 0;
let numbers: u32 = 0;
let names: u32 = 0;
let stems: u32 = 0;
let firstNumber: u32 = 0;
let firstName: u32 = 0;

export function tokenAt(scratch: u32, at: u32): u32 {
  return scratch + SCRATCH_TOKENS + at * SENTENCE_TOKEN_STRIDE;
}

/** Whether a sentence makes a claim that can be supported: refusals and fragments do not. */
export function isAssessable(scratch: u32, count: u32): bool {
  let pieces: u32 = 0;
  let seen: u32 = 0;
  for (let at: u32 = 0; at < count; at++) {
    const flags = load<u32>(tokenAt(scratch, at), 8);
    if ((flags & PIECE) != 0) pieces += 1;
    seen |= flags;
  }
  if (pieces < 2) return false;
  if ((seen & TOKEN_NEGATION) == 0 || (seen & TOKEN_REFUSAL) == 0) return true;
  return (seen & CLAIM) != 0;
}

/** Writes the features of the `count` tokens in the scratch to `row` and returns z. */
export function scoreSentence(scratch: u32, count: u32, documents: u32, row: u32): i32 {
  content = 0;
  novel = 0;
  numbers = 0;
  names = 0;
  stems = 0;
  firstNumber = 0;
  firstName = 0;
  absentTokens = 0;
  isContradicted = false;
  const stamp = takeStamp(scratch);
  for (let at: u32 = 0; at < count; at++) {
    const token = tokenAt(scratch, at);
    if ((load<u32>(token, 8) & PIECE) != 0) weighToken(scratch, token, documents, stamp);
  }
  setFeature(row, FEATURE_NOVEL, share(novel, max<u32>(content, 1)));
  setFeature(row, FEATURE_NOVEL_COUNT, share(min<u32>(novel, 6), 6));
  setSupport(scratch, documents, row);
  setFeature(row, FEATURE_NUMBERS, min<u32>(numbers, 2) * HALF);
  setFeature(row, FEATURE_NAMES, min<u32>(names, 2) * HALF);
  const paired = countPaired(scratch, count, documents);
  setFeature(row, FEATURE_PAIRS, ONE - share(paired, count));
  const leaves = countAssertedLeaves(scratch, count, documents);
  setFeature(row, FEATURE_LEAVES, min<u32>(leaves, 2) * HALF);
  unsupportedFacts = numbers + names;
  unsupportedKind = firstNumber != 0 ? 1 : firstName != 0 ? 2 : 0;
  unsupportedToken = firstNumber != 0 ? firstNumber : firstName;
  return weighRow(row);
}

function setFeature(row: u32, feature: u32, value: u32): void {
  store<u32>(row + feature * 4, value);
}

function share(part: u32, whole: u32): u32 {
  return whole == 0 ? 0 : (part * ONE) / whole;
}

function weighRow(row: u32): i32 {
  let sum: i32 = 0;
  for (let feature: u32 = 0; feature < <u32>FEATURES_COUNT; feature++) {
    const weight = load<i32>(GROUNDING_HEADER + NUMBERS_WEIGHTS + feature * 4);
    sum += load<i32>(row + feature * 4) * weight;
  }
  return (sum >> 10) + load<i32>(GROUNDING_HEADER, NUMBERS_BIAS);
}

/** Counts a content word or number as known or not, and lists its stem once. */
function weighToken(scratch: u32, token: u32, documents: u32, stamp: u32): void {
  const stem = load<u32>(token);
  const flags = load<u32>(token, 8);
  const asked = isAsked(scratch, stem);
  const isNumber = (flags & TOKEN_NUMBER) != 0;
  if (!isNumber) content += 1;
  if (!asked) {
    if (addStem(scratch + SCRATCH_DISTINCT, stem, stamp)) listStem(scratch, token, stem, flags);
    if (!isHeldToken(scratch, documents, token)) {
      const prefix = load<u32>(token, 4);
      if (isNumber) {
        const isRound = (flags & TOKEN_ROUND) != 0;
        if (!isRound || !isHeld(scratch, documents, wholeKey(prefix))) {
          numbers += 1;
          if (firstNumber == 0) firstNumber = token;
        }
      } else {
        if (!isHeld(scratch, documents, prefixKey(prefix))) novel += 1;
        if ((flags & TOKEN_NAME) != 0) {
          names += 1;
          if (firstName == 0) firstName = token;
        }
      }
    }
  }
}

function listStem(scratch: u32, token: u32, stem: u32, flags: u32): void {
  const entry = scratch + SCRATCH_STEMS + stems * STEM_STRIDE;
  store<u32>(entry, stem);
  store<u32>(entry, load<u32>(token, 4), 4);
  store<u32>(entry, flags, 8);
  store<u32>(entry, weightOf(stem), 12);
  stems += 1;
}

/** Whether a document holds the token's stem; looked up once, then kept in its flags. */
function isHeldToken(scratch: u32, documents: u32, token: u32): bool {
  const flags = load<u32>(token, 8);
  if ((flags & (TOKEN_HELD | TOKEN_ABSENT)) != 0) return (flags & TOKEN_HELD) != 0;
  const held = isHeld(scratch, documents, load<u32>(token));
  store<u32>(token, flags | (held ? TOKEN_HELD : TOKEN_ABSENT), 8);
  return held;
}

function isHeld(scratch: u32, documents: u32, key: u32): bool {
  for (let at: u32 = 0; at < documents; at++) {
    if (findKey(load<u32>(scratch + SCRATCH_INDEXES + at * 4), key) != 0) return true;
  }
  return false;
}

function setSupport(scratch: u32, documents: u32, row: u32): void {
  let total: u32 = 0;
  for (let at: u32 = 0; at < stems; at++) {
    total += load<u32>(scratch + SCRATCH_STEMS + at * STEM_STRIDE, 12);
  }
  if (total == 0) {
    setFeature(row, FEATURE_WINDOW, 0);
    setFeature(row, FEATURE_FOUND, 0);
    return;
  }
  let best: u32 = 0;
  for (let at: u32 = 0; at < documents; at++) {
    const document = load<u32>(scratch + SCRATCH_INDEXES + at * 4);
    const window = sumWindow(scratch, document, stems);
    best = max(best, window);
    if (numbers != 0 && !isContradicted) {
      isContradicted = isContradictedBy(scratch, document, stems, window);
    }
    if (stems < <u32>CITATION_STEMS_MIN) continue;
    const found = sumFound(scratch, at, 1, stems);
    noteCitation(scratch, at, share(window, total), share(found, total));
  }
  const found = sumFound(scratch, 0, documents, stems);
  setFeature(row, FEATURE_WINDOW, ONE - share(best, total));
  setFeature(row, FEATURE_FOUND, ONE - share(found, total));
}

/** Tokens in a pair of neighbours that some document holds too; counts those absent besides. */
function countPaired(scratch: u32, count: u32, documents: u32): u32 {
  let paired: u32 = 0;
  let wasPair: bool = false;
  for (let at: u32 = 0; at < count; at++) {
    let isPair: bool = false;
    if (at + 1 < count) {
      const left = load<u32>(tokenAt(scratch, at));
      isPair = isHeld(scratch, documents, pairKey(left, load<u32>(tokenAt(scratch, at + 1))));
    }
    if (isPair || wasPair) paired += 1;
    else if (!isHeldToken(scratch, documents, tokenAt(scratch, at))) absentTokens += 1;
    wasPair = isPair;
  }
  return paired;
}
