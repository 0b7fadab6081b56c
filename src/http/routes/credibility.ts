// Routes of reporter credibility: its present state, and a refresh at once.
import { ServiceFault } from "../../contract/faults.ts";
import type { Credibility } from "../../kaizen/credibility/credibility.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";

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
    handle: (exchange) => exchange.document(200, credibilityOf(exchange).status()),
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
    handle: async (exchange) => exchange.document(200, await credibilityOf(exchange).refresh()),
  },
];

function credibilityOf(exchange: Exchange): Credibility {
  const { credibility } = exchange.services;
  if (credibility !== undefined) return credibility;
  throw new ServiceFault("not_found", "this service runs without credibility");
}
