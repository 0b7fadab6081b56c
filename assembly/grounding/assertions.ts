// Counts leaves of structured evidence that a sentence asserts although the document holds false or
// null: all key words in one clause, and no negation in it.
import {
  DOCUMENT_LEAF_COUNT,
  DOCUMENT_LEAVES,
  LEAF_STRIDE,
  SCRATCH_CLAUSE,
  SCRATCH_INDEXES,
} from "./layout.ts";
import { LEAF_FALSE } from "./leaves.ts";
import { TOKEN_CONTRAST, TOKEN_NEGATION, TOKEN_REFUSAL } from "./scanner.ts";
import { tokenAt } from "./sentence.ts";
import { addStem, hasStem, takeStamp } from "./stem-set.ts";

/** Number of such leaves that the sentence asserts; each counts once per clause. */
export function countAssertedLeaves(scratch: u32, count: u32, documents: u32): u32 {
  if (!hasLeaves(scratch, documents)) return 0;
  let asserted: u32 = 0;
  let seen: u32 = 0;
  let stamp = takeStamp(scratch);
  for (let at: u32 = 0; at < count; at++) {
    const token = tokenAt(scratch, at);
    const flags = load<u32>(token, 8);
    if ((flags & TOKEN_CONTRAST) != 0) {
      asserted += countClause(scratch, documents, seen, stamp);
      seen = 0;
      stamp = takeStamp(scratch);
    }
    seen |= flags;
    addStem(scratch + SCRATCH_CLAUSE, load<u32>(token), stamp);
  }
  return asserted + countClause(scratch, documents, seen, stamp);
}

function documentAt(scratch: u32, at: u32): u32 {
  return load<u32>(scratch + SCRATCH_INDEXES + at * 4);
}

function hasLeaves(scratch: u32, documents: u32): bool {
  for (let at: u32 = 0; at < documents; at++) {
    if (load<u32>(documentAt(scratch, at), DOCUMENT_LEAF_COUNT) != 0) return true;
  }
  return false;
}

function countClause(scratch: u32, documents: u32, seen: u32, stamp: u32): u32 {
  const isNegated = (seen & TOKEN_NEGATION) != 0;
  const isRefusal = isNegated && (seen & TOKEN_REFUSAL) != 0;
  if (isRefusal) return 0;
  let asserted: u32 = 0;
  for (let at: u32 = 0; at < documents; at++) {
    const document = documentAt(scratch, at);
    let leaf = document + load<u32>(document, DOCUMENT_LEAVES);
    const end = leaf + load<u32>(document, DOCUMENT_LEAF_COUNT) * LEAF_STRIDE;
    for (; leaf < end; leaf += LEAF_STRIDE) {
      if (isNegated && load<u32>(leaf) == LEAF_FALSE) continue;
      if (isAsserted(scratch, leaf, stamp)) asserted += 1;
    }
  }
  return asserted;
}

function isAsserted(scratch: u32, leaf: u32, stamp: u32): bool {
  const stems = load<u32>(leaf, 4);
  for (let at: u32 = 0; at < stems; at++) {
    if (!hasStem(scratch + SCRATCH_CLAUSE, load<u32>(leaf + 8 + at * 4), stamp)) return false;
  }
  return true;
}
