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
  FIRST_RULES,
  isTick,
  type OrderedMessage,
  MESSAGE_RULES_VERSION,
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

/**
 * The message as it is to be applied: itself, or an empty one in its place. Decided by its bytes and the rules of
 * the log before it (0 for none). One of higher rules is left as it is: its frames may be of kinds that are not known
 * here.
 */
export function blankInvalidMessage(message: OrderedMessage, rulesLevel: number): OrderedMessage {
  const { origin, n, count, rules, seq, timeMs } = message;
  if (parseLogBeginning(message) !== undefined) return message;
  const isNamed = ORIGIN_PATTERN.test(origin) && isPositiveInteger(n) && isPositiveInteger(rules);
  const mayTick = seq === 1 || rulesLevel >= TICK_RULES;
  if (isNamed && mayTick && isTick(message)) return message;
  const isCounted = isNamed && isPositiveInteger(count);
  if (isCounted && (rules > MESSAGE_RULES_VERSION || countFramesOrNaN(message.frames) === count))
    return message;
  return { ...BLANK_MESSAGE, seq, timeMs, frames: new Uint8Array(0) };
}

export function isBlankMessage({ origin }: Pick<OrderedMessage, "origin">): boolean {
  return origin === BLANK_MESSAGE.origin;
}

/** For the audit trail: the place by which the log's own tools show what it holds. */
export function encodeIgnoredMessageEvent({ seq, timeMs }: OrderedMessage): Buffer {
  return Buffer.from(JSON.stringify({ event: "stream.message_ignored", at_ms: timeMs, seq }));
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
