// A policy's `actions` applied to one verify: the request at the level and the stakes that they give it.
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { decideAction } from "../../policy/actions.ts";
import type { ActionDecision } from "../../policy/actions.ts";
import type { VerdictContext } from "./verdict-context.ts";

/**
 * The request itself where the policy lists no actions. Otherwise a copy; `context` gets its stakes and
 * what was decided.
 * @throws ServiceFault `invalid_request` where the policy reads stakes that are no amount.
 */
export function applyActionEntries(context: VerdictContext, request: VerifyRequest): VerifyRequest {
  const { actions } = context.active;
  if (actions === undefined) return request;
  const { principal, facts = request, isLevelNamed } = context.call;
  const decision = decideAction(actions, {
    action: request.action,
    toolLevel: isLevelNamed === false ? undefined : request.tool_level,
    stakes: request.stakes,
    facts,
    assertsProperties: principal.assertsProperties === true,
  });
  const { toolLevel, stakes } = decision;
  context.actionDecision = decision;
  context.stakes = stakes ?? 0;
  return { ...request, tool_level: toolLevel, ...(stakes === undefined ? {} : { stakes }) };
}

/** As the response says it. */
export function describeActionDecision({
  entry,
  toolLevel,
  stakes,
}: ActionDecision): NonNullable<VerifyResponse["action_entry"]> {
  const pointer = entry < 0 ? null : `/actions/${entry}`;
  return { pointer, tool_level: toolLevel, stakes: stakes ?? 0 };
}
