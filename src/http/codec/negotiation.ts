// Content negotiation: the format of a request body and the one its caller wants, JSON or
// MessagePack, same shapes. The exact headers that real callers send are answered without parsing.
import { parse } from "content-type";
import Negotiator from "negotiator";
import { ServiceFault } from "../../contract/faults.ts";

export type WireFormat = "json" | "msgpack";

export const MEDIA_TYPES = { json: "application/json", msgpack: "application/msgpack" } as const;

/** Types of an answer of SQL; of those that a wildcard stands for the first. */
export const QUERY_MEDIA_TYPES = {
  ...MEDIA_TYPES,
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
  ndjson: "application/x-ndjson",
} as const;
export type AcceptedQueryFormat = keyof typeof QUERY_MEDIA_TYPES;

/** Types of an answer of the change feed; of those that a wildcard stands for the first. */
const FEED_MEDIA_TYPES = { ...MEDIA_TYPES, events: "text/event-stream" } as const;

/** Pages for people: of the routes that have one. */
export const HTML_MEDIA_TYPE = "text/html";

const MSGPACK_ALIASES = new Set([MEDIA_TYPES.msgpack, "application/x-msgpack"]);
const NDJSON_TYPES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);
const ACCEPT_LENGTH_MAX = 512;

/** The body's format, or ServiceFault `unsupported_media_type`. */
export function parseBodyFormat(contentType: string | undefined): WireFormat {
  if (contentType === MEDIA_TYPES.json) return "json";
  if (contentType === undefined) {
    throw createUnsupportedMediaTypeFault("header `content-type` is required: `application/json`");
  }
  const type = parseMediaType(contentType);
  if (type === MEDIA_TYPES.json) return "json";
  if (type !== undefined && MSGPACK_ALIASES.has(type)) return "msgpack";
  throw createUnsupportedMediaTypeFault(
    "the body must be `application/json` or `application/msgpack`, UTF-8",
  );
}

/**
 * Passes when the body is not compressed: `Content-Encoding` is absent or `identity`.
 * @throws ServiceFault `unsupported_media_type` (RFC 9110 §8.4, §15.5.16).
 */
export function assertIdentityEncoding(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || contentEncoding.trim().toLowerCase() === "identity") return;
  throw createUnsupportedMediaTypeFault(
    "compressed bodies are not accepted: send the body without `content-encoding`",
  );
}

/** Whether the body says that it is one JSON value per line. */
export function isNdjson(contentType: string | undefined): boolean {
  const type = contentType === undefined ? undefined : parseMediaType(contentType);
  return type !== undefined && NDJSON_TYPES.has(type);
}

/** Whether the body says that it is comma-separated values. */
export function isCsv(contentType: string | undefined): boolean {
  return contentType !== undefined && parseMediaType(contentType) === QUERY_MEDIA_TYPES.csv;
}

/** Whether `accept` names lines of JSON: they are never the answer to a wildcard. */
export function wantsNdjson(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > ACCEPT_LENGTH_MAX) return false;
  const named = accept.split(",").map((range) => parse(range.trim()));
  return named.some(({ type, parameters }) => NDJSON_TYPES.has(type) && parameters["q"] !== "0");
}

/** Media type of a security event token (RFC 8417). */
export const SIGNAL_MEDIA_TYPE = "application/secevent+jwt";

/** Passes when the body is of that type, else ServiceFault `unsupported_media_type`. */
export function assertMediaType(contentType: string | undefined, type: string): void {
  if (contentType !== undefined && parseMediaType(contentType) === type) return;
  throw createUnsupportedMediaTypeFault(`the body must be \`${type}\``);
}

/** Passes when the body is NDJSON, else ServiceFault `unsupported_media_type`. */
export function assertNdjson(contentType: string | undefined): void {
  if (!isNdjson(contentType)) {
    throw createUnsupportedMediaTypeFault("the body must be `application/x-ndjson`, UTF-8");
  }
}

/**
 * The reply's format by `Accept` (RFC 9110 §12.5.1), or ServiceFault `not_acceptable`. At equal
 * weight a type that is named goes before a wildcard, then the caller's order counts, then JSON.
 */
export function negotiateReplyFormat(accept: string | undefined): WireFormat {
  if (accept === undefined || accept === "*/*" || accept === MEDIA_TYPES.json) return "json";
  if (accept === MEDIA_TYPES.msgpack) return "msgpack";
  return selectFormat(accept, MEDIA_TYPES);
}

/**
 * The same for an answer of SQL. Lines are taken wherever they are named: they alone have no bound.
 * @throws ServiceFault `not_acceptable`, with the types that there are.
 */
export function negotiateQueryFormat(accept: string | undefined): AcceptedQueryFormat {
  if (wantsNdjson(accept)) return "ndjson";
  return accept === undefined ? "json" : selectFormat(accept, QUERY_MEDIA_TYPES);
}

/**
 * The same for the change feed.
 * @throws ServiceFault `not_acceptable`, with the types that there are.
 */
export function negotiateFeedFormat(accept: string | undefined): keyof typeof FEED_MEDIA_TYPES {
  return accept === undefined ? "json" : selectFormat(accept, FEED_MEDIA_TYPES);
}

function selectFormat<Format extends string>(
  accept: string,
  types: Readonly<Record<Format, string>>,
): Format {
  const formats = Object.keys(types) as Format[];
  // An empty list asks for nothing in particular (RFC 9110 §5.6.1).
  if (accept.trim() === "") return formats[0]!;
  if (accept.length > ACCEPT_LENGTH_MAX) {
    throw new ServiceFault("not_acceptable", "header `accept` is too long");
  }
  const negotiator = new Negotiator({ headers: { accept: formatWeightedRanges(accept) } });
  const type = negotiator.mediaType(formats.map((format) => types[format]));
  const format = formats.find((each) => types[each] === type);
  if (format !== undefined) return format;
  const named = formats.map((each) => `\`${types[each]}\``);
  const detail = `answers are ${named.slice(0, -1).join(", ")} or ${named.at(-1)}`;
  throw new ServiceFault("not_acceptable", detail);
}

/** Whether `Accept` asks for a page for people before it asks for data. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > ACCEPT_LENGTH_MAX) return false;
  const negotiator = new Negotiator({ headers: { accept: formatWeightedRanges(accept) } });
  return (
    negotiator.mediaType([MEDIA_TYPES.json, MEDIA_TYPES.msgpack, HTML_MEDIA_TYPE]) ===
    HTML_MEDIA_TYPE
  );
}

/**
 * The ranges of `accept` with their weights and no other parameters: callers that add `charset` or
 * `version` mean the plain type. A weight outside 0 to 1 counts as 0.
 */
function formatWeightedRanges(accept: string): string {
  const ranges: string[] = [];
  for (let start = 0; start < accept.length;) {
    const { type, parameters, index } = parse(accept, { comma: true, start });
    const weight = Number(parameters["q"] ?? 1);
    ranges.push(`${type};q=${weight >= 0 && weight <= 1 ? weight : 0}`);
    start = index + 1;
  }
  return ranges.join(",");
}

/** Lower-case type without parameters; undefined when a charset other than UTF-8 is named. */
function parseMediaType(header: string): string | undefined {
  const { type, parameters } = parse(header);
  const charset = parameters["charset"]?.toLowerCase() ?? "utf-8";
  return charset === "utf-8" || charset === "utf8" ? type : undefined;
}

function createUnsupportedMediaTypeFault(detail: string): ServiceFault {
  return new ServiceFault("unsupported_media_type", detail);
}
