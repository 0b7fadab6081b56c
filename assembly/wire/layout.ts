// Memory layout of the request scanner, private to each thread: results, body and interned texts.
// Imported by the module and by its caller, so that an offset is written once.

/** Results, as 32-bit words. Starts and ends are byte offsets into the body. */
export const RESULT_BASE = 1024;
export const AGENT_START = 0;
export const AGENT_END = 1;
export const ACTION_START = 2;
export const ACTION_END = 3;
/** 0 to 3. */
export const LEVEL = 4;
/** -1 when the member is absent, as with the next two and LEVELS. */
export const HASH_START = 5;
export const SESSION = 6;
export const STAKES = 7;
/** 1 for true, 0 for false. */
export const LEVELS = 9;
/** Number of cited sources; -1 without the member. */
export const SOURCE_COUNT = 8;
/** Start and end of each. */
export const SOURCES = 10;
export const SOURCES_MAX = 64;
/**
 * Slot of each text: of agent, action and the sources in this order. The slot that already holds
 * it; `REPLACED - slot` when it has just replaced another; NOT_KEPT.
 */
export const KEPT_AGENT = SOURCES + 2 * SOURCES_MAX;
export const KEPT_ACTION = KEPT_AGENT + 1;
export const KEPT_SOURCES = KEPT_AGENT + 2;
export const NOT_KEPT = -1;
export const REPLACED = -2;
export const RESULT_WORDS = KEPT_SOURCES + SOURCES_MAX;

/** The body; longer ones are for the general parser. */
export const BODY_BASE = 4096;
export const BODY_BYTES_MAX = 16_384;
/** Zeros behind the body: a load past the end yields no character of any member. */
export const PADDING_BYTES = 32;

export const HASH_LENGTH = 71;

/** Interned texts, one per slot: its length, then the text with zeros behind it. */
export const KEPT_BASE = 65_536;
export const KEPT_SLOTS = 1024;
export const KEPT_STRIDE = 128;
export const KEPT_TEXT = 8;
/** A longer text is not kept. */
export const KEPT_BYTES_MAX = KEPT_STRIDE - KEPT_TEXT;
