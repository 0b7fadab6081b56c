// Index builder of one document: tokens into this thread's arrays, keys into a working table sized
// for them, then an exact copy into a block of the heap. Immutable from the moment it is published.
// Any thread builds; only the writer publishes.
import {
  DOCUMENT_BYTES,
  DOCUMENT_CLASS,
  DOCUMENT_LEAF_COUNT,
  DOCUMENT_LEAVES,
  DOCUMENT_POSTINGS,
  DOCUMENT_SENTENCES,
  DOCUMENT_SLOTS,
  DOCUMENT_TABLE,
  DOCUMENT_TOKENS,
  LEAF_STRIDE,
  LEAVES_MAX,
  NUMBERED_KEY,
  POSTINGS_MAX,
  SALT_PAIR,
  SALT_PREFIX,
  SALT_WHOLE,
  SCRATCH_TEXT,
  TOKENS_MAX,
} from "./layout.ts";
import { writeLeaves } from "./leaves.ts";
import { slotOf } from "./lexicon.ts";
import { allocate, blockClass, takeBlock } from "./memory.ts";
import {
  next,
  open,
  TOKEN_CONTENT,
  TOKEN_NUMBER,
  tokenFlags,
  tokenPrefix,
  tokenSentence,
  tokenStem,
} from "./scanner.ts";

// A builder's arrays: tokens of 16 bytes (stem, prefix, flags, sentence), then working slots of
// 16 bytes (key, postings counted or filled, last sentence, place of the postings).
const TOKEN_STRIDE: u32 = 16;
const SLOT_STRIDE: u32 = 16;
const SLOTS_LOG2_MAX: u32 = 19;
const TOKENS_BYTES: u32 = TOKENS_MAX * TOKEN_STRIDE;
const ARRAYS_BYTES: u32 = TOKENS_BYTES + (SLOT_STRIDE << SLOTS_LOG2_MAX);

const POSTED: u32 = TOKEN_NUMBER | TOKEN_CONTENT;

let tokens: u32 = 0;
let slots: u32 = 0;
let mask: u32 = 0;
let keyCount: u32 = 0;
let postingUnits: u32 = 0;

export function prefixKey(prefix: u32): u32 {
  return keyOf(prefix ^ SALT_PREFIX);
}

export function wholeKey(whole: u32): u32 {
  return keyOf(whole ^ SALT_WHOLE);
}

/** Key of two neighbouring stems; their order counts. */
export function pairKey(left: u32, right: u32): u32 {
  return keyOf((left ^ SALT_PAIR) * 0x9e3779b1 + right);
}

/** Zero marks an empty slot, so it is no key. */
function keyOf(hash: u32): u32 {
  return hash == 0 ? 1 : hash;
}

/**
 * Indexes the text in the scratch, and behind it the lines of its negative leaves. Returns the
 * address of the finished index, 0 when memory is full.
 */
export function buildIndex(scratch: u32, textUnits: u32, leafUnits: u32): u32 {
  if (!takeArrays()) return 0;
  const tokenTotal = collect(scratch, textUnits);
  const sentences = tokenTotal > 0 ? load<u32>(tokenAt(tokenTotal - 1), 12) + 1 : 0;
  // At most three keys a token (stem, prefix or whole, pair): the table stays below three quarters.
  let log2: u32 = 5;
  while ((<u32>1) << log2 < tokenTotal * 4 && log2 < SLOTS_LOG2_MAX) log2 += 1;
  mask = ((<u32>1) << log2) - 1;
  memory.fill(slots, 0, SLOT_STRIDE << log2);
  keyCount = 0;
  postingUnits = 0;
  countKeys(tokenTotal);
  return publish(scratch, textUnits, leafUnits, tokenTotal, sentences);
}

/** This instance's arrays, and so this thread's, from its first document on. */
function takeArrays(): bool {
  if (tokens == 0) tokens = allocate(ARRAYS_BYTES);
  slots = tokens + TOKENS_BYTES;
  return tokens != 0;
}

function tokenAt(at: u32): u32 {
  return tokens + at * TOKEN_STRIDE;
}

function collect(scratch: u32, units: u32): u32 {
  let count: u32 = 0;
  open(scratch, scratch + SCRATCH_TEXT, units);
  while (next()) {
    const address = tokenAt(count);
    store<u32>(address, tokenStem);
    store<u32>(address, tokenPrefix, 4);
    store<u32>(address, tokenFlags, 8);
    store<u32>(address, tokenSentence, 12);
    count += 1;
  }
  return count;
}

function workingSlot(key: u32): u32 {
  let slot = slotOf(key, mask);
  while (true) {
    const address = slots + slot * SLOT_STRIDE;
    const found = load<u32>(address);
    if (found == key) return address;
    if (found == 0) {
      store<u32>(address, key);
      keyCount += 1;
      return address;
    }
    slot = (slot + 1) & mask;
  }
}

/** First pass: every key once, and how many sentences hold each posted stem. */
function countKeys(total: u32): void {
  let before: u32 = 0;
  for (let at: u32 = 0; at < total; at++) {
    const token = tokenAt(at);
    const stem = load<u32>(token);
    const flags = load<u32>(token, 8);
    const slot = workingSlot(stem);
    if ((flags & POSTED) != 0) {
      const isFirst = countPosting(slot, load<u32>(token, 12) + 1);
      if (isFirst && (flags & TOKEN_NUMBER) != 0) countRepeated(workingSlot(NUMBERED_KEY));
    }
    const prefix = load<u32>(token, 4);
    workingSlot((flags & TOKEN_NUMBER) != 0 ? wholeKey(prefix) : prefixKey(prefix));
    if (at > 0) workingSlot(pairKey(before, stem));
    before = stem;
  }
}

/** False where the stem stood in that sentence before, or in too many. */
function countPosting(slot: u32, sentence: u32): bool {
  const count = load<u32>(slot, 4);
  if (load<u32>(slot, 8) == sentence || count == POSTINGS_MAX) return false;
  store<u32>(slot, sentence, 8);
  store<u32>(slot, count + 1, 4);
  postingUnits += count == 0 ? 2 : 1;
  return true;
}

function countRepeated(slot: u32): void {
  const count = load<u32>(slot, 4);
  if (count == POSTINGS_MAX) return;
  store<u32>(slot, count + 1, 4);
  postingUnits += count == 0 ? 2 : 1;
}

/** Second pass: the exact table and postings in the heap, then the leaves. */
function publish(scratch: u32, textUnits: u32, leafUnits: u32, total: u32, sentences: u32): u32 {
  // Three keys in five slots: half the memory of a power of two, and a miss still ends in one line.
  const tableSlots: u32 = (keyCount * 5) / 3 + 8;
  const postings: u32 = DOCUMENT_TABLE + tableSlots * 8;
  const leaves: u32 = (postings + postingUnits * 2 + 3) & ~3;
  const leafLines = countLines(scratch + SCRATCH_TEXT + textUnits * 2, leafUnits);
  const bytes = leaves + leafLines * LEAF_STRIDE;
  const document = takeBlock(bytes);
  if (document == 0) return 0;
  store<u32>(document, bytes, DOCUMENT_BYTES);
  store<u32>(document, blockClass, DOCUMENT_CLASS);
  store<u32>(document, tableSlots, DOCUMENT_SLOTS);
  store<u32>(document, postings, DOCUMENT_POSTINGS);
  store<u32>(document, leaves, DOCUMENT_LEAVES);
  store<u32>(document, total, DOCUMENT_TOKENS);
  store<u32>(document, sentences, DOCUMENT_SENTENCES);
  copyTable(document);
  fillPostings(document, total);
  const text = scratch + SCRATCH_TEXT + textUnits * 2;
  const count = writeLeaves(scratch, document + leaves, text, leafUnits);
  store<u32>(document, count, DOCUMENT_LEAF_COUNT);
  return document;
}

function countLines(text: u32, units: u32): u32 {
  if (units == 0) return 0;
  let lines: u32 = 1;
  for (let at: u32 = 0; at < units; at++) {
    if (load<u16>(text + at * 2) == 0x0a) lines += 1;
  }
  return min<u32>(lines, LEAVES_MAX);
}

function copyTable(document: u32): void {
  const tableSlots = load<u32>(document, DOCUMENT_SLOTS);
  let place: u32 = 0;
  for (let at: u32 = 0; at <= mask; at++) {
    const from = slots + at * SLOT_STRIDE;
    const key = load<u32>(from);
    if (key == 0) continue;
    let slot = placeOf(key, tableSlots);
    while (load<u32>(document + DOCUMENT_TABLE + slot * 8) != 0) slot = after(slot, tableSlots);
    const to = document + DOCUMENT_TABLE + slot * 8;
    store<u32>(to, key);
    const count = load<u32>(from, 4);
    store<u32>(to, count == 0 ? 1 : place + 2, 4);
    // The working slot turns from counting to filling.
    store<u32>(from, place, 12);
    store<u32>(from, 0, 4);
    store<u32>(from, 0, 8);
    if (count != 0) place += count + 1;
  }
}

function fillPostings(document: u32, total: u32): void {
  const base = document + load<u32>(document, DOCUMENT_POSTINGS);
  for (let at: u32 = 0; at < total; at++) {
    const token = tokenAt(at);
    if ((load<u32>(token, 8) & POSTED) == 0) continue;
    const slot = workingSlot(load<u32>(token));
    const sentence = load<u32>(token, 12);
    const count = load<u32>(slot, 4);
    if (load<u32>(slot, 8) == sentence + 1 || count == POSTINGS_MAX) continue;
    post(base, slot, count, sentence);
    store<u32>(slot, sentence + 1, 8);
    if ((load<u32>(token, 8) & TOKEN_NUMBER) == 0) continue;
    const numbered = workingSlot(NUMBERED_KEY);
    const before = load<u32>(numbered, 4);
    if (before < <u32>POSTINGS_MAX) post(base, numbered, before, sentence);
  }
}

function post(base: u32, slot: u32, count: u32, sentence: u32): void {
  const list = base + load<u32>(slot, 12) * 2;
  store<u16>(list, <u16>(count + 1));
  store<u16>(list + (count + 1) * 2, <u16>sentence);
  store<u32>(slot, count + 1, 4);
}

/** Value of a key in a document's table: 0 absent, 1 present, else 2 + place of its postings. */
export function findKey(document: u32, key: u32): u32 {
  const tableSlots = load<u32>(document, DOCUMENT_SLOTS);
  let slot = placeOf(key, tableSlots);
  while (true) {
    const address = document + DOCUMENT_TABLE + slot * 8;
    const found = load<u32>(address);
    if (found == key) return load<u32>(address, 4);
    if (found == 0) return 0;
    slot = after(slot, tableSlots);
  }
}

/** First slot of a key in a table of any size. */
function placeOf(key: u32, tableSlots: u32): u32 {
  return <u32>((<u64>(key * 0x9e3779b1) * <u64>tableSlots) >> 32);
}

function after(slot: u32, tableSlots: u32): u32 {
  return slot + 1 == tableSlots ? 0 : slot + 1;
}
