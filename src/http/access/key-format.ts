// Text form of an API key: tr_<env>_<key id: 10 base62>_<secret: 43 base62><crc32: 6 base62>. The
// checksum covers everything before it, so a mistyped key is refused without a look-up and scanners
// for leaked secrets have something to verify.
import { randomBytes } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_ID_LENGTH = 10;
/** 43 base62 digits hold 256 bits. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PREFIX = "tr_";
const UNDERSCORE = 0x5f;
const ENVIRONMENT_LENGTH_MIN = 2;
const ENVIRONMENT_LENGTH_MAX = 8;
const CRC_TABLE = makeCrcTable();

export interface ApiKeyParts {
  keyId: string;
  secret: string;
}

/** A new key for `environment` (2 to 8 lower-case letters). Its text exists only here. */
export function generateApiKey(environment: string): ApiKeyParts & { text: string } {
  return generateKeySecret(environment, generateBase62Digits(KEY_ID_LENGTH));
}

/** A new secret for the key of this id. */
export function generateKeySecret(
  environment: string,
  keyId: string,
): ApiKeyParts & { text: string } {
  const secret = generateBase62Digits(SECRET_LENGTH);
  const covered = `tr_${environment}_${keyId}_${secret}`;
  return { keyId, secret, text: covered + computeKeyChecksum(covered, covered.length) };
}

/**
 * The parts of a key whose form and checksum are correct, else undefined. Looks nothing up. The
 * characters in between need no check of their own: the checksum covers them and only real ids are
 * found.
 */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const checksumAt = text.length - CHECKSUM_LENGTH;
  const secretAt = checksumAt - SECRET_LENGTH;
  const keyIdAt = secretAt - 1 - KEY_ID_LENGTH;
  const environmentLength = keyIdAt - 1 - PREFIX.length;
  if (environmentLength < ENVIRONMENT_LENGTH_MIN || environmentLength > ENVIRONMENT_LENGTH_MAX) {
    return undefined;
  }
  const isFramed =
    text.startsWith(PREFIX) &&
    text.charCodeAt(keyIdAt - 1) === UNDERSCORE &&
    text.charCodeAt(secretAt - 1) === UNDERSCORE;
  if (!isFramed || text.slice(checksumAt) !== computeKeyChecksum(text, checksumAt))
    return undefined;
  return { keyId: text.slice(keyIdAt, secretAt - 1), secret: text.slice(secretAt, checksumAt) };
}

/** Base62 of the CRC of the first `length` characters. */
function computeKeyChecksum(text: string, length: number): string {
  let rest = computeCrc32(text, length);
  let digits = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    digits = (DIGITS[rest % 62] as string) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** CRC-32 (IEEE 802.3) of the first `length` characters, unsigned. */
function computeCrc32(text: string, length: number): number {
  let crc = 0xffff_ffff;
  for (let index = 0; index < length; index += 1) {
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

/**
 * Uniform base62 digits: bytes of 248 and above are drawn again, or low digits would be likelier.
 */
function generateBase62Digits(count: number): string {
  let digits = "";
  while (digits.length < count) {
    for (const byte of randomBytes(count)) {
      if (byte < 248 && digits.length < count) digits += DIGITS[byte % 62];
    }
  }
  return digits;
}

const BEARER = /^bearer +/i;

/** Credentials of a header whose scheme is Bearer, in any case and with any number of blanks. */
export function readBearerToken(header: string): string | undefined {
  const found = BEARER.exec(header);
  return found === null ? undefined : header.slice(found[0].length);
}
