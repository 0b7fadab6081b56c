// A logged verify judged by another policy than the one that it was made by: what `trustrank policy test`
// compares. The agent's record is the one of that moment.
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { VERDICTS } from "../../contract/vocabulary.ts";
import type { LogReason, ToolLevel, Verdict } from "../../contract/vocabulary.ts";
import { decideAction } from "../../policy/actions.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { buildDecisionPolicy, decideLoggedVerify, type ReplayServices } from "./replay.ts";

export interface LoggedVerdict {
  readonly toolLevel: ToolLevel;
  readonly verdict: Verdict;
  readonly logReason: LogReason;
  /** Index of the entry of the policy's `actions` that decided the level; -1 for none. */
  readonly entry: number;
}

/**
 * The verdict of a logged verify by its own policy, or by a candidate. Under its own config where that is held,
 * else under the active one. A candidate's `actions` see the logged action alone: resources and properties
 * are not in the log, so that entries that read them do not match. The key's minimum is that of the logged level,
 * and sources count as verified unless they decided: the log does not have more.
 * @throws ServiceFault `not_found` for a leg that is no verify, or whose policy is not held.
 */
export function judgeLoggedVerify(
  services: ReplayServices,
  leg: ReplayableLeg,
  candidate: ActivePolicy | undefined,
): LoggedVerdict {
  if (leg.kind !== "verify" || leg.tool_level === null) {
    throw new ServiceFault("not_found", `decision \`${leg.request_id}\` is no verify`);
  }
  const { engine } = services;
  const made = buildDecisionPolicy(services, leg);
  const active = candidate ?? made;
  const { toolLevel, entry } =
    candidate === undefined
      ? { toolLevel: leg.tool_level, entry: leg.action_entry ?? -1 }
      : selectLoggedLevel(candidate, leg, leg.tool_level);
  const stakes = leg.stakes * active.terms.connect.unit;
  const logged = { inputs: leg.inputs, isKnown: leg.known, isHandshake: false, stakes };
  const isHeld = engine.holdsConfig(leg.config_version);
  const reading = engine.rejudge(logged, isHeld ? leg.config_version : engine.activeConfigVersion)!;
  const { ruling } = decideLoggedVerify({ leg, reading, active, made, toolLevel });
  const verdict = VERDICTS[ruling.verdictIndex]!;
  return { toolLevel, verdict, logReason: ruling.logReason, entry };
}

/** Where an entry gave the logged level, the request may have named another one, or none. */
function selectLoggedLevel({ actions }: ActivePolicy, leg: ReplayableLeg, logged: ToolLevel) {
  if (actions === undefined) return { toolLevel: logged, entry: -1 };
  return decideAction(actions, {
    action: leg.action ?? "",
    toolLevel: leg.action_entry === null ? logged : undefined,
    stakes: leg.stakes,
    facts: {},
    assertsProperties: false,
  });
}
