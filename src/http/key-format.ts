// The text of an API key: tr_<env>_<key id: 10 base62>_<secret: 43 base62><crc32: 6 base62>. The
// checksum covers everything before it, so a mistyped key is refused without a lookup and scanners
// for leaked secrets have something to verify.
import { randomBytes } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_ID_LENGTH = 10;
/** 43 base62 digits hold 256 bits. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const KEY = /^tr_([a-z]{2,8})_([0-9A-Za-z]{10})_([0-9A-Za-z]{49})$/;
const KEY_LENGTH_MAX = 3 + 8 + 1 + KEY_ID_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH;
const CRC_TABLE = makeCrcTable();

export interface ParsedKey {
  keyId: string;
  secret: string;
}

/** A new key for `environment` (2 to 8 lower-case letters). The only time its text exists. */
export function makeKey(environment: string): ParsedKey & { text: string } {
  const keyId = randomDigits(KEY_ID_LENGTH);
  const secret = randomDigits(SECRET_LENGTH);
  const covered = `tr_${environment}_${keyId}_${secret}`;
  return { keyId, secret, text: covered + checksum(covered) };
}

/** The parts of a key whose checksum holds, else undefined. Looks nothing up. */
export function parseKey(text: string): ParsedKey | undefined {
  if (text.length > KEY_LENGTH_MAX) return undefined;
  const found = KEY.exec(text);
  if (found === null) return undefined;
  const at = text.length - CHECKSUM_LENGTH;
  if (checksum(text.slice(0, at)) !== text.slice(at)) return undefined;
  const keyId = found[2] as string;
  return { keyId, secret: text.slice(at - SECRET_LENGTH, at) };
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    digits = (DIGITS[rest % 62] as string) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** CRC-32 (IEEE 802.3) of ASCII text, unsigned. */
function crc32(text: string): number {
  let crc = 0xffff_ffff;
  for (let index = 0; index < text.length; index += 1) {
    crc = (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] as number) ^ (crc >>> 8);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

function makeCrcTable(): Uint32Array {
  const table = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
    table[byte] = crc;
  }
  return table;
}

/** Uniform base62 digits: bytes of 248 and above are drawn again, or low digits would be likelier. */
function randomDigits(count: number): string {
  let digits = "";
  while (digits.length < count) {
    for (const byte of randomBytes(count)) {
      if (byte < 248 && digits.length < count) digits += DIGITS[byte % 62];
    }
  }
  return digits;
}
