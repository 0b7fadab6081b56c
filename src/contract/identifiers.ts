// The textual forms of the wire: agent identifiers, actions, hashes, tokens; and the key by which the
// agent table knows an agent. One pass over the characters each; nothing is trimmed, folded or
// normalised on the way in: a text that would be an agent identifier only after that is refused.
import { ServiceFault } from "./faults.ts";
import {
  ACTION_LENGTH_MAX,
  AGENT_ID_BYTES_MAX,
  AGENT_SEGMENT_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
} from "./limits.ts";

const SCHEME = "agent://";
/** Begins the keys of agents that are named by plain text. */
const PLAIN_PREFIX = "plain:";
const ANY_NAME = "/*";
const SLASH = 0x2f;
const DOT = 0x2e;
const SPACE = 0x20;
const PERCENT = 0x25;
const CASE_BIT = 0x20;
/** Begins whatever may be taken for an agent identifier. */
const ANY_SCHEME = "agent:";
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

const SEGMENT = 1;
const ACTION = 2;
const TOKEN = 4;

/** Which ASCII characters may stand in which form, one bit each. */
const CHARACTER_CLASSES = new Uint8Array(128);
const LETTERS_AND_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
allowCharacters(`${LETTERS_AND_DIGITS}._~-`, SEGMENT);
allowCharacters(`${LETTERS_AND_DIGITS}_-`, ACTION);
allowCharacters(`${LETTERS_AND_DIGITS}._~:/+=@-`, TOKEN);

function allowCharacters(characters: string, bit: number): void {
  for (const character of characters) {
    const code = character.charCodeAt(0);
    CHARACTER_CLASSES[code] = (CHARACTER_CLASSES[code] as number) | bit;
  }
}

/**
 * SPEC §2.1: `agent://<namespace>/<name>`, segments of 1 to 128 characters of `[A-Za-z0-9._~-]`.
 * SPEC §2.1 is silent on length and deeper names: a name may hold more segments, 512 bytes in all.
 * No segment is `.` or `..`: whoever resolves a path would read another name.
 */
export function isAgentId(value: unknown): value is string {
  if (typeof value !== "string" || value.length > AGENT_ID_BYTES_MAX) return false;
  if (!value.startsWith(SCHEME)) return false;
  let segments = 1;
  let start = SCHEME.length;
  for (let index = start; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code === SLASH) {
      if (index === start || index - start > AGENT_SEGMENT_LENGTH_MAX) return false;
      if (isDotSegment(value, start, index)) return false;
      segments += 1;
      start = index + 1;
    } else if (code > 127 || ((CHARACTER_CLASSES[code] as number) & SEGMENT) === 0) {
      return false;
    }
  }
  const last = value.length - start;
  if (segments === 1 || last === 0 || last > AGENT_SEGMENT_LENGTH_MAX) return false;
  return !isDotSegment(value, start, value.length);
}

/** Whether `.` or `..` stands from `start` to `end`. */
function isDotSegment(value: string, start: number, end: number): boolean {
  if (end - start > 2 || value.charCodeAt(start) !== DOT) return false;
  return end - start === 1 || value.charCodeAt(start + 1) === DOT;
}

/**
 * The namespace itself.
 * @throws ServiceFault `invalid_parameter` when no agent could be in it.
 */
export function parseNamespace(value: string): string {
  if (!value.includes("/") && isAgentId(`${SCHEME}${value}/x`)) return value;
  const detail = "a namespace is 1 to 128 characters of letters, digits and `._~-`";
  throw new ServiceFault("invalid_parameter", detail);
}

/** The identifier itself, or ServiceFault `invalid_parameter`. For identifiers outside bodies. */
export function parseAgentId(value: string): string {
  if (isAgentId(value)) return value;
  throw new ServiceFault("invalid_parameter", `agent identifier ${describeAgentIdFault(value)}`);
}

/**
 * A line of text of 1 to `bytesMax` bytes without control characters or lone surrogates. SPEC §2.1:
 * the `agent_id` of verify is such a plain string, used as it is.
 */
export function isPlainText(value: unknown, bytesMax: number): value is string {
  if (typeof value !== "string" || value.length === 0 || value.length > bytesMax) return false;
  let isAscii = true;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
    if (code > 0x7f) isAscii = false;
  }
  return isAscii || (value.isWellFormed() && Buffer.byteLength(value) <= bytesMax);
}

/**
 * An agent that is scored: an agent identifier, or any other line of text as SPEC §2.1 has it for
 * verify. What begins with `agent://`, or would after `resemblesAgentId` has read it, must have the
 * form: a slip of the pen is no agent of its own.
 */
export function isScoredId(value: unknown): value is string {
  if (typeof value !== "string") return false;
  if (value.startsWith(SCHEME)) return isAgentId(value);
  return isPlainText(value, AGENT_ID_BYTES_MAX) && !resemblesAgentId(value);
}

/** The identifier itself, or ServiceFault `invalid_parameter`. */
export function parseScoredId(value: string): string {
  if (isScoredId(value)) return value;
  throw new ServiceFault("invalid_parameter", `agent identifier ${describeScoredIdFault(value)}`);
}

/**
 * A name to read by, which may have been recorded before its form was refused: any line of text. Where
 * nothing is found under it, `parseScoredId` says what is wrong with it.
 * @throws ServiceFault `invalid_parameter` when it is no line of text.
 */
export function parseRecordedId(value: string): string {
  return isPlainText(value, AGENT_ID_BYTES_MAX) ? value : parseScoredId(value);
}

/**
 * Whether a text reads like an agent identifier that is none: percent-decoded once, in Unicode's form
 * NFKC, without white space at its ends and without invisible characters it begins with `agent:` in
 * any case. ASCII is looked at only as far as it agrees, and nothing is allocated for it.
 */
export function resemblesAgentId(value: string): boolean {
  let index = 0;
  while (value.charCodeAt(index) === SPACE) index += 1;
  for (let expected = 0; expected < ANY_SCHEME.length; expected += 1) {
    const code = value.charCodeAt(index + expected);
    if (code === PERCENT || code > 127) return foldText(value).toLowerCase().startsWith(ANY_SCHEME);
    // Its capital differs from a letter in one bit; no other character becomes a colon by it.
    if ((code | CASE_BIT) !== ANY_SCHEME.charCodeAt(expected)) return false;
  }
  return true;
}

/** The text percent-decoded once, in form NFKC, without invisible characters and space at its ends. */
function foldText(value: string): string {
  const decoded = value.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll("%", ""), "hex").toString(),
  );
  return decoded.normalize("NFKC").replaceAll(INVISIBLE, "").trim();
}

/** What is wrong with a text that is no agent identifier, and the identifier that it may stand for. */
export function describeAgentIdFault(value: string): string {
  const form = "must be an agent identifier, `agent://namespace/name`";
  if (!resemblesAgentId(value)) return form;
  const meant = SCHEME + foldText(value).slice(ANY_SCHEME.length).replace(/^\/+/, "");
  if (meant !== value && isAgentId(meant)) return `${form}; meant may be \`${meant}\``;
  const isPath = /\/\.{0,2}(?:\/|$)/.test(value.slice(SCHEME.length - 1));
  return isPath ? `${form}, without an empty segment, \`.\` or \`..\`` : form;
}

/** As `describeAgentIdFault`, of a text that is no scored agent's name. */
export function describeScoredIdFault(value: string): string {
  if (resemblesAgentId(value)) return describeAgentIdFault(value);
  const plain = `1 to ${AGENT_ID_BYTES_MAX} bytes of text without control characters`;
  return `must be \`agent://namespace/name\` or ${plain}`;
}

/**
 * Name of a scored agent in the journal and the agent table: plain text behind `plain:`, all else as
 * it is. No two agents share one: a name begins with `agent://` or with `plain:`.
 */
export function encodeAgentKey(id: string): string {
  return id.startsWith(SCHEME) ? id : PLAIN_PREFIX + id;
}

/** The agent as the wire names it, from its name in journal and agent table. */
export function decodeAgentKey(key: string): string {
  return key.startsWith(PLAIN_PREFIX) ? key.slice(PLAIN_PREFIX.length) : key;
}

/** Namespace of an agent's name in journal and agent table; `plain:` for plain text. */
export function extractKeyNamespace(key: string): string | undefined {
  if (key.startsWith(PLAIN_PREFIX)) return PLAIN_PREFIX;
  const end = key.indexOf("/", SCHEME.length);
  return key.startsWith(SCHEME) && end > 0 ? key.slice(SCHEME.length, end) : undefined;
}

/** A whole number of segments and any name below them: `agent://acme/*`, `agent://acme/eu/*`. */
export function isNamespacePattern(value: unknown): value is string {
  if (typeof value !== "string" || !value.endsWith(ANY_NAME)) return false;
  return isAgentId(`${value.slice(0, -1)}x`);
}

/**
 * SPEC §2.2: `<domain>.<operation>`. The characters are left open: segments of `[A-Za-z0-9_-]`,
 * two or more, so that `payments.card.refund` is an action too.
 */
export function isAction(value: unknown): value is string {
  if (typeof value !== "string" || value.length > ACTION_LENGTH_MAX) return false;
  let segments = 1;
  let start = 0;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code === DOT) {
      if (index === start) return false;
      segments += 1;
      start = index + 1;
    } else if (code > 127 || ((CHARACTER_CLASSES[code] as number) & ACTION) === 0) {
      return false;
    }
  }
  return segments > 1 && start < value.length;
}

/** SPEC §2.2: `sha256:` and 64 hex digits in either case; parsed, in lower case: one content has one hash. */
export function isContentHash(value: unknown): value is string {
  if (typeof value !== "string" || value.length !== 71 || !value.startsWith("sha256:"))
    return false;
  for (let index = 7; index < 71; index += 1) {
    const code = value.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    // Letters differ from their other case in one bit.
    const letter = code | 0x20;
    if (!isDigit && (letter < 0x61 || letter > 0x66)) return false;
  }
  return true;
}

/** Request ids, outcome ids, idempotency keys: visible, unquoted ASCII that is safe in a header. */
export function isToken(value: unknown, lengthMax = REQUEST_ID_LENGTH_MAX): value is string {
  if (typeof value !== "string" || value.length === 0 || value.length > lengthMax) return false;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code > 127 || ((CHARACTER_CLASSES[code] as number) & TOKEN) === 0) return false;
  }
  return true;
}

const RESERVED_AGENT_IDS = new Set(
  ["connect", "verify", "escalate", "refuse", "hallucinated", "slow"].map(
    (name) => `${SCHEME}test/${name}`,
  ),
);

/** True for the six reserved test agents; other names under `agent://test/` are ordinary agents. */
export function isReservedAgent(agentId: string): boolean {
  return agentId.startsWith("agent://test/") && RESERVED_AGENT_IDS.has(agentId);
}
