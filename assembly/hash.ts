// XXH64 of short byte strings (the 32-byte stripe path is left out: identifiers are short, and
// one lane keeps the code small), keyed by the table's seed so that slots cannot be predicted.

const P1: u64 = 0x9e3779b185ebca87;
const P2: u64 = 0xc2b2ae3d27d4eb4f;
const P3: u64 = 0x165667b19e3779f9;
const P4: u64 = 0x85ebca77c2b2ae63;
const P5: u64 = 0x27d4eb2f165667c5;

/** 64-bit hash of `length` bytes at `address`. */
export function hashBytes(address: u32, length: u32, seed: u64): u64 {
  let h: u64 = seed + P5 + <u64>length;
  let p = address;
  const end = address + length;
  while (p + 8 <= end) {
    h ^= rotl<u64>(load<u64>(p) * P2, 31) * P1;
    h = rotl<u64>(h, 27) * P1 + P4;
    p += 8;
  }
  if (p + 4 <= end) {
    h ^= <u64>load<u32>(p) * P1;
    h = rotl<u64>(h, 23) * P2 + P3;
    p += 4;
  }
  while (p < end) {
    h ^= <u64>load<u8>(p) * P5;
    h = rotl<u64>(h, 11) * P1;
    p += 1;
  }
  return finalise(h);
}

/** Avalanche of one word: spreads the pair map's keys. */
export function finalise(word: u64): u64 {
  let h = word;
  h ^= h >> 33;
  h *= P2;
  h ^= h >> 29;
  h *= P3;
  h ^= h >> 32;
  return h;
}

/** Whether two byte strings of equal length are the same. */
export function equalBytes(left: u32, right: u32, length: u32): bool {
  let i: u32 = 0;
  while (i + 8 <= length) {
    if (load<u64>(left + i) != load<u64>(right + i)) return false;
    i += 8;
  }
  // The last eight bytes overlap what was compared; only shorter strings go byte by byte.
  if (length >= 8) return load<u64>(left + length - 8) == load<u64>(right + length - 8);
  while (i < length) {
    if (load<u8>(left + i) != load<u8>(right + i)) return false;
    i += 1;
  }
  return true;
}
