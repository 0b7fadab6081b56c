// Inbound gate (SPEC §4.8 rail 2): an authenticator that also asks for the verdict on the authenticated
// agent, by verify at a tool level. Fails closed. Typed by structure, so that any `(request) => identity` fits.
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import {
  createGateError,
  describeMissingVerdict,
  TrustGateError,
  TrustRankError,
} from "../errors.ts";
import type { TrustGateway } from "../gateway/gateway.ts";
import type { AnyVerdict, GatewayAnswer } from "../ruling.ts";
import {
  findWeakerLeg,
  type VerificationCallback,
  verifyWeakerLeg,
  type WeakerLeg,
} from "../verification.ts";
import { type ActionQuery, askActionVerdict, createActionVerdict } from "./action-verdict.ts";
import {
  ACTION,
  assertOptions,
  callOrThrowGateError,
  createObjectRule,
  FUNCTION,
  type OptionRule,
  readStakes,
  TOOL_LEVEL,
} from "./gate-options.ts";
import {
  createTrustMark,
  putTrustMark,
  type TrustMark,
  warnVerificationDue,
} from "./trust-mark.ts";
import { selectPassage } from "./passage.ts";

/** The call that a gate decides on. */
export interface GateCall<Identity, Event> {
  readonly identity: Identity;
  readonly event: Event;
}

/** Maps an identity to a question to the bureau. */
export interface TrustGateOptions<Identity, Event> {
  readonly client?: TrustRankClient;
  /**
   * Asks by this gateway instead: the same verify, kept for five minutes, with its alerts and its log, and
   * a handshake first where it has a name of its own (SPEC §4.9). A missing verdict refuses still.
   */
  readonly gateway?: TrustGateway;
  /** The agent behind an identity; default: its `principalId`. Throwing refuses. */
  readonly agentId?: (identity: Identity, event: Event) => string;
  /** Tool level of what is behind the gate; default L2. */
  readonly level?: ToolLevel;
  /** The value at risk on this route; default: what the policy assumes without stakes. Throwing refuses. */
  readonly stakes?: (identity: Identity, event: Event) => number;
  /** The action in the decision log, `<domain>.<operation>`; default `route.call`. */
  readonly action?: string | ((identity: Identity, event: Event) => string);
  /**
   * Additional verification, for a `CHALLENGE` that waits for no person and for a connection that is to be
   * verified. Without one a `CHALLENGE` is refused, and what is allowed with verification due is admitted
   * with a mark (`readTrustMark`).
   */
  readonly verification?: VerificationCallback<GateCall<Identity, Event>>;
  /** Called before an identity is returned, for example to set `mark.headers`. Throwing refuses. */
  readonly onAdmitted?: (mark: TrustMark, call: GateCall<Identity, Event>) => void | Promise<void>;
}

const ACTION_DEFAULT = "route.call";
const RULES: Readonly<Record<keyof TrustGateOptions<object, unknown>, OptionRule>> = {
  client: createObjectRule("a TrustRankClient", ["verify"]),
  gateway: createObjectRule("a TrustGateway", ["admit", "authorize"]),
  agentId: FUNCTION,
  level: TOOL_LEVEL,
  stakes: FUNCTION,
  action: ACTION,
  verification: FUNCTION,
  onAdmitted: FUNCTION,
};

/** There is no verdict, so all are refused: thrown by the gate with a ready 503. */
export class TrustGateUnavailableError extends TrustRankError {
  constructor(cause: TrustRankError) {
    super(cause.code, describeMissingVerdict(cause), {
      status: 503,
      retryAfterMs: cause.retryAfterMs,
      errors: cause.errors,
      cause,
    });
    this.name = "TrustGateUnavailableError";
  }

  /** SPEC §7: 503 with retry guidance. A new object each time: bodies are read once. */
  get response(): Response {
    const retryAfterSec = Math.max(1, Math.ceil((this.retryAfterMs ?? 0) / 1000));
    const headers = { "Retry-After": String(retryAfterSec), "Cache-Control": "no-store" };
    // The detail is for the asking program to correct, not for its caller.
    const body = { error: `no trust verdict (${this.code})`, code: this.code };
    return Response.json(body, { status: 503, headers });
  }
}

/**
 * `inner` behind the gate, with all properties of the function itself (challenges, OAuth metadata
 * under symbols). Identities unknown to `inner` (`null`, `undefined`) pass through unchanged:
 * another authenticator may know them. The gated function admits whom verify allows at the level and
 * stakes, or `verification` confirms. It throws TrustGateError on a refusal, with a 403 `response`, and
 * TrustGateUnavailableError without a verdict, with a 503.
 * @throws TypeError at once, when an option is unknown or of the wrong type.
 */
export function trustGate<Identity extends object, Event>(
  inner: (event: Event) => Identity | null | undefined | Promise<Identity | null | undefined>,
  options: TrustGateOptions<Identity, Event> = {},
): (event: Event) => Promise<Identity | null | undefined> {
  if (typeof inner !== "function") throw new TypeError("`inner` must be a function");
  assertOptions(options, RULES);
  const gated = async (event: Event) => {
    const identity = await inner(event);
    if (identity === null || identity === undefined) return identity;
    await admit({ identity, event }, options);
    return identity;
  };
  const own: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(inner);
  delete own["name"];
  delete own["length"];
  delete own["prototype"];
  return Object.defineProperties(gated, own);
}

async function admit<Identity extends object, Event>(
  call: GateCall<Identity, Event>,
  options: TrustGateOptions<Identity, Event>,
): Promise<void> {
  const { client, gateway, verification } = options;
  const query = buildQuery(call, options);
  const { agentId } = query;
  const verify = verification && bindVerification(verification, call);
  const asked =
    gateway === undefined ? askClient(query, client, verify) : askGateway(query, gateway, verify);
  const mark = createTrustMark(agentId, await asked.catch(throwClosed));
  putTrustMark(mark, [call.identity, call.event]);
  try {
    await options.onAdmitted?.(mark, call);
  } catch (cause) {
    throw new TrustGateError("callback `onAdmitted` failed", undefined, cause);
  }
}

/** The verification of one call, which verifies each agent once: a handshake and verify may both ask. */
function bindVerification<Call>(
  verification: VerificationCallback<Call>,
  call: Call,
): VerificationCallback<unknown> {
  const results = new Map<string, boolean | Promise<boolean>>();
  return (verdict, weakerLeg) => {
    const result = results.get(weakerLeg.subject) ?? verification(verdict, weakerLeg, call);
    results.set(weakerLeg.subject, result);
    return result;
  };
}

function buildQuery<Identity extends object, Event>(
  { identity, event }: GateCall<Identity, Event>,
  { agentId, action = ACTION_DEFAULT, level = "L2", stakes }: TrustGateOptions<Identity, Event>,
): ActionQuery {
  return {
    agentId: callOrThrowGateError("agentId", () =>
      agentId === undefined ? readGatePrincipal(identity) : agentId(identity, event),
    ),
    action: callOrThrowGateError("action", () =>
      typeof action === "string" ? action : action(identity, event),
    ),
    toolLevel: level,
    stakes: readStakes(stakes && (() => stakes(identity, event))),
  };
}

/**
 * Admits by the client's own verify. Resolves with the leg whose verification is still due.
 * @throws TrustGateError on a refusal; TrustRankError without a verdict.
 */
async function askClient(
  query: ActionQuery,
  client: TrustRankClient | undefined,
  verify: VerificationCallback<unknown> | undefined,
): Promise<WeakerLeg | undefined> {
  const { agentId, toolLevel } = query;
  const verdict = await askActionVerdict(requireClient(client), query);
  const passage = selectPassage(verdict, toolLevel);
  if (passage === "open") return undefined;
  const isVerifiable = passage === "marked" || passage === "verification";
  if (isVerifiable && verify !== undefined) {
    if (await verifyWeakerLeg(verify, verdict, agentId, undefined)) return undefined;
  } else if (passage === "marked") {
    warnVerificationDue();
    return findWeakerLeg(verdict, agentId);
  }
  throw createGateError(agentId, verdict);
}

/** The same by a gateway, which verifies, warns and keeps answers itself. */
async function askGateway(
  { agentId, action, toolLevel, stakes }: ActionQuery,
  gateway: TrustGateway,
  verification: VerificationCallback<unknown> | undefined,
): Promise<WeakerLeg | undefined> {
  const named = stakes === undefined ? {} : { stakes };
  const request = { agentId, action, toolLevel, verification, ...named };
  let due: WeakerLeg | undefined;
  const read = <Verdict extends AnyVerdict>(answer: GatewayAnswer<Verdict>) => {
    const verdict = requireVerdict(answer);
    if (answer.verification === "due") due ??= findWeakerLeg(verdict, agentId);
    return answer.allowed ? undefined : verdict;
  };
  const unconnected = gateway.shakesHands ? read(await gateway.admit(request)) : undefined;
  if (unconnected !== undefined) throw createGateError(agentId, unconnected);
  const withheld = read(await gateway.authorize(request));
  if (withheld !== undefined)
    throw createGateError(agentId, createActionVerdict(agentId, withheld));
  return due;
}

/** The verdict behind an answer: the fail policy of a tool level opens no gate. */
function requireVerdict<Verdict extends AnyVerdict>({ error, verdict }: GatewayAnswer<Verdict>) {
  if (verdict !== undefined && error === undefined) return verdict;
  throw error ?? new TrustRankError("malformed_reply", "the gateway has no verdict");
}

/** A fault of any kind, as an error with a response. */
function throwClosed(thrown: unknown): never {
  if (thrown instanceof TrustGateError) throw thrown;
  if (thrown instanceof TrustRankError) throw new TrustGateUnavailableError(thrown);
  throw new TrustGateError("the trust check failed", undefined, thrown);
}

function readGatePrincipal(identity: object): string {
  const principal: unknown = Reflect.get(identity, "principalId");
  if (typeof principal === "string") return principal;
  throw new TypeError("the identity has no `principalId`: pass `agentId`");
}
