// Parsers of query and path parameters. Their faults are `invalid_parameter`, without a JSON pointer.
import { ServiceFault } from "../faults.ts";
import { parseDateTimeMs } from "../timestamps.ts";

const LIST_LIMIT_MAX = 1000;
const LIST_LIMIT_DEFAULT = 100;

/** `since`: an RFC 3339 date-time, a date, or epoch milliseconds. */
export function parseSinceMs(text: string): number {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const sinceMs = /^\d{1,15}$/.test(text) ? Number(text) : parseDateTimeMs(date);
  if (sinceMs !== undefined) return sinceMs;
  return throwInvalidParameter(
    "`since` must be a date, an RFC 3339 date-time or epoch milliseconds",
  );
}

/** `limit`: maximum number of rows of a list. */
export function parseLimit(
  text: string | null,
  whenMissing = LIST_LIMIT_DEFAULT,
  max = LIST_LIMIT_MAX,
  min = 1,
): number {
  if (text === null) return whenMissing;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= min && limit <= max) return limit;
  return throwInvalidParameter(`\`limit\` must be ${min} to ${max}`);
}

/** Reporters of an answer about who vouches for whom: more cannot be told apart in a picture. */
export const GRAPH_NODES_MAX = 500;
const GRAPH_NODES_DEFAULT = 200;

/** `limit`: maximum number of reporters of a graph. */
export function parseGraphLimit(text: string | null): number {
  return parseLimit(text, GRAPH_NODES_DEFAULT, GRAPH_NODES_MAX);
}

/** `min_position`: a position of the journal, as receipts name it. */
export function parseJournalPosition(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return throwInvalidParameter("`min_position` must be a position of the journal");
}

/** A day as it names a partition; only digits and hyphens get through. */
export function parseDay(text: string | null, name = "day"): string {
  if (text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) {
    return text;
  }
  return throwInvalidParameter(`\`${name}\` must be a date such as \`2026-01-31\``);
}

/** One of `words`; undefined when the parameter is missing. @throws ServiceFault `invalid_parameter`. */
export function readChoice<const Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const choices = words.map((word) => `\`${word}\``).join(", ");
  return (
    words.find((word) => word === text) ??
    throwInvalidParameter(`\`${name}\` must be one of ${choices}`)
  );
}

/** Text of 1 to `bytesMax` bytes; undefined when the parameter is missing. @throws ServiceFault */
export function readTextParameter(
  query: URLSearchParams,
  name: string,
  bytesMax: number,
): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const bytes = Buffer.byteLength(text);
  if (bytes >= 1 && bytes <= bytesMax) return text;
  return throwInvalidParameter(`\`${name}\` must be 1 to ${bytesMax} bytes`);
}

export function throwInvalidParameter(detail: string): never {
  throw new ServiceFault("invalid_parameter", detail);
}
