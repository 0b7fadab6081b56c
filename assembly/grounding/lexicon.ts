// Two read-only tables filled before the first text: the lexicon (stop words, negations, numbers)
// and the weights of the commonest stems. Open addressing, never grown.
import {
  GROUNDING_HEADER,
  GROUNDING_IDF,
  GROUNDING_LEXICON,
  IDF_LOG2,
  LEXICON_LOG2,
  NUMBERS_IDF_UNSEEN,
} from "./layout.ts";

const GOLDEN: u32 = 0x9e3779b1;

/** First slot of a hash in a table of 2^log2 slots. */
export function slotOf(hash: u32, mask: u32): u32 {
  return ((hash * GOLDEN) >> 7) & mask;
}

/** Address of the lexicon slot of a word, or of the empty slot where it would be. */
export function findWord(hash: u32): u32 {
  const mask: u32 = (1 << LEXICON_LOG2) - 1;
  let slot = slotOf(hash, mask);
  while (true) {
    const address = GROUNDING_LEXICON + slot * 16;
    const key = load<u32>(address);
    if (key == hash || key == 0) return address;
    slot = (slot + 1) & mask;
  }
}

/** Weight of a stem in 1/16. */
export function weightOf(stem: u32): u32 {
  const address = findIdf(stem);
  if (load<u32>(address) == stem) return load<u32>(address, 4);
  return load<u32>(GROUNDING_HEADER, NUMBERS_IDF_UNSEEN);
}

/** Address of the idf slot of a stem, or of the empty slot where it would be. */
export function findIdf(stem: u32): u32 {
  const mask: u32 = (1 << IDF_LOG2) - 1;
  let slot = slotOf(stem, mask);
  while (true) {
    const address = GROUNDING_IDF + slot * 8;
    const key = load<u32>(address);
    if (key == stem || key == 0) return address;
    slot = (slot + 1) & mask;
  }
}
