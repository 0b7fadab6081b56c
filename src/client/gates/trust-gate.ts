// Inbound gate (SPEC §4.8 rail 2): an authenticator that also asks for the authenticated agent's
// verdict. Fails closed. Typed by structure, so that any `(request) => identity` fits.
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import { createGateError, TrustGateError, TrustRankError } from "../errors.ts";
import type { TrustGateway } from "../gateway/gateway.ts";
import { isCallAllowed } from "../read-reply.ts";
import { callOrThrowGateError } from "./with-trust-rank.ts";

/** Maps an identity to a question to the bureau. */
export interface TrustGateOptions<Identity, Event> {
  readonly client?: TrustRankClient;
  /**
   * Asks by this gateway instead: a handshake where it has a name of its own, kept for five minutes,
   * with its alerts and its log (SPEC §4.9, after authentication). A missing verdict refuses still.
   */
  readonly gateway?: TrustGateway;
  /** The agent behind an identity; default: its `principalId`. Throwing refuses. */
  readonly agentId?: (identity: Identity, event: Event) => string;
  /** The value at risk on this route; default 0, or the gateway's. Throwing refuses. */
  readonly stakes?: (identity: Identity, event: Event) => number;
}

/** There is no verdict, so all are refused: thrown by the gate with a ready 503. */
export class TrustGateUnavailableError extends TrustRankError {
  constructor(cause: TrustRankError) {
    super(cause.code, `no trust verdict (${cause.code})`, {
      status: 503,
      retryAfterMs: cause.retryAfterMs,
      cause,
    });
    this.name = "TrustGateUnavailableError";
  }

  /** SPEC §7: 503 with retry guidance. A new object each time: bodies are read once. */
  get response(): Response {
    const retryAfterSec = Math.max(1, Math.ceil((this.retryAfterMs ?? 0) / 1000));
    const headers = { "Retry-After": String(retryAfterSec), "Cache-Control": "no-store" };
    const body = { error: this.message, code: this.code };
    return Response.json(body, { status: 503, headers });
  }
}

/**
 * `inner` behind the gate, with all properties of the function itself (challenges, OAuth metadata
 * under symbols). Identities unknown to `inner` (`null`, `undefined`) pass through unchanged:
 * another authenticator may know them. The gated function throws TrustGateError on a refusal, with
 * a 403 `response`, and TrustGateUnavailableError without a verdict, with a 503.
 */
export function trustGate<Identity extends object, Event>(
  inner: (event: Event) => Identity | null | undefined | Promise<Identity | null | undefined>,
  options: TrustGateOptions<Identity, Event> = {},
): (event: Event) => Promise<Identity | null | undefined> {
  const gated = async (event: Event) => {
    const identity = await inner(event);
    if (identity === null || identity === undefined) return identity;
    await assertAdmitted(identity, event, options);
    return identity;
  };
  const own: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(inner);
  delete own["name"];
  delete own["length"];
  delete own["prototype"];
  return Object.defineProperties(gated, own);
}

async function assertAdmitted<Identity extends object, Event>(
  identity: Identity,
  event: Event,
  options: TrustGateOptions<Identity, Event>,
): Promise<void> {
  const agentId = callOrThrowGateError("agentId", () =>
    options.agentId === undefined ? readGatePrincipal(identity) : options.agentId(identity, event),
  );
  const given = callOrThrowGateError("stakes", () => options.stakes?.(identity, event));
  if (options.gateway !== undefined)
    return assertAdmittedByGateway(options.gateway, agentId, given);
  const stakes = given ?? 0;
  let verdict;
  try {
    verdict = await requireClient(options.client).check(agentId, { stakes });
  } catch (thrown) {
    if (thrown instanceof TrustRankError) throw new TrustGateUnavailableError(thrown);
    throw new TrustGateError("the trust check failed", undefined, thrown);
  }
  // `escalate` needs a person, and no request waits for one.
  if (!isCallAllowed(verdict)) throw createGateError(agentId, verdict);
}

async function assertAdmittedByGateway(
  gateway: TrustGateway,
  agentId: string,
  stakes: number | undefined,
): Promise<void> {
  const answer = await gateway.admit({ agentId, ...(stakes === undefined ? {} : { stakes }) });
  if (answer.error !== undefined) throw new TrustGateUnavailableError(answer.error);
  if (!answer.allowed && answer.verdict !== undefined)
    throw createGateError(agentId, answer.verdict);
}

function readGatePrincipal(identity: object): string {
  const principal: unknown = Reflect.get(identity, "principalId");
  if (typeof principal === "string") return principal;
  throw new TypeError("the identity has no `principalId`: pass `agentId`");
}
