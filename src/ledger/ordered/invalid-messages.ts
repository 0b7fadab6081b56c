// Messages of the log that no node has sent: a person's test, a program with the wrong subject. They take a
// place in the log like any other, so every node must step over them, all in the same way.
import {
  FRAME_HEAD_BYTES,
  FRAME_KIND_MAX,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  PAYLOAD_BYTES_MAX,
} from "../../journal/format.ts";
import {
  parseLogBeginning,
  parseRulesChange,
  FIRST_RULES,
  isTick,
  MESSAGE_PLACES_MAX,
  type OrderedMessage,
  MESSAGE_RULES_VERSION,
  SEALED_RULES,
  TICK_RULES,
} from "./message.ts";

const ORIGIN_PATTERN = /^\S{1,256}$/;
/** Of every stray message, in place of what it says. */
const BLANK_MESSAGE = { origin: "", n: 0, count: 0, rules: FIRST_RULES } as const;
/** Frames that a journal makes itself. */
const JOURNAL_ONLY_KINDS: ReadonlySet<number> = new Set([
  FRAME_KINDS.commit,
  FRAME_KINDS.gap,
  FRAME_KINDS.snapshot,
  FRAME_KINDS.stream,
]);

/** Characters of a claimed origin that are told. */
const ORIGIN_CHARS_TOLD = 256;

/**
 * The message as it is to be applied: itself, or an empty one in its place, which says why. Decided by the message
 * and the rules of the log before it (0 for none), so by every node alike. One that is sealed and of higher rules
 * is left as it is: its frames may be of kinds that are not known here.
 */
export function blankInvalidMessage(message: OrderedMessage, rulesLevel: number): OrderedMessage {
  const reason = describeInvalidMessage(message, rulesLevel);
  if (reason === undefined) return message;
  const { seq, timeMs, origin } = message;
  const ignored = { reason, origin: origin.slice(0, ORIGIN_CHARS_TOLD) };
  return { ...BLANK_MESSAGE, seq, timeMs, frames: new Uint8Array(0), ignored };
}

/** The messages of a group, each by the rules that those before it have set. */
export function blankInvalidMessages(
  messages: readonly OrderedMessage[],
  rulesLevel: number,
): OrderedMessage[] {
  let level = rulesLevel;
  return messages.map((message) => {
    const applicable = blankInvalidMessage(message, level);
    if (applicable.seq === 1 || parseRulesChange(applicable.origin) !== undefined)
      level = Math.max(level, applicable.rules);
    return applicable;
  });
}

function describeInvalidMessage(message: OrderedMessage, rulesLevel: number): string | undefined {
  const { origin, n, count, rules, seq, frames } = message;
  const change = parseRulesChange(origin);
  const isSealDemanded = rulesLevel >= SEALED_RULES || rules > FIRST_RULES || change !== undefined;
  if (isSealDemanded) {
    const { isSealed = false, after = 0 } = message;
    if (!isSealed) return "it carries no valid seal";
    if (!Number.isSafeInteger(after) || after >= seq || seq - after > MESSAGE_PLACES_MAX)
      return `it was sent behind message ${after}`;
  }
  if (change !== undefined && n === 1 && rules === change.rules && frames.byteLength === 0)
    return undefined;
  if (parseLogBeginning(message) !== undefined) return undefined;
  const isNamed =
    change === undefined &&
    ORIGIN_PATTERN.test(origin) &&
    isPositiveInteger(n) &&
    isPositiveInteger(rules);
  const mayTick = seq === 1 || rulesLevel >= TICK_RULES;
  if (isNamed && mayTick && isTick(message)) return undefined;
  const isCounted = isNamed && isPositiveInteger(count);
  if (isCounted && (rules > MESSAGE_RULES_VERSION || countFramesOrNaN(frames) === count))
    return undefined;
  return "it is no message of a node";
}

export function isBlankMessage({ origin }: Pick<OrderedMessage, "origin">): boolean {
  return origin === BLANK_MESSAGE.origin;
}

const IGNORED_EVENT = "stream.message_ignored";

/** For the audit trail: the place by which the log's own tools show what it holds. */
export function encodeIgnoredMessageEvent({ seq, timeMs }: OrderedMessage): Buffer {
  return Buffer.from(JSON.stringify({ event: IGNORED_EVENT, at_ms: timeMs, seq }));
}

/** Place and time (epoch ms) of a message that was passed over; undefined for other entries of the audit trail. */
export function decodeIgnoredMessageEvent(
  payload: Uint8Array,
): { readonly seq: number; readonly atMs: number } | undefined {
  const text = Buffer.from(payload).toString();
  if (!text.includes(IGNORED_EVENT)) return undefined;
  const { event, at_ms: atMs, seq } = JSON.parse(text) as Record<string, unknown>;
  return event === IGNORED_EVENT ? { seq: Number(seq), atMs: Number(atMs) } : undefined;
}

function isPositiveInteger(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}

/** How many frames lie back to back; NaN when something else does. */
function countFramesOrNaN(frames: Uint8Array): number {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  let found = 0;
  let at = 0;
  while (at < bytes.byteLength) {
    if (at + FRAME_HEAD_BYTES > bytes.byteLength) return Number.NaN;
    const kind = readFrameKind(bytes, at);
    const length = readPayloadLength(bytes, at);
    if (kind < 1 || kind > FRAME_KIND_MAX || JOURNAL_ONLY_KINDS.has(kind)) return Number.NaN;
    if (length > PAYLOAD_BYTES_MAX) return Number.NaN;
    at += FRAME_HEAD_BYTES + length;
    found += 1;
  }
  return at === bytes.byteLength ? found : Number.NaN;
}
