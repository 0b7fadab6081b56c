// Identifiers of published works as source ids (provenance 4, H3): the scheme an id claims, and
// whether it can exist at all. Check digits and shapes only; nothing is looked up.

/** `valid`: could exist. `malformed`: cannot. `doubtful`: unusual; registries hold exceptions. */
export type IdentifierValidity = "valid" | "malformed" | "doubtful";

export interface IdentifierFinding {
  scheme: "isbn" | "issn" | "orcid" | "doi" | "arxiv" | "url" | "hash" | "other";
  validity: IdentifierValidity;
}

/** Crossref's pattern; it misses one to three in a hundred real DOIs, so a miss is no proof. */
const DOI = /^10\.\d{4,9}\/[-._;()/:A-Z0-9]+$/i;
const ARXIV_OLD = /^[a-z-]+(?:\.[A-Z]{2})?\/(\d{2})(\d{2})\d{3}(?:v\d{1,3})?$/;
const ARXIV_NEW = /^(\d{2})(\d{2})\.(\d{4,5})(?:v\d{1,3})?$/;
/** Hex digits by algorithm. */
const DIGEST_LENGTHS = new Map([
  ["md5", 32],
  ["sha1", 40],
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

/** Finding of most ids of a vault's own. Shared, so read only, like every finding. */
const OTHER_SCHEME: IdentifierFinding = { scheme: "other", validity: "valid" };
const SCHEMES = "isbn issn orcid doi arxiv http https md5 sha1 sha256 sha384 sha512".split(" ");
/** Schemes by their length. */
const SCHEMES_BY_LENGTH = Array.from({ length: 7 }, (_, length) =>
  SCHEMES.filter((scheme) => scheme.length === length),
);

/** Whether one of the schemes precedes the colon, in any case. */
function hasKnownScheme(id: string, colon: number): boolean {
  for (const scheme of SCHEMES_BY_LENGTH[colon] ?? []) {
    let at = 0;
    // Digits keep their own bit: `|` turns capitals into small letters and changes no digit.
    while (at < colon && (id.charCodeAt(at) | 0x20) === scheme.charCodeAt(at)) at += 1;
    if (at === colon) return true;
  }
  return false;
}

/**
 * Checks the form of a source id. An id without a known scheme is `other` and valid: vaults name
 * their documents as they like. `now` (epoch ms) bounds arXiv numbers, which carry their month, and
 * is called for those alone.
 */
export function checkSourceId(id: string, now: () => number): IdentifierFinding {
  const colon = id.indexOf(":");
  if (!hasKnownScheme(id, colon)) return OTHER_SCHEME;
  const scheme = colon > 0 ? id.slice(0, colon).toLowerCase() : "";
  const rest = id.slice(colon + 1);
  switch (scheme) {
    case "isbn":
      return { scheme, validity: selectValidity(isIsbn(rest)) };
    case "issn":
      return { scheme, validity: selectValidity(isIssn(rest)) };
    case "orcid":
      return { scheme, validity: selectValidity(isOrcid(rest)) };
    case "doi":
      return { scheme, validity: DOI.test(rest) ? "valid" : "doubtful" };
    case "arxiv":
      return { scheme, validity: selectValidity(isArxiv(rest, now())) };
    case "http":
    case "https":
      return checkUrlId(id, now);
    default: {
      const digits = DIGEST_LENGTHS.get(scheme);
      if (digits === undefined) return { scheme: "other", validity: "valid" };
      return { scheme: "hash", validity: selectValidity(isHexOfLength(rest, digits)) };
    }
  }
}

function selectValidity(isValid: boolean): IdentifierValidity {
  return isValid ? "valid" : "malformed";
}

/** ISBN-13 (978, 979; weights 1 and 3, mod 10) or ISBN-10 (weights 10 to 1, mod 11). */
export function isIsbn(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, "").toUpperCase();
  if (/^97[89]\d{10}$/.test(digits))
    return computeWeightedCheckSum(digits, (at) => (at % 2 === 0 ? 1 : 3)) === 0;
  return /^\d{9}[\dX]$/.test(digits) && computeWeightedCheckSum(digits, (at) => 10 - at, 11) === 0;
}

/** Weights 8 to 1, mod 11. */
export function isIssn(text: string): boolean {
  const digits = text.replaceAll("-", "").toUpperCase();
  return /^\d{7}[\dX]$/.test(digits) && computeWeightedCheckSum(digits, (at) => 8 - at, 11) === 0;
}

/** ISO 7064 mod 11-2. */
export function isOrcid(text: string): boolean {
  const digits = text.replaceAll("-", "").toUpperCase();
  if (!/^\d{15}[\dX]$/.test(digits)) return false;
  let total = 0;
  for (let at = 0; at < 15; at++) total = (total + Number(digits[at])) * 2;
  return (12 - (total % 11)) % 11 === parseCheckDigit(digits[15]!);
}

/** YYMM.NNNN from April 2007, YYMM.NNNNN from 2015; before that archive/YYMMNNN from 1991. */
export function isArxiv(text: string, nowMs: number): boolean {
  const recent = ARXIV_NEW.exec(text);
  const [, year = "", month = "", number = ""] = recent ?? ARXIV_OLD.exec(text) ?? [];
  if (year === "" || Number(month) < 1 || Number(month) > 12) return false;
  const isOldCentury = recent === null && Number(year) >= 91;
  const at = (isOldCentury ? 1900 : 2000) * 12 + Number(year) * 12 + Number(month) - 1;
  const now = new Date(nowMs);
  if (at > now.getUTCFullYear() * 12 + now.getUTCMonth()) return false;
  const began = 2007 * 12 + 3;
  if (recent === null) return at <= began && at >= 1991 * 12;
  return at >= began && number.length === (at < 2015 * 12 ? 4 : 5);
}

/** WHATWG URL with http(s) and a public host; a DOI or arXiv link is checked as its target. */
function checkUrlId(text: string, now: () => number): IdentifierFinding {
  if (!URL.canParse(text)) return { scheme: "url", validity: "malformed" };
  const url = new URL(text);
  // Sources inside an enterprise are real too; from outside, they cannot be checked.
  if (!isPublicHost(url.hostname)) return { scheme: "url", validity: "doubtful" };
  const host = url.hostname.replace(/^(?:www|dx)\./, "");
  if (host === "doi.org")
    return checkSourceId(`doi:${decodePercentEncoding(url.pathname.slice(1))}`, now);
  const paper = /^\/(?:abs|pdf)\/(.+?)(?:\.pdf)?$/.exec(url.pathname);
  if (host === "arxiv.org" && paper !== null) return checkSourceId(`arxiv:${paper[1]}`, now);
  if (host === "orcid.org") return checkSourceId(`orcid:${url.pathname.slice(1)}`, now);
  return { scheme: "url", validity: "valid" };
}

function decodePercentEncoding(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Whether a host is publicly reachable: no bare names, no loopback, private, link-local or test
 * ranges.
 */
export function isPublicHost(host: string): boolean {
  if (host.startsWith("[")) return /^\[[23][\da-f]{3}:/.test(host) && !host.startsWith("[2001:db8");
  if (/^\d+(?:\.\d+){3}$/.test(host)) return isPublicAddress(host.split(".").map(Number));
  if (/(?:^|\.)(?:localhost|local|internal|test|invalid|example|onion)\.?$/.test(host))
    return false;
  return /^(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+\.?$/.test(host);
}

function isPublicAddress([a = 0, b = 0, c = 0]: readonly number[]): boolean {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b < 128) return false;
  if ((a === 169 && b === 254) || (a === 172 && b >= 16 && b < 32)) return false;
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) return false;
  return !(a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100)));
}

function computeWeightedCheckSum(
  digits: string,
  weightOf: (at: number) => number,
  modulus = 10,
): number {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) sum += parseCheckDigit(digits[at]!) * weightOf(at);
  return sum % modulus;
}

function parseCheckDigit(digit: string): number {
  return digit === "X" ? 10 : Number(digit);
}

function isHexOfLength(text: string, length: number): boolean {
  return text.length === length && /^[\da-f]+$/.test(text);
}
