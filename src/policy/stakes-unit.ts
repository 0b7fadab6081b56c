// The unit of a tenant's stakes: what one of them is in the bureau's unit of account. Journaled with every
// outcome, so that a later unit does not rewrite what is proven.
import type { Policy } from "../contract/policy.ts";

/** Factor from the tenant's stakes to the unit of account, above 0; 1 where its policy names none. */
export function readStakesUnit(policy: Policy): number {
  return policy.stakes?.unit ?? 1;
}
