// Parameters of queries and paths -> values. Their faults are `invalid_parameter`: they stand in no
// body to point into.
import { ServiceFault } from "../faults.ts";
import { parseDateTimeMs } from "../timestamps.ts";

const LIST_LIMIT_MAX = 1000;
const LIST_LIMIT_DEFAULT = 100;

/** `since`: an RFC 3339 date-time, a date, or epoch milliseconds. */
export function parseSinceMs(text: string): number {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const sinceMs = /^\d{1,15}$/.test(text) ? Number(text) : parseDateTimeMs(date);
  if (sinceMs !== undefined) return sinceMs;
  const detail = "`since` must be a date, an RFC 3339 date-time or epoch milliseconds";
  throw new ServiceFault("invalid_parameter", detail);
}

/** `limit`: how many rows a list may hold. */
export function parseLimit(text: string | null): number {
  if (text === null) return LIST_LIMIT_DEFAULT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LIST_LIMIT_MAX) return limit;
  throw new ServiceFault("invalid_parameter", `\`limit\` must be 1 to ${LIST_LIMIT_MAX}`);
}

/** Reporters of an answer about who vouches for whom: more cannot be told apart in a picture. */
export const GRAPH_NODES_MAX = 500;
const GRAPH_NODES_DEFAULT = 200;

/** `limit`: how many reporters a graph may hold. */
export function parseGraphLimit(text: string | null): number {
  if (text === null) return GRAPH_NODES_DEFAULT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= GRAPH_NODES_MAX) return limit;
  throw new ServiceFault("invalid_parameter", `\`limit\` must be 1 to ${GRAPH_NODES_MAX}`);
}

/** `min_position`: a position of the journal, as receipts name it. */
export function parseJournalPosition(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ServiceFault("invalid_parameter", "`min_position` must be a position of the journal");
}

/** A day as it names a partition; only digits and hyphens get through. */
export function parseDay(text: string | null, name = "day"): string {
  if (text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) {
    return text;
  }
  throw new ServiceFault("invalid_parameter", `\`${name}\` must be a date such as \`2026-01-31\``);
}
