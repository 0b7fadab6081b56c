// Structured evidence: leaves that are false or null, each a line of key words. A sentence that
// asserts one contradicts the document. Lines are made at registration, outside this module.
import { LEAF_STEMS_MAX, LEAF_STRIDE, LEAVES_MAX, SENTENCE_TOKENS_MAX } from "./layout.ts";
import { next, open, TOKEN_CONTENT, tokenFlags, tokenStem } from "./scanner.ts";

/** Kind of a leaf that is false; any other kind is null. */
export const LEAF_FALSE: u32 = 0x21;

/** Writes one record per usable line at `target`; returns how many. */
export function writeLeaves(scratch: u32, target: u32, text: u32, units: u32): u32 {
  let count: u32 = 0;
  let lines: u32 = 0;
  let start: u32 = 0;
  for (let at: u32 = 0; at <= units && units > 0; at++) {
    if (at < units && load<u16>(text + at * 2) != 0x0a) continue;
    if (lines < <u32>LEAVES_MAX) {
      const line = text + start * 2;
      if (writeLeaf(scratch, target + count * LEAF_STRIDE, line, at - start)) count += 1;
    }
    lines += 1;
    start = at + 1;
  }
  return count;
}

function writeLeaf(scratch: u32, leaf: u32, line: u32, units: u32): bool {
  let stems: u32 = 0;
  let scanned: u32 = 0;
  open(scratch, line, units);
  while (next() && scanned < <u32>SENTENCE_TOKENS_MAX) {
    scanned += 1;
    if ((tokenFlags & TOKEN_CONTENT) == 0 || hasStem(leaf, stems, tokenStem)) continue;
    if (stems == LEAF_STEMS_MAX) return false;
    store<u32>(leaf + 8 + stems * 4, tokenStem);
    stems += 1;
  }
  store<u32>(leaf, <u32>load<u16>(line));
  store<u32>(leaf, stems, 4);
  return stems > 0;
}

function hasStem(leaf: u32, count: u32, stem: u32): bool {
  for (let at: u32 = 0; at < count; at++) {
    if (load<u32>(leaf + 8 + at * 4) == stem) return true;
  }
  return false;
}
