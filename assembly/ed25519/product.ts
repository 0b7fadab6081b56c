// A product in the field of Curve25519: an element is ten signed limbs of 26 and 25 bits by turns,
// in 32-bit words, as in the reference implementation (ref10).
//
// Bounds: limbs that `feMul` gives, and sums or differences of two or three such elements, may be
// multiplied; larger sums may not.

/** Bytes of an element in memory. */
export const FE_BYTES: u32 = 40;

function get(f: u32, limb: u32): i64 {
  return <i64>load<i32>(f + (limb << 2));
}

function put(f: u32, limb: u32, value: i64): void {
  store<i32>(f + (limb << 2), <i32>value);
}

/** h = f * g. They may be one and the same. */
export function feMul(h: u32, f: u32, g: u32): void {
  const f0 = get(f, 0);
  const f1 = get(f, 1);
  const f2 = get(f, 2);
  const f3 = get(f, 3);
  const f4 = get(f, 4);
  const f5 = get(f, 5);
  const f6 = get(f, 6);
  const f7 = get(f, 7);
  const f8 = get(f, 8);
  const f9 = get(f, 9);
  const g0 = get(g, 0);
  const g1 = get(g, 1);
  const g2 = get(g, 2);
  const g3 = get(g, 3);
  const g4 = get(g, 4);
  const g5 = get(g, 5);
  const g6 = get(g, 6);
  const g7 = get(g, 7);
  const g8 = get(g, 8);
  const g9 = get(g, 9);
  const t1 = 19 * g1;
  const t2 = 19 * g2;
  const t3 = 19 * g3;
  const t4 = 19 * g4;
  const t5 = 19 * g5;
  const t6 = 19 * g6;
  const t7 = 19 * g7;
  const t8 = 19 * g8;
  const t9 = 19 * g9;
  const d1 = 2 * f1;
  const d3 = 2 * f3;
  const d5 = 2 * f5;
  const d7 = 2 * f7;
  const d9 = 2 * f9;
  const h0 =
    f0 * g0 +
    d1 * t9 +
    f2 * t8 +
    d3 * t7 +
    f4 * t6 +
    d5 * t5 +
    f6 * t4 +
    d7 * t3 +
    f8 * t2 +
    d9 * t1;
  const h1 =
    f0 * g1 +
    f1 * g0 +
    f2 * t9 +
    f3 * t8 +
    f4 * t7 +
    f5 * t6 +
    f6 * t5 +
    f7 * t4 +
    f8 * t3 +
    f9 * t2;
  const h2 =
    f0 * g2 +
    d1 * g1 +
    f2 * g0 +
    d3 * t9 +
    f4 * t8 +
    d5 * t7 +
    f6 * t6 +
    d7 * t5 +
    f8 * t4 +
    d9 * t3;
  const h3 =
    f0 * g3 +
    f1 * g2 +
    f2 * g1 +
    f3 * g0 +
    f4 * t9 +
    f5 * t8 +
    f6 * t7 +
    f7 * t6 +
    f8 * t5 +
    f9 * t4;
  const h4 =
    f0 * g4 +
    d1 * g3 +
    f2 * g2 +
    d3 * g1 +
    f4 * g0 +
    d5 * t9 +
    f6 * t8 +
    d7 * t7 +
    f8 * t6 +
    d9 * t5;
  const h5 =
    f0 * g5 +
    f1 * g4 +
    f2 * g3 +
    f3 * g2 +
    f4 * g1 +
    f5 * g0 +
    f6 * t9 +
    f7 * t8 +
    f8 * t7 +
    f9 * t6;
  const h6 =
    f0 * g6 +
    d1 * g5 +
    f2 * g4 +
    d3 * g3 +
    f4 * g2 +
    d5 * g1 +
    f6 * g0 +
    d7 * t9 +
    f8 * t8 +
    d9 * t7;
  const h7 =
    f0 * g7 +
    f1 * g6 +
    f2 * g5 +
    f3 * g4 +
    f4 * g3 +
    f5 * g2 +
    f6 * g1 +
    f7 * g0 +
    f8 * t9 +
    f9 * t8;
  const h8 =
    f0 * g8 +
    d1 * g7 +
    f2 * g6 +
    d3 * g5 +
    f4 * g4 +
    d5 * g3 +
    f6 * g2 +
    d7 * g1 +
    f8 * g0 +
    d9 * t9;
  const h9 =
    f0 * g9 +
    f1 * g8 +
    f2 * g7 +
    f3 * g6 +
    f4 * g5 +
    f5 * g4 +
    f6 * g3 +
    f7 * g2 +
    f8 * g1 +
    f9 * g0;
  reduce(h, h0, h1, h2, h3, h4, h5, h6, h7, h8, h9);
}

/** Carries ten wide limbs into an element: 26 and 25 bits, signed, by turns. */
function reduce(
  h: u32,
  w0: i64,
  w1: i64,
  w2: i64,
  w3: i64,
  w4: i64,
  w5: i64,
  w6: i64,
  w7: i64,
  w8: i64,
  w9: i64,
): void {
  let carry: i64;
  carry = (w0 + (1 << 25)) >> 26;
  w1 += carry;
  w0 -= carry << 26;
  carry = (w4 + (1 << 25)) >> 26;
  w5 += carry;
  w4 -= carry << 26;
  carry = (w1 + (1 << 24)) >> 25;
  w2 += carry;
  w1 -= carry << 25;
  carry = (w5 + (1 << 24)) >> 25;
  w6 += carry;
  w5 -= carry << 25;
  carry = (w2 + (1 << 25)) >> 26;
  w3 += carry;
  w2 -= carry << 26;
  carry = (w6 + (1 << 25)) >> 26;
  w7 += carry;
  w6 -= carry << 26;
  carry = (w3 + (1 << 24)) >> 25;
  w4 += carry;
  w3 -= carry << 25;
  carry = (w7 + (1 << 24)) >> 25;
  w8 += carry;
  w7 -= carry << 25;
  carry = (w4 + (1 << 25)) >> 26;
  w5 += carry;
  w4 -= carry << 26;
  carry = (w8 + (1 << 25)) >> 26;
  w9 += carry;
  w8 -= carry << 26;
  carry = (w9 + (1 << 24)) >> 25;
  w0 += carry * 19;
  w9 -= carry << 25;
  carry = (w0 + (1 << 25)) >> 26;
  w1 += carry;
  w0 -= carry << 26;
  put(h, 0, w0);
  put(h, 1, w1);
  put(h, 2, w2);
  put(h, 3, w3);
  put(h, 4, w4);
  put(h, 5, w5);
  put(h, 6, w6);
  put(h, 7, w7);
  put(h, 8, w8);
  put(h, 9, w9);
}
