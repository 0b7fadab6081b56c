// Many Ed25519 signatures of a few signers: points are multiplied by way of tables made once for a
// key, without a doubling, and all signatures of a batch share one inversion. The equation is
// OpenSSL's, without a cofactor: R' = s B + h (-A), encoded and compared byte by byte by the
// caller. Public inputs only: nothing here runs in constant time.
import { feAdd, feCopy, feFromBytes, feInvert, feSmall, feSub, feToBytes } from "./field";
import { INPUT, OUTPUT } from "./layout";
import { FE_BYTES, feMul } from "./product";

/*
 * Memory: room for temporaries, the caller's bytes, the points of a batch, then tables.
 *
 * A point (X : Y : Z : T) is four elements. An entry of a table is an affine point as (y + x,
 * y - x, 2dxy). A table holds, for every window of `width` bits of a scalar, the multiples 1 to
 * 2^(width - 1) of the window's point: digits are signed.
 */
const POINT_BYTES: u32 = 4 * FE_BYTES;
const ENTRY_BYTES: u32 = 3 * FE_BYTES;
const ROOM: u32 = 1024;
const ACC: u32 = 2048;
const BASE: u32 = ACC + POINT_BYTES;
const CACHED: u32 = BASE + POINT_BYTES;
const A: u32 = CACHED + POINT_BYTES;
const B: u32 = A + FE_BYTES;
const C: u32 = B + FE_BYTES;
const D2: u32 = C + FE_BYTES;
const PRODUCT: u32 = D2 + FE_BYTES;
const INVERSE: u32 = PRODUCT + FE_BYTES;
const D: u32 = INVERSE + FE_BYTES;
/** Digits of a scalar, 16 bits each. */
const DIGITS: u32 = 4096;
/** Results of a batch: X, Y, Z and a product of each, then 32 bytes of encoding. */
const RESULT_BYTES: u32 = 4 * FE_BYTES;
const RESULTS: u32 = 8192;
/** The z of every entry of a table while it is made: 4,096 elements at most. */
const ZS: u32 = 65536;

/** Sets 2d, from 32 bytes at INPUT; once, before anything else. */
export function begin(): void {
  feFromBytes(D2, INPUT);
}

/** Bytes of a table. */
export function tableBytes(width: u32): u32 {
  return windows(width) * entries(width) * ENTRY_BYTES;
}

function windows(width: u32): u32 {
  // One bit more than a scalar has: the last digit takes the carry.
  return (254 + width - 1) / width;
}

function entries(width: u32): u32 {
  return 1 << (width - 1);
}

/** Makes the table of the point whose x and y are 32 bytes each at INPUT and INPUT + 40. */
export function buildTable(table: u32, width: u32): void {
  const count = entries(width);
  feFromBytes(BASE, INPUT);
  feFromBytes(BASE + FE_BYTES, INPUT + 40);
  feSmall(BASE + 2 * FE_BYTES, 1);
  feMul(BASE + 3 * FE_BYTES, BASE, BASE + FE_BYTES);
  let at = table;
  let z = ZS;
  for (let window: u32 = 0; window < windows(width); window++) {
    cache();
    memory.copy(ACC, BASE, POINT_BYTES);
    for (let multiple: u32 = 1; ; multiple++) {
      memory.copy(at, ACC, 2 * FE_BYTES);
      feCopy(z, ACC + 2 * FE_BYTES);
      at += ENTRY_BYTES;
      z += FE_BYTES;
      if (multiple == count) break;
      addCached();
    }
    // 2^(width - 1) times the window's point is there: doubled, it is the next one's.
    memory.copy(BASE, ACC, POINT_BYTES);
    double();
  }
  normalise(table, windows(width) * count);
}

/** CACHED = (Y + X, Y - X, Z, 2dT) of BASE. */
function cache(): void {
  feAdd(CACHED, BASE + FE_BYTES, BASE);
  feSub(CACHED + FE_BYTES, BASE + FE_BYTES, BASE);
  feCopy(CACHED + 2 * FE_BYTES, BASE + 2 * FE_BYTES);
  feMul(CACHED + 3 * FE_BYTES, BASE + 3 * FE_BYTES, D2);
}

/** From (X : Z), (Y : T) as E = A, G = B, F = C and H = PRODUCT to a point: EF, GH, FG, EH. */
function complete(point: u32): void {
  feMul(point, A, C);
  feMul(point + FE_BYTES, B, PRODUCT);
  feMul(point + 2 * FE_BYTES, C, B);
  feMul(point + 3 * FE_BYTES, A, PRODUCT);
}

/** ACC += CACHED (RFC 8032 §5.1.4). */
function addCached(): void {
  feSub(A, ACC + FE_BYTES, ACC);
  feMul(A, A, CACHED + FE_BYTES);
  feAdd(B, ACC + FE_BYTES, ACC);
  feMul(B, B, CACHED);
  feMul(C, ACC + 3 * FE_BYTES, CACHED + 3 * FE_BYTES);
  feMul(INVERSE, ACC + 2 * FE_BYTES, CACHED + 2 * FE_BYTES);
  feAdd(INVERSE, INVERSE, INVERSE);
  combine(C, INVERSE);
  complete(ACC);
}

/**
 * With A and B the two products and c, d as in the RFC: E = B - A, F = d - c, G = d + c, H = B + A,
 * where `complete` looks for them.
 */
function combine(c: u32, d: u32): void {
  feAdd(PRODUCT, B, A);
  feSub(A, B, A);
  feAdd(B, d, c);
  feSub(C, d, c);
}

/** BASE = 2 BASE (RFC 8032 §5.1.4). */
function double(): void {
  const x = BASE;
  const y = BASE + FE_BYTES;
  feAdd(INVERSE, x, y);
  feMul(INVERSE, INVERSE, INVERSE);
  feMul(A, x, x);
  feMul(B, y, y);
  feMul(C, BASE + 2 * FE_BYTES, BASE + 2 * FE_BYTES);
  feAdd(C, C, C);
  // H = A + B, E = H - (x + y)^2, G = A - B, F = C + G: two sums of a sum are carried first.
  feAdd(PRODUCT, A, B);
  feSub(B, A, B);
  feSub(A, PRODUCT, INVERSE);
  carry(A);
  feAdd(C, C, B);
  carry(C);
  complete(BASE);
}

/** Brings the limbs of a sum of sums back into bounds. */
function carry(f: u32): void {
  feSmall(INVERSE, 1);
  feMul(f, f, INVERSE);
}

/** Turns (x, y) with its z into (y + x, y - x, 2dxy) of the affine point, for all at once. */
function normalise(table: u32, count: u32): void {
  // Products of all before each go where 2dxy will be: one inversion serves them all.
  feSmall(PRODUCT, 1);
  for (let index: u32 = 0; index < count; index++) {
    feCopy(table + index * ENTRY_BYTES + 2 * FE_BYTES, PRODUCT);
    feMul(PRODUCT, PRODUCT, ZS + index * FE_BYTES);
  }
  feInvert(INVERSE, PRODUCT, ROOM);
  for (let left = count; left > 0; left--) {
    const entry = table + (left - 1) * ENTRY_BYTES;
    feMul(A, INVERSE, entry + 2 * FE_BYTES);
    feMul(INVERSE, INVERSE, ZS + (left - 1) * FE_BYTES);
    feMul(B, entry, A);
    feMul(C, entry + FE_BYTES, A);
    feMul(A, B, C);
    feMul(entry + 2 * FE_BYTES, A, D2);
    feAdd(PRODUCT, C, B);
    feSub(entry + FE_BYTES, C, B);
    feCopy(entry, PRODUCT);
  }
}

/** Signed digits of the 32 bytes at `scalar`, which is below 2^253; 8 bytes behind are read. */
function recode(scalar: u32, width: u32): void {
  const half = 1 << (width - 1);
  let carried: u32 = 0;
  for (let window: u32 = 0; window < windows(width); window++) {
    const bit = window * width;
    const word = load<u32>(scalar + (bit >> 3)) >> (bit & 7);
    let digit = <i32>((word & ((1 << width) - 1)) + carried);
    carried = digit > half ? 1 : 0;
    digit -= <i32>(carried << width);
    store<i16>(DIGITS + (window << 1), <i16>digit);
  }
}

/** ACC += digit times the point of each window, for the digits at DIGITS. */
function addTable(table: u32, width: u32): void {
  const count = entries(width);
  for (let window: u32 = 0; window < windows(width); window++) {
    const digit = <i32>load<i16>(DIGITS + (window << 1));
    if (digit == 0) continue;
    const multiple = <u32>(digit < 0 ? -digit : digit);
    const entry = table + (window * count + multiple - 1) * ENTRY_BYTES;
    // The negative of a point has y + x and y - x change places, and 2dxy its sign.
    const plus = digit < 0 ? entry + FE_BYTES : entry;
    const minus = digit < 0 ? entry : entry + FE_BYTES;
    feSub(A, ACC + FE_BYTES, ACC);
    feMul(A, A, minus);
    feAdd(B, ACC + FE_BYTES, ACC);
    feMul(B, B, plus);
    feMul(INVERSE, ACC + 3 * FE_BYTES, entry + 2 * FE_BYTES);
    feAdd(D, ACC + 2 * FE_BYTES, ACC + 2 * FE_BYTES);
    if (digit < 0) {
      feAdd(PRODUCT, B, A);
      feSub(A, B, A);
      feSub(B, D, INVERSE);
      feAdd(C, D, INVERSE);
    } else {
      combine(INVERSE, D);
    }
    complete(ACC);
  }
}

/**
 * The point s B + h P as result `index` of a batch, where s and h are 32 bytes each at INPUT and
 * INPUT + 40, below the order of B, and the tables are those of B and P.
 */
export function multiply(index: u32, tableB: u32, widthB: u32, tableP: u32, widthP: u32): void {
  feSmall(ACC, 0);
  feSmall(ACC + FE_BYTES, 1);
  feSmall(ACC + 2 * FE_BYTES, 1);
  feSmall(ACC + 3 * FE_BYTES, 0);
  recode(INPUT, widthB);
  addTable(tableB, widthB);
  recode(INPUT + 40, widthP);
  addTable(tableP, widthP);
  memory.copy(RESULTS + index * RESULT_BYTES, ACC, 3 * FE_BYTES);
}

/** Encodes the first `count` results (RFC 8032 §5.1.2), 32 bytes each from OUTPUT on. */
export function encode(count: u32): void {
  feSmall(PRODUCT, 1);
  for (let index: u32 = 0; index < count; index++) {
    const result = RESULTS + index * RESULT_BYTES;
    feCopy(result + 3 * FE_BYTES, PRODUCT);
    feMul(PRODUCT, PRODUCT, result + 2 * FE_BYTES);
  }
  feInvert(INVERSE, PRODUCT, ROOM);
  for (let left = count; left > 0; left--) {
    const result = RESULTS + (left - 1) * RESULT_BYTES;
    feMul(A, INVERSE, result + 3 * FE_BYTES);
    feMul(INVERSE, INVERSE, result + 2 * FE_BYTES);
    feMul(B, result, A);
    feMul(C, result + FE_BYTES, A);
    feToBytes(ROOM, B);
    const sign = load<u8>(ROOM) & 1;
    feToBytes(ROOM, C);
    store<u8>(ROOM + 31, load<u8>(ROOM + 31) | (sign << 7));
    memory.copy(OUTPUT + (left - 1) * 32, ROOM, 32);
  }
}
