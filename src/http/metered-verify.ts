// Verify for gateways and AuthZEN: the same `Bureau.verify` as `POST /v1/trust/verify`, metered the same, reduced
// to allowed or not.
import type { VerifyRequest, VerifyResponse } from "../contract/schemas/scores.ts";
import { parseVerifyRequest } from "../contract/parse/requests.ts";
import type { Exchange } from "./exchange.ts";

/** The parsed request's verdict, counted as a paid read. */
export function verifyAndCount(
  exchange: Exchange,
  request: VerifyRequest,
  requestId = exchange.requestId,
): VerifyResponse | Promise<VerifyResponse> {
  const call = { ...exchange.call(), requestId };
  const response = exchange.services.bureau.verify(request, call);
  if (response instanceof Promise) {
    return response.then((settled) => countVerify(exchange, request, settled));
  }
  return countVerify(exchange, request, response);
}

/** Members by the names of the contract; undefined ones are left out before they are parsed. */
export function parseVerifyMembers(members: Record<string, unknown>): VerifyRequest {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return parseVerifyRequest(Object.fromEntries(given));
}

/** Only ALLOW lets through. A key in shadow mode never blocks (its verdict is for the log). */
export function isRequestAllowed(response: VerifyResponse): boolean {
  return response.policy_action.verdict === "ALLOW" || !response.enforced;
}

/** Counts a verdict and the paid read that it was. Returns it. */
export function countVerify(
  exchange: Exchange,
  { tool_level: level, agent_id: agent }: VerifyRequest,
  response: VerifyResponse,
): VerifyResponse {
  exchange.services.tallies.countVerdict(level, response.policy_action);
  exchange.services.usage.countRead(exchange.principal, "verify", agent);
  return response;
}
