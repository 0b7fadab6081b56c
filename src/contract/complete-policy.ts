// A policy in part -> the whole policy: what it leaves out is as shipped. Apart from the parser,
// because threads that only read recorded policies need no schemas: loading their compiler costs a
// thread a tenth of a second of CPU.
import { DEFAULT_POLICY } from "./policy.ts";
import type { Policy } from "./policy.ts";
import type { PolicyRequest } from "./schemas/policy.ts";

/** The members that count: rules, whole or in part. */
type PolicyRules = Pick<
  PolicyRequest,
  "levels" | "allow_inverted" | "vouched" | "stakes" | "actions" | "unsettled_stakes"
>;

/** The shipped policy with the rules of `given` in the place of its own. */
export function fillPolicyDefaults(given: PolicyRules): Policy {
  const { levels } = DEFAULT_POLICY;
  return {
    levels: {
      L0: { ...levels.L0, ...given.levels?.L0 },
      L1: { ...levels.L1, ...given.levels?.L1 },
      L2: { ...levels.L2, ...given.levels?.L2 },
      L3: { ...levels.L3, ...given.levels?.L3 },
    },
    allow_inverted: given.allow_inverted ?? false,
    ...(given.vouched === undefined || given.vouched.length === 0
      ? {}
      : { vouched: given.vouched }),
    ...(given.stakes === undefined || Object.keys(given.stakes).length === 0
      ? {}
      : { stakes: given.stakes }),
    ...(given.actions === undefined || given.actions.length === 0
      ? {}
      : { actions: given.actions }),
    ...(given.unsettled_stakes === undefined ? {} : { unsettled_stakes: given.unsettled_stakes }),
  };
}
