// Stemmer and hash of words in the thread's word buffer: stemming in place, FNV-1a over UTF-16
// units.
import { SCRATCH_WORD } from "./layout.ts";

export const FNV_BASIS: u32 = 0x811c9dc5;
const FNV_PRIME: u32 = 0x01000193;

const D: u32 = 0x64;
const E: u32 = 0x65;
const G: u32 = 0x67;
const I: u32 = 0x69;
const L: u32 = 0x6c;
const N: u32 = 0x6e;
const S: u32 = 0x73;
const Y: u32 = 0x79;
const Z: u32 = 0x7a;

/** One more unit of an FNV-1a hash. */
export function hashUnit(hash: u32, unit: u32): u32 {
  return (hash ^ unit) * FNV_PRIME;
}

/** Hash of the first `length` units of the word buffer. */
export function hashWord(scratch: u32, length: u32): u32 {
  let hash = FNV_BASIS;
  for (let at: u32 = 0; at < length; at++) hash = hashUnit(hash, unitAt(scratch, at));
  return hash;
}

function unitAt(scratch: u32, at: u32): u32 {
  return <u32>load<u16>(scratch + SCRATCH_WORD + at * 2);
}

/**
 * Conflates inflections in place and returns the length that is left: studies, studied -> study;
 * makes, making, make -> mak. A stem need not be a word, only the same for all its forms.
 */
export function stemWord(scratch: u32, length: u32): u32 {
  let n = length;
  if (n > 4) n = withoutSuffix(scratch, n);
  if (n > 3 && unitAt(scratch, n - 1) == S && unitAt(scratch, n - 2) != S) n -= 1;
  if (n > 3 && unitAt(scratch, n - 1) == E) n -= 1;
  return n;
}

function withoutSuffix(scratch: u32, n: u32): u32 {
  const last = unitAt(scratch, n - 1);
  const second = unitAt(scratch, n - 2);
  const third = unitAt(scratch, n - 3);
  if (third == I && second == E && (last == S || last == D)) {
    store<u16>(scratch + SCRATCH_WORD + (n - 3) * 2, <u16>Y);
    return n - 2;
  }
  if (n > 5 && third == I && second == N && last == G) return single(scratch, n - 3);
  if (second == E && last == D) return single(scratch, n - 2);
  if (second == L && last == Y) return n - 2;
  return n;
}

/** Undoes a doubled final consonant: stopp -> stop, but call, pass and buzz stay. */
function single(scratch: u32, n: u32): u32 {
  const last = unitAt(scratch, n - 1);
  if (last != unitAt(scratch, n - 2)) return n;
  return last == L || last == S || last == Z ? n : n - 1;
}
