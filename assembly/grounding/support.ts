// Share of a sentence's weight that the documents hold: anywhere, and within two neighbouring
// sentences of one document. The second cannot be gained by citing one huge document.
import { findKey, prefixKey } from "./evidence.ts";
import {
  DOCUMENT_POSTINGS,
  SCRATCH_CONTAINED,
  SCRATCH_INDEXES,
  SCRATCH_STEMS,
  SCRATCH_SUMS,
  SCRATCH_WINDOW,
} from "./layout.ts";
import { TOKEN_NUMBER } from "./scanner.ts";
import { STEM_STRIDE } from "./sentence.ts";

/** Weight of the listed stems that any of `count` documents from `first` holds. */
export function sumFound(scratch: u32, first: u32, count: u32, stems: u32): u32 {
  let sum: u32 = 0;
  for (let at: u32 = 0; at < stems; at++) {
    const entry = scratch + SCRATCH_STEMS + at * STEM_STRIDE;
    for (let each = first; each < first + count; each++) {
      if (!holds(load<u32>(scratch + SCRATCH_INDEXES + each * 4), entry)) continue;
      sum += load<u32>(entry, 12);
      break;
    }
  }
  return sum;
}

function holds(document: u32, entry: u32): bool {
  if (findKey(document, load<u32>(entry)) != 0) return true;
  if ((load<u32>(entry, 8) & TOKEN_NUMBER) != 0) return false;
  return findKey(document, prefixKey(load<u32>(entry, 4))) != 0;
}

/** Largest weight of listed stems within sentences i and i + 1 of one document. */
export function sumWindow(scratch: u32, document: u32, stems: u32): u32 {
  const postings = document + load<u32>(document, DOCUMENT_POSTINGS);
  let best: u32 = 0;
  for (let at: u32 = 0; at < stems; at++) {
    const entry = scratch + SCRATCH_STEMS + at * STEM_STRIDE;
    const value = findKey(document, load<u32>(entry));
    // Kept for the clearing pass, in place of the flags' upper half: a place is below 2^24.
    store<u32>(entry, (load<u32>(entry, 8) & 0xff) | ((value < 2 ? 0 : value - 1) << 8), 8);
    if (value < 2) continue;
    best = addPostings(scratch, postings + (value - 2) * 2, load<u32>(entry, 12), best);
  }
  clearSums(scratch, postings, stems);
  return best;
}

function addPostings(scratch: u32, list: u32, weight: u32, bestBefore: u32): u32 {
  let best = bestBefore;
  const sums = scratch + SCRATCH_SUMS;
  const count = <u32>load<u16>(list);
  let before: u32 = 0xffffffff;
  for (let at: u32 = 1; at <= count; at++) {
    const sentence = <u32>load<u16>(list + at * 2);
    const sum = load<u32>(sums + sentence * 4) + weight;
    store<u32>(sums + sentence * 4, sum);
    best = max(best, sum);
    // The window that begins one sentence earlier, unless it has the stem too.
    if (sentence > 0 && sentence - 1 != before) {
      const earlier = load<u32>(sums + sentence * 4 - 4) + weight;
      store<u32>(sums + sentence * 4 - 4, earlier);
      best = max(best, earlier);
    }
    before = sentence;
  }
  return best;
}

function clearSums(scratch: u32, postings: u32, stems: u32): void {
  const sums = scratch + SCRATCH_SUMS;
  for (let at: u32 = 0; at < stems; at++) {
    const place = load<u32>(scratch + SCRATCH_STEMS + at * STEM_STRIDE, 8) >> 8;
    if (place == 0) continue;
    const list = postings + (place - 1) * 2;
    const count = <u32>load<u16>(list);
    for (let each: u32 = 1; each <= count; each++) {
      const sentence = <u32>load<u16>(list + each * 2);
      store<u32>(sums + sentence * 4, 0);
      if (sentence > 0) store<u32>(sums + sentence * 4 - 4, 0);
    }
  }
}

/** Keeps the best sentence per cited document. */
export function noteCitation(scratch: u32, at: u32, window: u32, contained: u32): void {
  raise(scratch + SCRATCH_WINDOW + at * 4, <i32>window);
  raise(scratch + SCRATCH_CONTAINED + at * 4, <i32>contained);
}

function raise(address: u32, value: i32): void {
  if (load<i32>(address) < value) store<i32>(address, value);
}
