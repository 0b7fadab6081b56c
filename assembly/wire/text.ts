// Character classes of a text, by address.

/** The address of the first byte that is a quote or may not stand in a plain string. */
export function endOfPlain(from: u32): u32 {
  let to = from;
  while (true) {
    const bytes = v128.load(to);
    const unusual = v128.or(
      v128.or(i8x16.lt_s(bytes, i8x16.splat(0x20)), i8x16.eq(bytes, i8x16.splat(0x7f))),
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
    );
    const mask = i8x16.bitmask(unusual);
    if (mask != 0) return to + <u32>ctz<i32>(mask);
    to += 16;
  }
}

/** SPEC §2.2: `<domain>.<operation>`, two segments or more of `[A-Za-z0-9_-]`. */
export function isAction(start: u32, end: u32): bool {
  let segment = start;
  let dots = 0;
  for (let index = start; index < end; index++) {
    const code: u32 = load<u8>(index);
    if (code == 0x2e) {
      if (index == segment) return false;
      dots++;
      segment = index + 1;
    } else {
      const isLetter = (code | 0x20) - 0x61 < 26;
      if (!isLetter && code - 0x30 >= 10 && code != 0x5f && code != 0x2d) return false;
    }
  }
  return dots > 0 && segment < end;
}

/** Number of lower-case hex digits from `start`, sixteen at a time. */
export function isHex(start: u32, end: u32): bool {
  for (let index = start; index < end; index += 16) {
    const bytes = v128.load(index);
    const digits = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
    const letters = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x61)), i8x16.splat(6));
    if (!i8x16.all_true(v128.or(digits, letters))) return false;
  }
  return true;
}
