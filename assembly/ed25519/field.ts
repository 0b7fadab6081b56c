// The field of Curve25519 (integers mod 2^255 - 19) but for its multiplication (product.ts): sums,
// the inverse, and the way to bytes and back. Public inputs only: nothing here runs in constant
// time.
import { FE_BYTES, feMul } from "./product";

function get(f: u32, limb: u32): i64 {
  return <i64>load<i32>(f + (limb << 2));
}

/** h = f + g. */
export function feAdd(h: u32, f: u32, g: u32): void {
  for (let at: u32 = 0; at < FE_BYTES; at += 4) {
    store<i32>(h + at, load<i32>(f + at) + load<i32>(g + at));
  }
}

/** h = f - g. */
export function feSub(h: u32, f: u32, g: u32): void {
  for (let at: u32 = 0; at < FE_BYTES; at += 4) {
    store<i32>(h + at, load<i32>(f + at) - load<i32>(g + at));
  }
}

export function feCopy(h: u32, f: u32): void {
  memory.copy(h, f, FE_BYTES);
}

export function feSmall(h: u32, value: i32): void {
  memory.fill(h, 0, FE_BYTES);
  store<i32>(h, value);
}

/** h = f to the power of two to the power of `count`. */
function feSquares(h: u32, f: u32, count: i32): void {
  feMul(h, f, f);
  for (let done = 1; done < count; done++) feMul(h, h, h);
}

/** h = 1 / f, as f to the power of p - 2; h is not f. Needs room for three elements at `room`. */
export function feInvert(h: u32, f: u32, room: u32): void {
  const a = room;
  const b = room + FE_BYTES;
  const c = room + 2 * FE_BYTES;
  feMul(a, f, f); // 2
  feSquares(b, a, 2); // 8
  feMul(b, f, b); // 9
  feMul(a, a, b); // 11
  feMul(c, a, a); // 22
  feMul(b, b, c); // 2^5 - 1
  feSquares(c, b, 5);
  feMul(b, c, b); // 2^10 - 1
  feSquares(c, b, 10);
  feMul(c, c, b); // 2^20 - 1
  feSquares(h, c, 20);
  feMul(c, h, c); // 2^40 - 1
  feSquares(c, c, 10);
  feMul(b, c, b); // 2^50 - 1
  feSquares(c, b, 50);
  feMul(c, c, b); // 2^100 - 1
  feSquares(h, c, 100);
  feMul(c, h, c); // 2^200 - 1
  feSquares(c, c, 50);
  feMul(b, c, b); // 2^250 - 1
  feSquares(b, b, 5);
  feMul(h, b, a); // 2^255 - 21
}

/** Where limb `limb` begins among the bits of a number: 0, 26, 51, 77, ... */
function bitOf(limb: u32): u32 {
  return (limb * 51 + 1) >> 1;
}

/** The element in 32 little-endian bytes below p. Reads 8 bytes behind them. */
export function feFromBytes(h: u32, bytes: u32): void {
  for (let limb: u32 = 0; limb < 10; limb++) {
    const bit = bitOf(limb);
    const width = bitOf(limb + 1) - bit;
    const word = load<u64>(bytes + (bit >> 3)) >> (bit & 7);
    store<i32>(h + (limb << 2), <i32>(word & ((1 << width) - 1)));
  }
}

/** The one canonical form in 32 little-endian bytes; writes 8 bytes behind them. */
export function feToBytes(bytes: u32, f: u32): void {
  // How many times p is in it, as ref10 finds out: by the carry of 19 f + 2^24.
  let quotient: i64 = (19 * get(f, 9) + (1 << 24)) >> 25;
  for (let limb: u32 = 0; limb < 10; limb++) {
    quotient = (get(f, limb) + quotient) >> (bitOf(limb + 1) - bitOf(limb));
  }
  let carry: i64 = 19 * quotient;
  memory.fill(bytes, 0, 40);
  for (let limb: u32 = 0; limb < 10; limb++) {
    const bit = bitOf(limb);
    const width = bitOf(limb + 1) - bit;
    const value = get(f, limb) + carry;
    carry = value >> width;
    const place = bytes + (bit >> 3);
    const low = <u64>(value & ((1 << width) - 1));
    store<u64>(place, load<u64>(place) | (low << (bit & 7)));
  }
}
