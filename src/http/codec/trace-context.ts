// W3C Trace Context: `traceparent` is taken when it is what the standard allows, else ignored, as the
// standard demands. Of a version that came after 00 the parts of 00 are read, and nothing behind them.

/** Parts of a header that is valid. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all of them 0. */
  readonly traceId: string;
  /** Id of the caller's span: 16 digits, likewise. */
  readonly parentId: string;
  /** Whether the caller has its own part recorded. */
  readonly isSampled: boolean;
}

const VERSION_00 = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LATER_VERSION =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
const TRACE_ID_OFFSET = 3;
const PARENT_ID_OFFSET = 36;
const FLAGS_OFFSET = 53;
const TRACEPARENT_LENGTH = 55;
const SAMPLED_FLAG = 1;

/** Empty when the header is not valid. */
export function parseTraceId(header: string): string {
  return isValidTraceparent(header) ? header.slice(TRACE_ID_OFFSET, PARENT_ID_OFFSET - 1) : "";
}

/** Undefined when the header is missing or not valid. */
export function parseTraceContext(header: string | undefined): TraceContext | undefined {
  if (header === undefined || !isValidTraceparent(header)) return undefined;
  return {
    traceId: header.slice(TRACE_ID_OFFSET, PARENT_ID_OFFSET - 1),
    parentId: header.slice(PARENT_ID_OFFSET, FLAGS_OFFSET - 1),
    isSampled:
      (Number.parseInt(header.slice(FLAGS_OFFSET, TRACEPARENT_LENGTH), 16) & SAMPLED_FLAG) !== 0,
  };
}

/** The header as version 00 writes it, undefined when it is not valid. */
export function normalizeTraceparent(header: string | undefined): string | undefined {
  if (header === undefined || !isValidTraceparent(header)) return undefined;
  if (header.startsWith("00")) return header;
  // Of another version's flags only this one is known to mean the same.
  const isSampled = parseTraceContext(header)?.isSampled === true;
  return `00${header.slice(TRACE_ID_OFFSET - 1, FLAGS_OFFSET)}${isSampled ? "01" : "00"}`;
}

function isValidTraceparent(header: string): boolean {
  if (header.length < TRACEPARENT_LENGTH) return false;
  return header.startsWith("00") ? VERSION_00.test(header) : LATER_VERSION.test(header);
}
