// Which representation a request carries and which one its caller wants: JSON or MessagePack, same
// shapes. The exact headers that real callers send are answered without parsing.
import { ServiceFault } from "../../contract/faults.ts";

export type Format = "json" | "msgpack";

export const MEDIA_TYPES = { json: "application/json", msgpack: "application/msgpack" } as const;

const MSGPACK_ALIASES = new Set([MEDIA_TYPES.msgpack, "application/x-msgpack"]);
const NDJSON_TYPES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);
const ACCEPT_LENGTH_MAX = 512;

/** The body's format, or ServiceFault `unsupported_media_type`. */
export function bodyFormat(contentType: string | undefined): Format {
  if (contentType === MEDIA_TYPES.json) return "json";
  if (contentType === undefined) {
    throw unsupported("header `content-type` is required: `application/json`");
  }
  const type = mediaType(contentType);
  if (type === MEDIA_TYPES.json) return "json";
  if (type !== undefined && MSGPACK_ALIASES.has(type)) return "msgpack";
  throw unsupported("the body must be `application/json` or `application/msgpack`, UTF-8");
}

/** Whether the body says that it is one JSON value per line. */
export function isNdjson(contentType: string | undefined): boolean {
  const type = contentType === undefined ? undefined : mediaType(contentType);
  return type !== undefined && NDJSON_TYPES.has(type);
}

/** Passes when the body is NDJSON, else ServiceFault `unsupported_media_type`. */
export function requireNdjson(contentType: string | undefined): void {
  if (!isNdjson(contentType)) {
    throw unsupported("the body must be `application/x-ndjson`, UTF-8");
  }
}

/** The reply's format by `Accept` (RFC 9110 §12.5.1), or ServiceFault `not_acceptable`. */
export function replyFormat(accept: string | undefined): Format {
  if (accept === undefined || accept === "*/*" || accept === MEDIA_TYPES.json) return "json";
  if (accept === MEDIA_TYPES.msgpack) return "msgpack";
  // An empty list asks for nothing in particular (RFC 9110 §5.6.1).
  if (accept.trim() === "") return "json";
  if (accept.length > ACCEPT_LENGTH_MAX) {
    throw new ServiceFault("not_acceptable", "header `accept` is too long");
  }
  const json = quality(accept, MEDIA_TYPES.json);
  const msgpack = quality(accept, MEDIA_TYPES.msgpack);
  if (json === 0 && msgpack === 0) {
    const detail = "answers are `application/json` or `application/msgpack`";
    throw new ServiceFault("not_acceptable", detail);
  }
  // On a tie JSON wins: a wildcard is no wish for a binary format.
  return msgpack > json ? "msgpack" : "json";
}

/** The weight `accept` gives to `type`, by its most specific matching range. */
function quality(accept: string, type: string): number {
  let weight = 0;
  let bestRank = -1;
  for (const part of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = part.split(";").map((piece) => piece.trim());
    const rank = rankOf(range, type);
    if (rank < 0 || rank < bestRank) continue;
    bestRank = rank;
    weight = qualityOf(parameters);
  }
  return weight;
}

function rankOf(range: string, type: string): number {
  if (range === type) return 2;
  if (range === "application/*") return 1;
  return range === "*/*" ? 0 : -1;
}

function qualityOf(parameters: readonly string[]): number {
  const found = parameters.find((parameter) => parameter.startsWith("q="));
  if (found === undefined) return 1;
  const value = Number(found.slice(2));
  return value >= 0 && value <= 1 ? value : 0;
}

/** Lower-case type without parameters; undefined when a charset other than UTF-8 is named. */
function mediaType(header: string): string | undefined {
  const [type = "", ...parameters] = header.toLowerCase().split(";");
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    const charset = value.trim().replaceAll('"', "");
    if (name.trim() === "charset" && charset !== "utf-8" && charset !== "utf8") return undefined;
  }
  return type.trim();
}

function unsupported(detail: string): ServiceFault {
  return new ServiceFault("unsupported_media_type", detail);
}
