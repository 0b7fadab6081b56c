// Limits on what an agent does, applied to a verdict, and unsettled stakes, applied to a verdict and to a connection:
// the stakes that the agent was let through for and that no outcome has settled count with those of the call, which is
// judged as one call of the sum. Both come after everything else and can only restrict.
import type { HeldStakes } from "../../contract/activity/source.ts";
import type { LimitCode } from "../../contract/activity/codes.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { extractNamespace } from "../../contract/namespaces.ts";
import type { VerifyRequest } from "../../contract/schemas/scores.ts";
import { DECISION, EXPOSURE_CODE, VERDICT } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import { findExceededLimit, isLimitRuling, LIMIT_RULINGS } from "../../policy/limits.ts";
import { isReviewRequired } from "../../policy/rules.ts";
import { type Ruling, SUFFICIENT, THIN_TOLERATED, TOLERATED } from "../../policy/rulings.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** Counts the call of a verify and holds its stakes, where the level lets stakes count. */
export function beginVerifyActivity(context: VerdictContext, request: VerifyRequest): void {
  const { services, call, agentId, nowMs, active, limited, stakes } = context;
  const { tool_level: toolLevel } = request;
  limited.sessionSeconds = request.context.session_duration_sec ?? -1;
  if (request.reserve === false) return;
  if (call.isBatched !== true) {
    const { tenant } = call.principal;
    const counted = services.activity.countCall(tenant, agentId, request.action, nowMs);
    limited.isCounted = services.activity.isKept;
    limited.calls = counted.calls;
    limited.newActions = counted.newActions;
  }
  const { enforce, counts_stakes: areCounted } = active.policy.levels[toolLevel];
  if (stakes > 0 && enforce && areCounted) holdStakes(context);
}

/** Holds the stakes of the context's call for its agent. */
export function holdStakes(context: VerdictContext): void {
  const { services, active, stakes, nowMs, limited } = context;
  if (stakes === 0 || active.unsettledStakes === "ignore" || !services.activity.isKept) return;
  const held = describeHeldStakes(context);
  const unsettled = services.activity.hold(held, nowMs);
  context.held = held;
  context.unsettled = unsettled / active.terms.connect.unit;
  limited.exposure = context.unsettled + stakes;
}

/**
 * The same for a leg of a handshake, unless its agent is the asking tenant's own: that tenant gets no outcomes about its
 * own agent, so that nothing would settle what it holds.
 */
export function holdLegStakes(context: VerdictContext): void {
  const { services, call, agentId } = context;
  const owner = services.registry.owners.findOwnerTenant(extractNamespace(agentId));
  if (owner !== call.principal.tenant) holdStakes(context);
}

function describeHeldStakes(context: VerdictContext): HeldStakes {
  const { call, agentId, stakes } = context;
  const amount = context.convertToAccountUnit(stakes);
  return { tenant: call.principal.tenant, agent: agentId, requestId: call.requestId, amount };
}

/**
 * Ends the decision of a verify on stakes that it holds: what is let through stays held whole, what is to be verified
 * by the share that verifying does not catch; what waits for a person or is refused not at all.
 */
export function keepVerifiedStakes(context: VerdictContext, ruling: Ruling): void {
  if (context.held === undefined) return;
  const { rules, reading } = context;
  const isPersonAsked = isReviewRequired(ruling, rules) || isHeldForPerson(context, ruling);
  const isChallenged = ruling.verdictIndex === VERDICT.CHALLENGE && !isPersonAsked;
  const missed = isChallenged ? 1 - reading.verifyCatch : 0;
  keepShare(context, ruling.verdictIndex === VERDICT.ALLOW ? 1 : missed);
}

/** A leg as far as its stakes are held. */
interface HeldLeg {
  readonly reading: Pick<AgentScore, "verifyCatch">;
  readonly held: HeldStakes | undefined;
}

/**
 * Logs a connection, then ends the decision on what its legs hold; `decisionIndex` is that of the whole answer. One that
 * cannot be logged is not given, and holds nothing.
 */
export function logAndKeepStakes(
  { services: { activity }, nowMs }: VerdictContext,
  legs: readonly HeldLeg[],
  decisionIndex: number,
  log: () => void,
): void {
  let isLogged = false;
  try {
    log();
    isLogged = true;
  } finally {
    for (const { reading, held } of legs) {
      if (held === undefined) continue;
      const share = isLogged ? computeKeptShare(decisionIndex, reading) : 0;
      activity.keep(held, held.amount * share, nowMs);
    }
  }
}

function computeKeptShare(decisionIndex: number, { verifyCatch }: HeldLeg["reading"]): number {
  if (decisionIndex === DECISION.connect) return 1;
  return decisionIndex === DECISION.connect_with_verification ? 1 - verifyCatch : 0;
}

function keepShare({ services, held, nowMs }: VerdictContext, share: number): void {
  services.activity.keep(held!, held!.amount * share, nowMs);
}

/** Nothing came of the call: its stakes are not held. */
export function releaseStakes(context: VerdictContext): void {
  if (context.held !== undefined) keepShare(context, 0);
}

/** Runs `decide` at the stakes of the call and the unsettled ones together. */
export function judgeAtSum<Judged>(context: VerdictContext, decide: () => Judged): Judged {
  const { stakes, unsettled } = context;
  context.stakes = stakes + unsettled;
  const judged = decide();
  context.stakes = stakes;
  return judged;
}

/** An ALLOW at the stakes of the call is challenged where the sum is not allowed, or marked where that is only logged. */
export function applyUnsettledStakes(context: VerdictContext, ruling: Ruling): Ruling {
  const { sumRuling, active } = context;
  if (ruling.verdictIndex !== VERDICT.ALLOW || sumRuling === undefined) return ruling;
  if (sumRuling.verdictIndex === VERDICT.ALLOW) return ruling;
  const isEnforced = active.unsettledStakes === "enforce";
  context.services.activity.noteLimit("EXPOSURE_ABOVE_CAP", isEnforced ? "enforce" : "log");
  return isEnforced ? EXPOSED : ruling;
}

/** Whether a request is challenged for its sum of stakes, which waits for a person. */
export function isHeldForPerson({ isReviewAtSum }: VerdictContext, ruling: Ruling): boolean {
  return ruling === EXPOSED && isReviewAtSum;
}

/** Whether a limit challenges: the next call may be another one's. */
export function isEnforcedLimit(ruling: Ruling): boolean {
  return ruling.verdictIndex === VERDICT.CHALLENGE && isLimitRuling(ruling);
}

const EXPOSED = LIMIT_RULINGS.enforce.EXPOSURE_ABOVE_CAP;

/**
 * Decides a leg at the sum, then at the stakes of the call, and gives the stricter index; `context.overrideCode` says
 * where the sum decided.
 */
export function decideLegAtSum(
  context: VerdictContext,
  decide: (context: VerdictContext) => number,
): number {
  if (context.unsettled === 0) return decide(context);
  const sumIndex = judgeAtSum(context, () => decide(context));
  const index = decide(context);
  if (sumIndex <= index) return index;
  const isEnforced = context.active.unsettledStakes === "enforce";
  context.services.activity.noteLimit("EXPOSURE_ABOVE_CAP", isEnforced ? "enforce" : "log");
  if (!isEnforced) return index;
  context.overrideCode = EXPOSURE_CODE;
  return sumIndex;
}

/**
 * The ruling of the level in `context.rules` after the limits that are enforced. What is not allowed stays: a limit
 * names only what nothing else denies.
 */
export function applyEnforcedLimits(context: VerdictContext, ruling: Ruling): Ruling {
  const { active, rules, limited, services } = context;
  if (ruling.verdictIndex !== VERDICT.ALLOW) return ruling;
  const code = findExceededLimit(active.limits[rules.toolLevel], limited, "enforce");
  if (code === undefined) return ruling;
  services.activity.noteLimit(code, "enforce");
  return LIMIT_RULINGS.enforce[code];
}

/** A plain ALLOW beyond a limit that is only logged is marked, once a UTC day for each agent, tenant and limit. */
export function markLoggedLimits(context: VerdictContext, ruling: Ruling): Ruling {
  const { active, rules, limited, services, nowMs } = context;
  const code = findExceededLimit(active.limits[rules.toolLevel], limited, "log");
  if (code === undefined || !limited.isCounted) return ruling;
  services.activity.noteLimit(code, "log");
  const isPlain = ruling === SUFFICIENT || ruling === TOLERATED || ruling === THIN_TOLERATED;
  return isPlain && services.activity.markOncePerDay(code, nowMs)
    ? LIMIT_RULINGS.log[code]
    : ruling;
}

/** The ruling of a limit that named a logged verify: what the agent had done until then is not in the log. */
export function findLoggedLimit({
  log_reason: reason,
  verdict,
}: Pick<ReplayableLeg, "log_reason" | "verdict">): Ruling | undefined {
  if (reason === null || !(reason in LIMIT_RULINGS.log)) return undefined;
  return LIMIT_RULINGS[verdict === "ALLOW" ? "log" : "enforce"][reason as LimitCode];
}
