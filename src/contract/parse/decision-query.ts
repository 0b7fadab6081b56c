// Query of the decision log -> filter: choices by value, times, and the place behind which a page
// begins. Bad values are `invalid_parameter` and name what there is.
import {
  DECISION_KINDS,
  DECISION_LEGS,
  type DecisionFilter,
  type DecisionPlace,
  EFFECTS,
} from "../decisions.ts";
import { ServiceFault } from "../faults.ts";
import { isToken } from "../identifiers.ts";
import { AGENT_ID_BYTES_MAX, REQUEST_ID_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import { parseSince } from "./parameters.ts";

const CODE_LENGTH_MAX = 64;
const PLACE = /^(\d{1,15})~([01])~(.+)$/;

/** Everything of a filter but whose rows, which id and how many. */
export type DecisionChoices = Omit<DecisionFilter, "tenant" | "requestId" | "limit">;

/** @throws ServiceFault `invalid_parameter` naming the parameter. */
export function parseDecisionQuery(query: URLSearchParams): DecisionChoices {
  const choices = {
    agent: readBoundedText(query, "agent", AGENT_ID_BYTES_MAX),
    subject: readBoundedText(query, "subject", AGENT_ID_BYTES_MAX),
    verdict: readChoice(query, "verdict", VERDICTS),
    decision: readChoice(query, "decision", DECISIONS),
    effective: readChoice(query, "effective", EFFECTS),
    kind: readChoice(query, "kind", DECISION_KINDS),
    level: readChoice(query, "level", TOOL_LEVELS),
    reason: readBoundedText(query, "reason", CODE_LENGTH_MAX),
    config: readBoundedText(query, "config", CODE_LENGTH_MAX),
    ofTenant: readBoundedText(query, "tenant", TENANT_LENGTH_MAX),
    isFlagged: readFlag(query, "flagged"),
    isShadow: readFlag(query, "shadow"),
    sinceMs: readTimeMs(query, "since"),
    before: parseDecisionCursor(query.get("before")),
  };
  const given = Object.entries(choices).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as DecisionChoices;
}

/** A place as `before` takes it and `next` gives it. */
export function writePlace({ evaluatedMs, leg = "a_to_b", requestId = "" }: DecisionPlace): string {
  return `${evaluatedMs}~${DECISION_LEGS.indexOf(leg)}~${requestId}`;
}

function parseDecisionCursor(text: string | null): DecisionPlace | undefined {
  if (text === null) return undefined;
  const [, ms, legIndex, requestId] = PLACE.exec(text) ?? [];
  if (requestId === undefined) {
    return { evaluatedMs: timeAs("before", text, ", or `next` of the page before") };
  }
  if (!isToken(requestId, REQUEST_ID_LENGTH_MAX)) refuse("`before` is no `next` of a page");
  return { evaluatedMs: Number(ms), leg: DECISION_LEGS[Number(legIndex)]!, requestId };
}

function readTimeMs(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : timeAs(name, text);
}

function timeAs(name: string, text: string, orElse = ""): number {
  try {
    return parseSince(text);
  } catch {
    const forms = `a date, an RFC 3339 date-time or epoch milliseconds${orElse}`;
    return refuse(`\`${name}\` must be ${forms}`);
  }
}

function readChoice<const Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return (
    words.find((word) => word === text) ??
    refuse(`\`${name}\` must be one of ${words.map((word) => `\`${word}\``).join(", ")}`)
  );
}

function readFlag(query: URLSearchParams, name: string): boolean | undefined {
  const word = readChoice(query, name, ["true", "false"]);
  return word === undefined ? undefined : word === "true";
}

function readBoundedText(
  query: URLSearchParams,
  name: string,
  bytesMax: number,
): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const bytes = Buffer.byteLength(text);
  if (bytes >= 1 && bytes <= bytesMax) return text;
  return refuse(`\`${name}\` must be 1 to ${bytesMax} bytes`);
}

function refuse(detail: string): never {
  throw new ServiceFault("invalid_parameter", detail);
}
