// Parsed values -> the requests of the decision log: provenance told after the fact, replays,
// reviews, and the query parameters of its lists.
import { ServiceFault } from "../faults.ts";
import {
  actionFault,
  agentNameFault,
  asBody,
  broken,
  contentHashFault,
  enumFault,
  type FieldErrors,
  invalidRequest,
  note,
  plainTextFault,
  tokenFault,
  unknownMembers,
} from "./field-rules.ts";
import { CITED_SOURCES_MAX, REQUEST_ID_LENGTH_MAX, SOURCE_ID_LENGTH_MAX } from "../limits.ts";
import type { ProvenanceRecord, ReviewResolution } from "../decisions.ts";
import { REVIEW_RESOLUTIONS } from "../decisions.ts";
import { parseDateTime } from "../timestamps.ts";

export const REVIEW_NOTE_BYTES_MAX = 2048;
export const DECISIONS_LIMIT_MAX = 1000;
const DECISIONS_LIMIT_DEFAULT = 100;
const CONFIG_NAME_LENGTH_MAX = 64;

/** Body of `POST /v1/provenance`. Members it does not know are ignored (SPEC §4.9). */
export function parseProvenanceRecord(value: unknown): ProvenanceRecord {
  const { agent_id, action, content_hash, cited_sources, request_id } = asBody(value);
  let errors: FieldErrors;
  errors = note(errors, agentNameFault("/agent_id", agent_id));
  errors = note(errors, actionFault("/action", action));
  errors = note(errors, contentHashFault("/content_hash", content_hash));
  errors = sourcesFaults(errors, cited_sources);
  if (request_id !== undefined) {
    errors = note(errors, tokenFault("/request_id", request_id, REQUEST_ID_LENGTH_MAX));
  }
  if (errors !== undefined) throw invalidRequest(errors);
  const record: ProvenanceRecord = {
    agent_id: agent_id as string,
    action: action as string,
    content_hash: content_hash as string,
    cited_sources: cited_sources as string[],
  };
  if (request_id !== undefined) record.request_id = request_id as string;
  return record;
}

function sourcesFaults(found: FieldErrors, sources: unknown): FieldErrors {
  const at = "/cited_sources";
  if (sources === undefined) return note(found, broken(at, "required", "is required"));
  if (!Array.isArray(sources)) return note(found, broken(at, "type", "must be an array"));
  if (sources.length > CITED_SOURCES_MAX) {
    return note(found, broken(at, "length", `must hold at most ${CITED_SOURCES_MAX} sources`));
  }
  let errors = found;
  for (const [index, source] of sources.entries()) {
    errors = note(errors, plainTextFault(`${at}/${index}`, source, SOURCE_ID_LENGTH_MAX));
  }
  return errors;
}

/** Body of a replay: the name of a config, or undefined for the active one. */
export function parseReplayRequest(value: unknown): string | undefined {
  const members = asBody(value);
  const { config } = members;
  let errors = unknownMembers(members, ["config"]);
  if (config !== undefined) {
    errors = note(errors, tokenFault("/config", config, CONFIG_NAME_LENGTH_MAX));
  }
  if (errors !== undefined) throw invalidRequest(errors);
  return config === "active" ? undefined : (config as string | undefined);
}

/** Body of `POST /v1/reviews/{request_id}`. */
export function parseReviewResolution(value: unknown): ReviewResolution {
  const members = asBody(value);
  const { resolution, note: text } = members;
  let errors = unknownMembers(members, ["resolution", "note"]);
  errors = note(errors, enumFault("/resolution", resolution, REVIEW_RESOLUTIONS));
  if (text !== undefined) {
    errors = note(errors, plainTextFault("/note", text, REVIEW_NOTE_BYTES_MAX));
  }
  if (errors !== undefined) throw invalidRequest(errors);
  const parsed: ReviewResolution = { resolution: resolution as ReviewResolution["resolution"] };
  if (text !== undefined) parsed.note = text as string;
  return parsed;
}

/** `since`: an RFC 3339 date-time, a date, or epoch milliseconds. */
export function parseSince(text: string): number {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const sinceMs = /^\d{1,15}$/.test(text) ? Number(text) : parseDateTime(date);
  if (sinceMs !== undefined) return sinceMs;
  const detail = "`since` must be a date, an RFC 3339 date-time or epoch milliseconds";
  throw new ServiceFault("invalid_parameter", detail);
}

/** `limit`: how many rows a list may hold. */
export function parseLimit(text: string | null): number {
  if (text === null) return DECISIONS_LIMIT_DEFAULT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= DECISIONS_LIMIT_MAX) return limit;
  throw new ServiceFault("invalid_parameter", `\`limit\` must be 1 to ${DECISIONS_LIMIT_MAX}`);
}

/** A day as it names a partition; only digits and hyphens get through. */
export function parseDay(text: string | null): string {
  if (text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) {
    return text;
  }
  throw new ServiceFault("invalid_parameter", "`day` must be a date such as `2026-01-31`");
}
