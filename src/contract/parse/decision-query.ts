// Query of the decision log -> filter: choices by value, times, and the place behind which a page
// begins. Bad values are `invalid_parameter` and name what there is.
import {
  DECISION_KINDS,
  DECISION_LEGS,
  type DecisionFilter,
  type DecisionListCursor,
  DECISION_EFFECTS,
  DISPOSITIONS,
} from "../decisions.ts";
import { isToken } from "../identifiers.ts";
import { AGENT_ID_BYTES_MAX, REQUEST_ID_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import {
  parseSinceMs,
  readChoice,
  readTextParameter,
  throwInvalidParameter,
} from "./parameters.ts";

const CODE_LENGTH_MAX = 64;
const CURSOR_PATTERN = /^(\d{1,15})~([01])~(.+)$/;

/** Everything of a filter but whose rows, which id and how many. */
export type DecisionChoices = Omit<DecisionFilter, "tenant" | "requestId" | "limit">;

/** @throws ServiceFault `invalid_parameter` naming the parameter. */
export function parseDecisionQuery(query: URLSearchParams): DecisionChoices {
  const choices = {
    agent: readTextParameter(query, "agent", AGENT_ID_BYTES_MAX),
    subject: readTextParameter(query, "subject", AGENT_ID_BYTES_MAX),
    verdict: readChoice(query, "verdict", VERDICTS),
    decision: readChoice(query, "decision", DECISIONS),
    effective: readChoice(query, "effective", DECISION_EFFECTS),
    disposition: readChoice(query, "disposition", DISPOSITIONS),
    kind: readChoice(query, "kind", DECISION_KINDS),
    level: readChoice(query, "level", TOOL_LEVELS),
    reason: readTextParameter(query, "reason", CODE_LENGTH_MAX),
    config: readTextParameter(query, "config", CODE_LENGTH_MAX),
    ofTenant: readTextParameter(query, "tenant", TENANT_LENGTH_MAX),
    isFlagged: readBooleanParameter(query, "flagged"),
    isShadow: readBooleanParameter(query, "shadow"),
    sinceMs: readTimeParameterMs(query, "since"),
    before: parseDecisionCursor(query.get("before")),
  };
  const given = Object.entries(choices).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as DecisionChoices;
}

/** A place as `before` takes it and `next` gives it. */
export function formatDecisionCursor({
  evaluatedMs,
  leg = "a_to_b",
  requestId = "",
}: DecisionListCursor): string {
  return `${evaluatedMs}~${DECISION_LEGS.indexOf(leg)}~${requestId}`;
}

function parseDecisionCursor(text: string | null): DecisionListCursor | undefined {
  if (text === null) return undefined;
  const [, ms, legIndex, requestId] = CURSOR_PATTERN.exec(text) ?? [];
  if (requestId === undefined) {
    return { evaluatedMs: parseTimeParameterMs("before", text, ", or `next` of the page before") };
  }
  if (!isToken(requestId, REQUEST_ID_LENGTH_MAX))
    throwInvalidParameter("`before` is no `next` of a page");
  return { evaluatedMs: Number(ms), leg: DECISION_LEGS[Number(legIndex)]!, requestId };
}

/**
 * A time in the query: a date, an RFC 3339 date-time or epoch ms; as epoch ms, undefined when left out.
 * @throws ServiceFault `invalid_parameter`.
 */
export function readTimeParameterMs(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : parseTimeParameterMs(name, text);
}

function parseTimeParameterMs(name: string, text: string, orElse = ""): number {
  try {
    return parseSinceMs(text);
  } catch {
    const forms = `a date, an RFC 3339 date-time or epoch milliseconds${orElse}`;
    return throwInvalidParameter(`\`${name}\` must be ${forms}`);
  }
}

function readBooleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const word = readChoice(query, name, ["true", "false"]);
  return word === undefined ? undefined : word === "true";
}
