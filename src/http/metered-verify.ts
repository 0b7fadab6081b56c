// Verify for gateways and AuthZEN: the same `Bureau.verify` as `POST /v1/trust/verify`, metered the same, reduced
// to allowed or not.
import type { VerifyRequest, VerifyResponse } from "../contract/schemas/scores.ts";
import { parseVerifyRequest } from "../contract/parse/requests.ts";
import type { CallContext } from "../bureau/bureau.ts";
import type { Exchange } from "./exchange.ts";

/** What a verify of a gateway or of AuthZEN has beside its request. */
interface VerifyFacts extends Pick<CallContext, "facts" | "isLevelNamed"> {
  /** Absent: the exchange's own. */
  readonly requestId?: string;
}

/** The parsed request's verdict, counted as a paid read. */
export function verifyAndCount(
  exchange: Exchange,
  request: VerifyRequest,
  asked: VerifyFacts,
): VerifyResponse | Promise<VerifyResponse> {
  const { requestId = exchange.requestId, ...more } = asked;
  const call = { ...exchange.call(), requestId, ...more };
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
  const decided = response.action_entry?.tool_level ?? level;
  exchange.services.tallies.countVerdict(decided, response.policy_action);
  exchange.services.usage.countRead(exchange.principal, "verify", agent);
  return response;
}
