// Scoring of a response: sentence by sentence, then the two worst, the mean, and what the documents
// lack of the whole text into one risk. The whole answer stays in the thread's result region.
import {
  DOCUMENTS_CITED_MAX,
  DOCUMENTS_MAX,
  FACTS_MAX,
  GROUNDING_DIRECTORY,
  GROUNDING_HEADER,
  NUMBERS_ABSENT,
  NUMBERS_CONTRADICTED,
  NUMBERS_FACTS,
  ONE,
  QUESTION_TOKENS_MAX,
  RESULT_CONTRADICTED,
  RESULT_MIXED,
  RESULT_RISK,
  RESULT_SENTENCES,
  RESULT_TOKENS,
  RESULT_UNSUPPORTED,
  RESULT_UNSUPPORTED_END,
  RESULT_UNSUPPORTED_START,
  RESULT_WORST,
  RESULT_WORST_END,
  RESULT_WORST_NUMBER,
  RESULT_WORST_START,
  ROW_END,
  ROW_NUMBER,
  ROW_RISK,
  ROW_START,
  ROW_WORDS,
  SCRATCH_CITED,
  SCRATCH_CONTAINED,
  SCRATCH_INDEXES,
  SCRATCH_RESULT,
  SCRATCH_ROWS,
  SCRATCH_TEXT,
  SCRATCH_WINDOW,
  SENTENCE_ROWS_MAX,
} from "./layout.ts";
import {
  next,
  open,
  TOKEN_MIXED,
  tokenCount,
  tokenEnd,
  tokenFlags,
  tokenPrefix,
  tokenSentence,
  tokenStart,
  tokenStem,
} from "./scanner.ts";
import {
  absentTokens,
  isAssessable,
  isContradicted,
  scoreSentence,
  tokenAt,
  unsupportedFacts,
  unsupportedKind,
  unsupportedToken,
} from "./sentence.ts";
import { addQuestion, clearQuestion } from "./stem-set.ts";

let first: i32 = 0;
let second: i32 = 0;
let sum: i64 = 0;
let scored: u32 = 0;
let judged: u32 = 0;
let absent: u32 = 0;
let facts: u32 = 0;
let contradicted: bool = false;

function setResult(scratch: u32, word: u32, value: i32): void {
  store<i32>(scratch + SCRATCH_RESULT + word * 4, value);
}

/**
 * Scores the text in the scratch, with the question behind it, against the documents whose numbers
 * the caller wrote. Returns the number of sentences scored, -1 when no document has an index.
 */
export function scoreText(
  scratch: u32,
  textUnits: u32,
  questionUnits: u32,
  cited: u32,
  topShare: i32,
): i32 {
  const documents = resolve(scratch, min<u32>(cited, DOCUMENTS_CITED_MAX));
  if (documents == 0) return -1;
  readQuestion(scratch, textUnits, questionUnits);
  first = i32.MIN_VALUE;
  second = i32.MIN_VALUE;
  sum = 0;
  scored = 0;
  judged = 0;
  absent = 0;
  facts = 0;
  contradicted = false;
  for (let word: u32 = RESULT_RISK; word <= <u32>RESULT_CONTRADICTED; word++)
    setResult(scratch, word, 0);
  readText(scratch, textUnits, documents);
  if (scored > 0) {
    const top = scored > 1 ? (first + second) >> 1 : first;
    const mean = <i32>(sum / <i64>scored);
    const mixed = (top * topShare + mean * (ONE - topShare)) >> 10;
    setResult(scratch, RESULT_RISK, addText(mixed));
  }
  setResult(scratch, RESULT_SENTENCES, scored);
  return scored;
}

/** What the documents lack of the text as a whole, whatever sentences it stands in. */
function addText(risk: i32): i32 {
  const share = <i32>((absent * ONE) / judged);
  const counted = <i32>((min<u32>(facts, FACTS_MAX) * ONE) / FACTS_MAX);
  let sum = share * load<i32>(GROUNDING_HEADER, NUMBERS_ABSENT);
  sum += counted * load<i32>(GROUNDING_HEADER, NUMBERS_FACTS);
  const total = risk + (sum >> 10);
  return contradicted ? max(total, load<i32>(GROUNDING_HEADER, NUMBERS_CONTRADICTED)) : total;
}

/** Addresses of the cited documents that have an index, in order, without gaps. */
function resolve(scratch: u32, cited: u32): u32 {
  let documents: u32 = 0;
  for (let at: u32 = 0; at < cited; at++) {
    const number = load<u32>(scratch + SCRATCH_CITED + at * 4);
    if (number >= <u32>DOCUMENTS_MAX) continue;
    const address = atomic.load<u32>(GROUNDING_DIRECTORY + number * 4);
    if (address == 0) continue;
    store<u32>(scratch + SCRATCH_INDEXES + documents * 4, address);
    store<i32>(scratch + SCRATCH_WINDOW + documents * 4, -1);
    store<i32>(scratch + SCRATCH_CONTAINED + documents * 4, -1);
    documents += 1;
  }
  return documents;
}

function readQuestion(scratch: u32, textUnits: u32, units: u32): void {
  clearQuestion(scratch);
  if (units == 0) return;
  open(scratch, scratch + SCRATCH_TEXT + textUnits * 2, units);
  while (tokenCount < <u32>QUESTION_TOKENS_MAX && next()) addQuestion(scratch, tokenStem);
}

function readText(scratch: u32, units: u32, documents: u32): void {
  let count: u32 = 0;
  let sentence: u32 = 0;
  let mixed: i32 = 0;
  open(scratch, scratch + SCRATCH_TEXT, units);
  while (next()) {
    if (tokenSentence != sentence) {
      finishSentence(scratch, count, documents, sentence);
      count = 0;
      sentence = tokenSentence;
    }
    const token = tokenAt(scratch, count);
    store<u32>(token, tokenStem);
    store<u32>(token, tokenPrefix, 4);
    store<u32>(token, tokenFlags, 8);
    store<u32>(token, tokenStart, 12);
    store<u32>(token, tokenEnd, 16);
    if ((tokenFlags & TOKEN_MIXED) != 0) mixed += 1;
    count += 1;
  }
  setResult(scratch, RESULT_TOKENS, tokenCount);
  setResult(scratch, RESULT_MIXED, mixed);
  finishSentence(scratch, count, documents, sentence);
}

function finishSentence(scratch: u32, count: u32, documents: u32, number: u32): void {
  if (!isAssessable(scratch, count)) return;
  // Rows beyond the last are scored too, only not kept.
  const at = min<u32>(scored, SENTENCE_ROWS_MAX - 1);
  const row = scratch + SCRATCH_ROWS + at * ROW_WORDS * 4;
  const z = scoreSentence(scratch, count, documents, row);
  const text = scratch + SCRATCH_TEXT;
  const start = (load<u32>(tokenAt(scratch, 0), 12) - text) >> 1;
  const end = (load<u32>(tokenAt(scratch, count - 1), 16) - text) >> 1;
  store<i32>(row + ROW_RISK * 4, z);
  store<u32>(row + ROW_NUMBER * 4, number);
  store<u32>(row + ROW_START * 4, start);
  store<u32>(row + ROW_END * 4, end);
  scored += 1;
  sum += <i64>z;
  judged += count;
  absent += absentTokens;
  facts += unsupportedFacts;
  const isWorst = z > first;
  second = isWorst ? first : max(second, z);
  first = max(first, z);
  const isNamed = contradicted ? false : isContradicted || isWorst;
  if (!isNamed) return;
  contradicted = isContradicted;
  setResult(scratch, RESULT_CONTRADICTED, isContradicted ? 1 : 0);
  name(scratch, z, number, start, end);
}

/** Keeps a sentence as the one to name, and what is missing there. */
function name(scratch: u32, z: i32, number: u32, start: u32, end: u32): void {
  const text = scratch + SCRATCH_TEXT;
  setResult(scratch, RESULT_WORST, z);
  setResult(scratch, RESULT_WORST_NUMBER, number);
  setResult(scratch, RESULT_WORST_START, start);
  setResult(scratch, RESULT_WORST_END, end);
  setResult(scratch, RESULT_UNSUPPORTED, unsupportedKind);
  let from: u32 = 0;
  let to: u32 = 0;
  if (unsupportedKind != 0) {
    from = (load<u32>(unsupportedToken, 12) - text) >> 1;
    to = (load<u32>(unsupportedToken, 16) - text) >> 1;
  }
  setResult(scratch, RESULT_UNSUPPORTED_START, from);
  setResult(scratch, RESULT_UNSUPPORTED_END, to);
}
