// Queries of lists of agents and outcomes -> filters. Bad values are `invalid_parameter` and name what
// there is.
import { DAY_MS } from "../units.ts";
import { AGENT_ID_BYTES_MAX } from "../limits.ts";
import {
  AGENT_ORDERS,
  type AgentFilter,
  type AgentListCursor,
  type OutcomeFilter,
} from "../schemas/agents.ts";
import { TIERS } from "../vocabulary.ts";
import { parseLimit, readChoice, readTextParameter, throwInvalidParameter } from "./parameters.ts";

const HISTORY_DAYS_MAX = 400;
const HISTORY_DAYS_DEFAULT = 90;
/** A finite number as JavaScript writes it, then the agent. */
const CURSOR_PATTERN = /^(-?\d{1,20}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?)~(.+)$/s;

/** @throws ServiceFault `invalid_parameter` naming the parameter. */
export function parseAgentQuery(query: URLSearchParams): Omit<AgentFilter, "tenant" | "isAnalyst"> {
  return {
    prefix: readTextParameter(query, "prefix", AGENT_ID_BYTES_MAX),
    contains: readTextParameter(query, "contains", AGENT_ID_BYTES_MAX),
    tier: readChoice(query, "tier", TIERS),
    order: readChoice(query, "order", AGENT_ORDERS) ?? "name",
    after: parseAgentCursor(query.get("after")),
    // Of no agents the total is left.
    limit: parseLimit(query.get("limit"), undefined, undefined, 0),
  };
}

/** A place as `after` takes it and `next` gives it. */
export function formatAgentCursor({ value, agent }: AgentListCursor): string {
  return `${value}~${agent}`;
}

/** @throws ServiceFault `invalid_parameter` naming the parameter. */
export function parseOutcomeQuery(query: URLSearchParams): Omit<OutcomeFilter, "tenant"> {
  const before = query.get("before");
  if (before !== null && !/^\d{1,15}$/.test(before)) {
    throwInvalidParameter(
      "`before` must be a position of the journal, such as `next` of the page before",
    );
  }
  return {
    subject: readTextParameter(query, "subject", AGENT_ID_BYTES_MAX),
    reporter: readTextParameter(query, "reporter", AGENT_ID_BYTES_MAX),
    before: before === null ? undefined : Number(before),
    limit: parseLimit(query.get("limit")),
  };
}

/** First day of the last `days` days, today among them, as `2026-01-31`. */
export function parseFirstDay(text: string | null, nowMs: number): string {
  const days =
    text === null ? HISTORY_DAYS_DEFAULT : /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(days >= 1 && days <= HISTORY_DAYS_MAX)) {
    throwInvalidParameter(`\`days\` must be 1 to ${HISTORY_DAYS_MAX}`);
  }
  return new Date(nowMs - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

function parseAgentCursor(text: string | null): AgentListCursor | undefined {
  if (text === null) return undefined;
  const [, value, agent] = CURSOR_PATTERN.exec(text) ?? [];
  if (agent === undefined || Buffer.byteLength(agent) > AGENT_ID_BYTES_MAX) {
    return throwInvalidParameter("`after` must be `next` of the page before");
  }
  return { value: Number(value), agent };
}
