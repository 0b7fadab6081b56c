// Routes that list: agents, outcomes, and one agent's days. A key sees the rows that its tenant sees in
// SQL, without `analytics:read` only scores of the agents it has dealt with; an administrator's key sees
// all. Each agent on a page is a paid read, as is a history with scores.
import { parseRecordedId, parseScoredId } from "../../contract/identifiers.ts";
import {
  parseAgentQuery,
  parseFirstDay,
  parseOutcomeQuery,
  formatAgentCursor,
} from "../../contract/parse/agent-query.ts";
import { AGENT_ORDERS, type AgentRestriction } from "../../contract/schemas/agents.ts";
import { TIERS } from "../../contract/vocabulary.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import { countAgentReads, countRequestRead } from "../access/paid-reads.ts";
import { LIST_QUERY, selectVisibleTenant } from "./decisions.ts";
import type { Reply } from "../server/port.ts";

const SHARED = { deadlineMs: 10_000 } as const;

export const AGENT_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    name: "list_agents",
    method: "GET",
    path: "/v1/agents",
    summary:
      "Agents with their scores as of the last reading, page by page; each is a paid read. Without " +
      "`analytics:read` those that the tenant has asked about, reported on or owns",
    access: "score:read",
    isPaidRead: true,
    query: {
      prefix: { description: "Beginning of their names", example: "agent://acme/" },
      contains: { description: "Part of their names", example: "ledger" },
      tier: { description: "Only of this tier", values: TIERS },
      order: { description: "`name` by default; a minus: largest first", values: AGENT_ORDERS },
      after: { description: "`next` of the page before", example: "640~agent://acme/ledger-sync" },
      limit: `${LIST_QUERY.limit}; 0 for only the total, free without \`tier\``,
    },
    responses: { 200: { description: "The agents", schema: "AgentList" } },
    handle: listAgents,
  },
  {
    ...SHARED,
    name: "agent_history",
    method: "GET",
    path: "/v1/agents/{id}/history",
    summary:
      "An agent by day: outcomes, decisions and scores as they were given at the time; a paid read " +
      "where there are scores",
    access: "score:read",
    isPaidRead: true,
    query: { days: "How many, today among them: 1 to 400; 90 when left out" },
    responses: { 200: { description: "Its days", schema: "AgentHistory" } },
    handle: readHistory,
  },
  {
    ...SHARED,
    name: "list_outcomes",
    method: "GET",
    path: "/v1/outcomes",
    summary: "Outcomes as they were recorded, newest first",
    access: "analytics:read",
    query: {
      subject: { description: "The agent reported on", example: "agent://acme/ledger-sync" },
      reporter: { description: "Who reported", example: "agent://globex/invoice-bot" },
      before: { description: "`next` of the page before: a position", example: "4096" },
      limit: LIST_QUERY.limit,
    },
    responses: { 200: { description: "The outcomes", schema: "OutcomeList" } },
    handle: listOutcomes,
  },
];

async function listAgents(exchange: Exchange): Promise<Reply> {
  const choices = parseAgentQuery(exchange.query);
  const filter = { ...choices, ...selectVisibleAgents(exchange) };
  const { agentDirectory } = exchange.services.store;
  const { agents, total, last, asOfMs } = await agentDirectory.read("agents", filter);
  countAgentReads(
    exchange,
    "list",
    agents.map(({ agent_id: agent }) => agent),
  );
  // That no agent is in a tier, or behind a score, tells of scores as well.
  if (agents.length === 0 && isChosenByScore(choices)) countRequestRead(exchange, "list");
  return exchange.document(200, {
    agents,
    total,
    // A full page may be the last one; then the next is empty.
    next: last === undefined ? null : formatAgentCursor(last),
    as_of: asOfMs === 0 ? null : new Date(asOfMs).toISOString(),
  });
}

function isChosenByScore({ tier, order, after }: ReturnType<typeof parseAgentQuery>): boolean {
  return tier !== undefined || (after !== undefined && order.endsWith("score"));
}

/** Agents whose scores the key may list. */
function selectVisibleAgents(exchange: Exchange): AgentRestriction {
  const isAnalyst = exchange.principal.scopes.has("analytics:read");
  return { tenant: selectVisibleTenant(exchange), isAnalyst };
}

async function readHistory(exchange: Exchange): Promise<Reply> {
  const agent = parseRecordedId(exchange.decodedParameter());
  const asked = exchange.query.get("days");
  const from = parseFirstDay(asked, exchange.services.clock());
  const filter = { agent, from, ...selectVisibleAgents(exchange) };
  const days = await exchange.services.store.agentDirectory.read("days", filter);
  if (days.length === 0) parseScoredId(agent);
  const hasScore = days.some(({ score_from: origin }) => origin !== null);
  if (hasScore) countAgentReads(exchange, "history", [agent]);
  return exchange.document(200, { agent_id: agent, from, days });
}

/** @throws ServiceFault `invalid_parameter` for a name that has no agent's form: call it where nothing bears it. */
function refuseUnrecordedNames(...names: (string | undefined)[]): void {
  for (const name of names) if (name !== undefined) parseScoredId(name);
}

async function listOutcomes(exchange: Exchange): Promise<Reply> {
  const choices = parseOutcomeQuery(exchange.query);
  const filter = { ...choices, tenant: selectVisibleTenant(exchange) };
  const outcomes = await exchange.services.store.agentDirectory.read("outcomes", filter);
  if (outcomes.length === 0) refuseUnrecordedNames(choices.subject, choices.reporter);
  const last = outcomes.length < filter.limit ? undefined : outcomes.at(-1);
  return exchange.document(200, { outcomes, next: last?.position ?? null });
}
