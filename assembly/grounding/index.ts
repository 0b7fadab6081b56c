// Exports of the grounding module. Callers put UTF-16 into their scratch, call once, and read the
// result region. One thread fills the tables and publishes documents; any thread builds and scores.
import { buildIndex } from "./evidence.ts";
import {
  DOCUMENT_CLASS,
  DOCUMENTS_MAX,
  GROUNDING_DIRECTORY,
  GROUNDING_HEADER,
  GROUNDING_HEAP,
  GROUNDING_MAGIC,
  NUMBERS_HEAP_TOP,
  NUMBERS_MAGIC,
  SCRATCH_BYTES,
  STATUS_INVALID,
  STATUS_OK,
  TEXT_UNITS_MAX,
} from "./layout.ts";
import { findIdf, findWord } from "./lexicon.ts";
import { allocate, giveBlock } from "./memory.ts";
import { scoreText } from "./score.ts";

/** Writer, once per memory. */
export function initialise(): i32 {
  if (load<u32>(GROUNDING_HEADER, NUMBERS_MAGIC) == GROUNDING_MAGIC) return STATUS_INVALID;
  store<u32>(GROUNDING_HEADER, GROUNDING_HEAP, NUMBERS_HEAP_TOP);
  atomic.store<u32>(GROUNDING_HEADER, GROUNDING_MAGIC, NUMBERS_MAGIC);
  return STATUS_OK;
}

/** Writer: adds a word of the lexicon; hashes of its digits when it is a number. */
export function addWord(hash: u32, flags: u32, digits: u32, whole: u32): void {
  const slot = findWord(hash);
  store<u32>(slot, hash);
  store<u32>(slot, load<u32>(slot, 4) | flags, 4);
  if (digits != 0) {
    store<u32>(slot, digits, 8);
    store<u32>(slot, whole, 12);
  }
}

/** Writer: weight of a stem in 1/16; at most IDF_ENTRIES_MAX. Zero removes its effect. */
export function addWeight(stem: u32, weight: u32): void {
  const slot = findIdf(stem);
  store<u32>(slot, stem);
  store<u32>(slot, weight, 4);
}

/** Any thread, once: a scratch of its own. 0 when memory is full. */
export function openScratch(): u32 {
  return allocate(SCRATCH_BYTES);
}

/**
 * Any thread: indexes the text and leaf lines in its scratch. Returns the address of an unpublished
 * index, 0 when memory is full.
 */
export function buildDocument(scratch: u32, textUnits: u32, leafUnits: u32): u32 {
  if (textUnits + leafUnits > <u32>TEXT_UNITS_MAX) return 0;
  return buildIndex(scratch, textUnits, leafUnits);
}

/** Writer: from now on the number names the index, which must be complete; 0 names none. */
export function publishDocument(number: u32, document: u32): void {
  if (number < <u32>DOCUMENTS_MAX) atomic.store<u32>(GROUNDING_DIRECTORY + number * 4, document);
}

/**
 * Writer: frees the block of an index that no number names and no reader can hold. Zero when it is
 * to be tried again.
 */
export function freeDocument(document: u32): i32 {
  return giveBlock(document, load<u32>(document, DOCUMENT_CLASS)) ? 1 : 0;
}

/** Any thread: see scoreText. */
export function score(
  scratch: u32,
  textUnits: u32,
  questionUnits: u32,
  cited: u32,
  topShare: i32,
): i32 {
  if (textUnits + questionUnits > <u32>TEXT_UNITS_MAX) return -1;
  return scoreText(scratch, textUnits, questionUnits, cited, topShare);
}
