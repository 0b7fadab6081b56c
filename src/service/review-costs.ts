// Review costs for `doctor`: which tenants have put an amount on a person's look at one deal, by the policies
// in the journal. Reads only.
import { FRAME_KINDS, readFrameKind } from "../journal/format.ts";
import { JournalReader } from "../journal/reader.ts";
import { REVIEW_COST_DEFAULT } from "../contract/stakes-policy.ts";
import { copyFramePayload } from "../ledger/state.ts";
import { diskFileLayer } from "../platform/files.ts";
import { decodePolicyEvent } from "../policy/policy-book.ts";

/** Tenants named in one line. */
const TENANTS_SHOWN = 5;

export interface ReviewCosts {
  readonly detail: string;
  /** Empty when every tenant with a policy of its own has set it. */
  readonly advice: string;
}

/**
 * Whether tenants have set `stakes.review_cost`, by the records up to `lsn`.
 * @throws JournalDamaged when one of them does not verify.
 */
export function describeReviewCosts(journal: string, lsn: number): ReviewCosts {
  const costs = new Map<string, number | undefined>();
  const reader = new JournalReader(diskFileLayer, journal);
  reader.readRecords(0, lsn, Number.POSITIVE_INFINITY, (bytes, at) => {
    if (readFrameKind(bytes, at) !== FRAME_KINDS.policy) return;
    const { tenant, policy } = decodePolicyEvent(copyFramePayload(bytes, at));
    costs.set(tenant, policy.stakes?.review_cost);
  });
  reader.close();
  return describeCosts(costs);
}

/** The same where there is no journal yet. */
export function describeNoReviewCosts(): ReviewCosts {
  return describeCosts(new Map());
}

function describeCosts(costs: ReadonlyMap<string, number | undefined>): ReviewCosts {
  const set = [...costs].filter(([, cost]) => cost !== undefined);
  const unset = [...costs.keys()].filter((tenant) => costs.get(tenant) === undefined);
  const advice = "set `stakes.review_cost` in the tenant's policy: `trustrank policy set`";
  const shipped = `a person's look counts for ${REVIEW_COST_DEFAULT}, stakes are taken as units of account`;
  if (set.length === 0) return { detail: `review cost not set: ${shipped}`, advice };
  const detail = `review cost set by ${listTenants(set.map(([name, cost]) => `${name} (${cost})`))}`;
  if (unset.length === 0) return { detail, advice: "" };
  return { detail: `${detail}; not set by ${listTenants(unset)}: ${shipped}`, advice };
}

function listTenants(names: readonly string[]): string {
  const rest = names.length - TENANTS_SHOWN;
  const shown = names.slice(0, TENANTS_SHOWN).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}
