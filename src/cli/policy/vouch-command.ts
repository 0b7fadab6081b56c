// `trustrank policy vouch | unvouch NAMESPACE`: gives the operator's word for the unknown agents of a
// namespace, or takes it back. An edit of the policy in force: the rest of it stays.
import type { Policy, Vouching } from "../../contract/policy.ts";
import { CommandFailure } from "../../service/failure.ts";
import type { DataAccess } from "../data-access.ts";
import { printNote } from "../output.ts";
import { type PolicyFlags, activatePolicy, readActivePolicy } from "./policy-command.ts";

const DATE = /^\d{4}-\d\d-\d\d$/;

interface VouchFlags extends PolicyFlags {
  /** A date (its first moment, UTC) or an RFC 3339 date-time. */
  readonly until: string;
  readonly upTo?: Vouching["up_to"];
  readonly maxStakes?: string;
}

/**
 * Vouches for a namespace; an entry that it had is replaced, and those that have expired go.
 * @throws CommandFailure when the namespace or the time is not one.
 */
export async function vouch(
  access: DataAccess,
  namespace: string,
  flags: VouchFlags,
): Promise<void> {
  const until = DATE.test(flags.until) ? `${flags.until}T00:00:00Z` : flags.until;
  const { upTo, maxStakes } = flags;
  const given = {
    namespace,
    until,
    ...(upTo === undefined ? {} : { up_to: upTo }),
    ...(maxStakes === undefined ? {} : { max_stakes: Number(maxStakes) }),
  };
  const { policy } = await readActivePolicy(access, flags.tenant);
  const others = dropExpiredVouchings(policy).filter((each) => each.namespace !== namespace);
  const document = { ...policy, vouched: [given, ...others] };
  await activatePolicy(access, document, "the policy with this word", flags);
}

/**
 * Takes the word back.
 * @throws CommandFailure when the policy does not vouch for the namespace.
 */
export async function unvouch(
  access: DataAccess,
  namespace: string,
  flags: PolicyFlags,
): Promise<void> {
  const { policy } = await readActivePolicy(access, flags.tenant);
  const { vouched = [] } = policy;
  if (!vouched.some((each) => each.namespace === namespace)) {
    throw new CommandFailure(`the policy of ${flags.tenant} does not vouch for ${namespace}`);
  }
  const others = dropExpiredVouchings(policy).filter((each) => each.namespace !== namespace);
  const document = { ...policy, vouched: others };
  await activatePolicy(access, document, "the policy without this word", flags);
}

function dropExpiredVouchings({ vouched = [] }: Policy): Vouching[] {
  return vouched.filter(({ namespace, until }) => {
    const isInForce = Date.parse(until) > Date.now();
    if (!isInForce) printNote(`the word for ${namespace} expired at ${until}: left out`);
    return isInForce;
  });
}
