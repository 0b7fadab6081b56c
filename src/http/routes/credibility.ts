// Routes of reporter credibility: its present state, a refresh at once, and the graph of reporters.
import { ServiceFault } from "../../contract/faults.ts";
import { GRAPH_NODES_MAX, parseGraphLimit } from "../../contract/parse/parameters.ts";
import type { Credibility } from "../../kaizen/kaizen.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

/** A batch over ten million outcomes is half a minute. */
const BATCH_DEADLINE_MS = 300_000;

export const CREDIBILITY_ROUTES: readonly Route[] = [
  {
    name: "credibility_status",
    method: "GET",
    path: "/v1/kaizen/credibility",
    summary: "Whether reporters are weighed by credibility, and what the last batch found",
    access: "kaizen:run",
    responses: { 200: { description: "Switch and last batch", schema: "CredibilityStatus" } },
    isSynchronous: true,
    handle: (exchange) => exchange.document(200, requireCredibility(exchange).status()),
  },
  {
    name: "credibility_refresh",
    method: "POST",
    path: "/v1/kaizen/credibility",
    summary: "Computes every reporter's credibility from the whole history, now",
    access: "kaizen:run",
    responses: { 200: { description: "What changed", schema: "CredibilityBatch" } },
    isSynchronous: false,
    deadlineMs: BATCH_DEADLINE_MS,
    handle: async (exchange) =>
      exchange.document(200, await requireCredibility(exchange).refresh()),
  },
  {
    name: "credibility_graph",
    method: "GET",
    path: "/v1/kaizen/credibility/graph",
    summary: "Reporters of the last batch, who vouched for whom, and their clusters",
    access: "kaizen:run",
    query: {
      around: "A reporter: those within two steps of it, by the heaviest edges",
      limit: `At most so many reporters, 1 to ${GRAPH_NODES_MAX}; 200 when left out`,
    },
    responses: { 200: { description: "Reporters and edges", schema: "CredibilityGraph" } },
    isSynchronous: true,
    handle: showGraph,
  },
];

function showGraph(exchange: Exchange): Reply {
  const query = new URLSearchParams(exchange.head.query);
  const limit = parseGraphLimit(query.get("limit"));
  const around = query.get("around") ?? undefined;
  const graph = requireCredibility(exchange).graph(limit, around);
  if (graph !== undefined) return exchange.document(200, graph);
  throw new ServiceFault("not_found", "the last batch kept no such reporter");
}

function requireCredibility(exchange: Exchange): Credibility {
  const { credibility } = exchange.services;
  if (credibility !== undefined) return credibility;
  throw new ServiceFault("not_found", "this service runs without credibility");
}
