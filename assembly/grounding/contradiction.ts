// Contradictions of numbers: a sentence makes the statement of a document's sentence, but with a
// number that no document holds, where the document has another one.
import { findKey } from "./evidence.ts";
import {
  DOCUMENT_POSTINGS,
  NUMBERED_KEY,
  ONE,
  SCRATCH_STEMS,
  SCRATCH_SUMS,
  STATEMENT_SHARE_MIN,
  STATEMENT_STEMS_MIN,
} from "./layout.ts";
import { TOKEN_NUMBER } from "./scanner.ts";
import { STEM_STRIDE } from "./sentence.ts";

function isNumber(entry: u32): bool {
  return (load<u32>(entry, 8) & TOKEN_NUMBER) != 0;
}

/**
 * Whether a document has another number in the statement that the listed stems make. To be called
 * behind `sumWindow` of the same document, which left the places of their postings; `window` is
 * its result.
 */
export function isContradictedBy(scratch: u32, document: u32, stems: u32, window: u32): bool {
  let words: u32 = 0;
  let total: u32 = 0;
  for (let at: u32 = 0; at < stems; at++) {
    const entry = scratch + SCRATCH_STEMS + at * STEM_STRIDE;
    if (isNumber(entry)) continue;
    words += 1;
    total += load<u32>(entry, 12);
  }
  // One sentence holds no more than the best two neighbours.
  if (words < <u32>STATEMENT_STEMS_MIN || !isSame(window, total)) return false;
  const numbered = findKey(document, NUMBERED_KEY);
  if (numbered < 2) return false;
  const postings = document + load<u32>(document, DOCUMENT_POSTINGS);
  const sentence = findStatement(scratch, postings, stems, total);
  if (sentence < 0) return false;
  const all = countPosted(postings + (numbered - 2) * 2, <u32>sentence);
  return all > countShared(scratch, postings, stems, <u32>sentence);
}

function isSame(sum: u32, total: u32): bool {
  return sum * ONE >= total * STATEMENT_SHARE_MIN;
}

/** Sentence of a document with the most weight of the words; -1 where that is not enough. */
function findStatement(scratch: u32, postings: u32, stems: u32, total: u32): i32 {
  const sums = scratch + SCRATCH_SUMS;
  let best: u32 = 0;
  let sentence: i32 = -1;
  for (let at: u32 = 0; at < stems; at++) {
    const entry = scratch + SCRATCH_STEMS + at * STEM_STRIDE;
    const list = listOf(postings, entry);
    if (list == 0 || isNumber(entry)) continue;
    const count = <u32>load<u16>(list);
    for (let each: u32 = 1; each <= count; each++) {
      const holder = <u32>load<u16>(list + each * 2);
      const sum = load<u32>(sums + holder * 4) + load<u32>(entry, 12);
      store<u32>(sums + holder * 4, sum);
      if (sum <= best) continue;
      best = sum;
      sentence = <i32>holder;
    }
  }
  for (let at: u32 = 0; at < stems; at++) {
    const list = listOf(postings, scratch + SCRATCH_STEMS + at * STEM_STRIDE);
    if (list == 0) continue;
    const count = <u32>load<u16>(list);
    for (let each: u32 = 1; each <= count; each++) {
      store<u32>(sums + <u32>load<u16>(list + each * 2) * 4, 0);
    }
  }
  return isSame(best, total) ? sentence : -1;
}

/** Postings of a listed stem, 0 where the document lacks it. */
function listOf(postings: u32, entry: u32): u32 {
  const place = load<u32>(entry, 8) >> 8;
  return place == 0 ? 0 : postings + (place - 1) * 2;
}

function countPosted(list: u32, sentence: u32): u32 {
  const count = <u32>load<u16>(list);
  let found: u32 = 0;
  for (let at: u32 = 1; at <= count; at++) {
    if (<u32>load<u16>(list + at * 2) == sentence) found += 1;
  }
  return found;
}

/** Listed numbers that the document's sentence holds too. */
function countShared(scratch: u32, postings: u32, stems: u32, sentence: u32): u32 {
  let shared: u32 = 0;
  for (let at: u32 = 0; at < stems; at++) {
    const entry = scratch + SCRATCH_STEMS + at * STEM_STRIDE;
    const list = listOf(postings, entry);
    if (list != 0 && isNumber(entry)) shared += countPosted(list, sentence);
  }
  return shared;
}
