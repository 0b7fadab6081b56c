// Character reader of the text through the folding table. A unit is a UTF-16 code unit; a pair
// counts only if it is a mathematical letter or digit (a favourite disguise).
import { FOLD_PAIRS, GROUNDING_CAPITALS, GROUNDING_FOLDS, PAIR_HIGH } from "./layout.ts";

/** Bytes of the character at `address`: two, or four for a pair. */
export function widthAt(address: u32, end: u32): u32 {
  if (<u32>load<u16>(address) != PAIR_HIGH || address + 2 >= end) return 2;
  return (load<u16>(address, 2) & 0xfc00) == 0xdc00 ? 4 : 2;
}

/** Place in the folding table of the character at `address`. */
export function placeAt(address: u32, end: u32): u32 {
  if (widthAt(address, end) == 2) return <u32>load<u16>(address);
  return FOLD_PAIRS + <u32>(load<u16>(address, 2) & 0x3ff);
}

/** Fold of a character: separator, ignored, digit or folded letter; separator at the end. */
export function foldAt(address: u32, end: u32): u32 {
  if (address >= end) return 0;
  const unit = <u32>load<u16>(address);
  if (unit != PAIR_HIGH) return <u32>load<u16>(GROUNDING_FOLDS + unit * 2);
  return <u32>load<u16>(GROUNDING_FOLDS + placeAt(address, end) * 2);
}

/** Whether the character at `address` is an upper-case or title-case letter. */
export function isCapitalAt(address: u32, end: u32): bool {
  const place = placeAt(address, end);
  return ((load<u8>(GROUNDING_CAPITALS + (place >> 3)) >> <u8>(place & 7)) & 1) != 0;
}

export function isDigit(fold: u32): bool {
  return fold - 0x30 < 10;
}

/** Scripts without spaces between words. */
export function isIdeograph(fold: u32): bool {
  return fold - 0x3040 < 0xc0 || fold - 0x3400 < 0x6c00;
}

/** Letters that join into words. */
export function isJoined(fold: u32): bool {
  return fold > 0x39 && !isIdeograph(fold);
}

/** Greek, Cyrillic, Armenian: scripts with letters that look like Latin ones. */
export function isForeign(unit: u32): bool {
  return unit - 0x370 < 0x220;
}

export function isApostrophe(unit: u32): bool {
  return unit == 0x27 || unit == 0x2019;
}

/** Separators before a capital letter that marks no name: stops, quotes, bullets, lines. */
export function isStarter(unit: u32): bool {
  if (unit < 0x80) {
    // \n \r ! " # ' * . : ; ? [ ] |
    const low: u64 = 0x8c00448e00002400;
    const high: u64 = 0x1000000028000000;
    return (((unit < 64 ? low : high) >> <u64>(unit & 63)) & 1) != 0;
  }
  if (unit == 0xab || unit == 0xbb || unit == 0x2022) return true;
  return unit - 0x2018 < 2 || unit - 0x201c < 2 || isFullStop(unit);
}

/** Ideographic full stop and full-width marks: they end a sentence without a space. */
export function isFullStop(unit: u32): bool {
  return unit == 0x3002 || unit == 0xff01 || unit == 0xff1f;
}
