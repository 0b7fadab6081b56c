// Route protection: a `fetch`-style route behind a TrustGateway, in five lines for Hono, Deno, Bun,
// workers, Next routes or anything else that takes a Request and gives a Response.
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { TrustGateway } from "./gateway.ts";
import { answerHeaders, type AnyVerdict, type GatewayAnswer } from "../ruling.ts";
import type { VerificationCallback } from "../verification.ts";
import { assertVerificationCallback } from "./verification-step.ts";

/** Options of a protected route. */
export interface ProtectOptions {
  readonly gateway: TrustGateway;
  readonly toolLevel: ToolLevel;
  /** `<domain>.<operation>`. */
  readonly action: string;
  /** The caller, as proved by the identity layer. Throwing or giving no string refuses. */
  readonly agentId: (request: Request) => string | Promise<string>;
  readonly stakes?: (request: Request) => number | Promise<number>;
  /**
   * In place of the gateway's `verification`, with the request. An agent that it has verified for one
   * request is not verified twice, for the connection and for the action.
   */
  readonly verification?: VerificationCallback<Request>;
  /**
   * Content and sources of the answer, for the record (SPEC §4.9, post-transaction); undefined: no
   * record. Receives a copy of the response, so that it may read the text. No request waits for it,
   * and its errors are ignored.
   */
  readonly provenance?: (
    response: Response,
    request: Request,
  ) => AnswerProvenance | undefined | Promise<AnswerProvenance | undefined>;
}

/** Sources of an answer, with `content` (hashed here, not sent) or `content_hash`. */
export type AnswerProvenance =
  | { readonly content: string; readonly cited_sources: string[] }
  | { readonly content_hash: string; readonly cited_sources: string[] };

/** A route of any framework that speaks `fetch`. */
export type RouteHandler = (request: Request) => Response | Promise<Response>;

/**
 * The route behind the gateway, the trust handshake first where the gateway has a name of its own
 * (SPEC §4.9): 403 with the reason when the verdict is against the request or a
 * callback fails, 503 with `Retry-After` when there is no verdict at L2 or L3. At L0 and L1 no score is
 * against a request. A response let through without a verdict carries `X-Trust-Degraded`, on a low score
 * `X-Trust-Flagged`, and `X-Trust-Verification` where verification was due.
 * @throws TypeError when `verification` is no function.
 */
export function protectRoute(handler: RouteHandler, options: ProtectOptions): RouteHandler {
  assertVerificationCallback(options.verification);
  return async (request) => {
    let agentId: string;
    let stakes: number;
    try {
      agentId = await options.agentId(request);
      stakes = (await options.stakes?.(request)) ?? 0;
    } catch {
      return createDenialResponse(403, {
        "X-Trust-Effective": "deny",
        "X-Trust-Reason": "IDENTITY_UNKNOWN",
      });
    }
    const { gateway, toolLevel, action } = options;
    const { signal } = request;
    const verification = bindVerification(options.verification, request);
    const arrival = gateway.shakesHands
      ? await gateway.admit({ agentId, toolLevel, signal, verification })
      : undefined;
    // Without an answer now there would be none a moment later: one limit to wait for, not two.
    const answer =
      arrival === undefined || (arrival.allowed && !arrival.degraded)
        ? await gateway.authorize({ agentId, action, toolLevel, stakes, signal, verification })
        : arrival;
    const headers = answerHeaders(answer);
    if (!answer.allowed) return createDenialResponse(answer.status, headers);
    const response = await handler(request);
    if (options.provenance !== undefined) {
      const subject = { agent_id: agentId, action, request_id: answer.verdict?.request_id };
      void offerProvenance(options, subject, response.clone(), request);
    }
    return markResponse(response, answer, arrival, headers);
  };
}

/** The response with the headers of an answer that is marked; others pass as they are. */
function markResponse(
  response: Response,
  answer: GatewayAnswer<AnyVerdict>,
  arrival: GatewayAnswer<AnyVerdict> | undefined,
  headers: Record<string, string>,
): Response {
  const isFlagged = answer.flagged || arrival?.flagged === true;
  const verification = answer.verification ?? arrival?.verification;
  if (!answer.degraded && !isFlagged && verification === undefined) return response;
  const marked = new Response(response.body, response);
  for (const [name, value] of Object.entries(headers)) marked.headers.set(name, value);
  if (isFlagged) marked.headers.set("X-Trust-Flagged", "true");
  if (verification !== undefined) marked.headers.set("X-Trust-Verification", verification);
  return marked;
}

/** The route's callback for one request. */
function bindVerification(
  callback: VerificationCallback<Request> | undefined,
  request: Request,
): VerificationCallback<unknown> | undefined {
  if (callback === undefined) return undefined;
  const verified = new Set<string>();
  return async (verdict, weakerLeg) => {
    if (verified.has(weakerLeg.subject)) return true;
    const returned: unknown = await callback(verdict, weakerLeg, request);
    if (returned === true) verified.add(weakerLeg.subject);
    return returned === true;
  };
}

/** Never rejects. */
async function offerProvenance(
  { gateway, provenance }: ProtectOptions,
  subject: { agent_id: string; action: string; request_id: string | undefined },
  response: Response,
  request: Request,
): Promise<void> {
  try {
    const written = await provenance?.(response, request);
    if (written === undefined) return;
    const { agent_id, action, request_id } = subject;
    const about = request_id === undefined ? {} : { request_id };
    gateway.provenance.offer({ agent_id, action, ...about, ...written });
  } catch {
    // Observe-only: the answer has long been given.
  }
}

function createDenialResponse(status: number, headers: Record<string, string>): Response {
  const body = { error: headers["X-Trust-Verdict"] ?? "refuse", reason: headers["X-Trust-Reason"] };
  return Response.json(body, { status, headers: { ...headers, "Cache-Control": "no-store" } });
}
