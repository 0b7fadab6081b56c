// Warnings to the operator about voices: a service in which nothing is vouched for, and owners of namespaces whose
// signers count as one voice. Both say what such a voice can do and what is not bounded.
import type { NamespaceOwner } from "../../contract/namespaces.ts";
import { DAY_MS } from "../../contract/units.ts";
import type { StoredKey } from "./key-file.ts";

const CAP =
  "all keys and signing names of a tenant that is not vouched for are one voice: it moves an agent by less " +
  "than 10 points in all, never the base rate, and lifts no agent that mostly fails; the number of tenants " +
  "is not capped";

const UNVOUCHED_WARNING =
  "nothing is vouched for: no key for reporting is first-party, no namespace is granted as vouched and no " +
  `seeds are named, so that every outcome, signed or not, counts as its tenant's; ${CAP}; ` +
  "`trustrank keys create --first-party` makes a key whose reporters each count, " +
  "`trustrank namespaces grant --vouched` lets each signer count";

/** What an operator can have vouched for. */
export interface VouchingState {
  readonly keys: readonly StoredKey[];
  /** An administrator vouches for the owner of a namespace. */
  readonly hasVouchedOwner: boolean;
  /** Seeds are in use: credibility weighs each reporter. */
  readonly hasSeeds: boolean;
}

/**
 * One line for the operator, or empty. Keys that are revoked or expired at `nowMs` (epoch ms) do not
 * count, and an admin key vouches for the operator alone. Requiring signatures vouches for nobody.
 */
export function buildVouchingWarning(
  { keys, hasVouchedOwner, hasSeeds }: VouchingState,
  nowMs: number,
): string {
  if (hasSeeds || hasVouchedOwner) return "";
  const reporting = keys.filter(
    ({ scopes, revokedAtMs, expiresAtMs }) =>
      (scopes.includes("outcomes:write") || scopes.includes("admin")) &&
      revokedAtMs === null &&
      (expiresAtMs === null || expiresAtMs > nowMs),
  );
  const isVouched = (key: StoredKey) => key.isFirstParty === true && !key.scopes.includes("admin");
  const hasStrangers = reporting.some((key) => key.isFirstParty !== true);
  return hasStrangers && !reporting.some(isVouched) ? UNVOUCHED_WARNING : "";
}

/** Age of the oldest outcomes that `SignedCounts` includes. */
export const SIGNED_COUNTS_WINDOW_MS: number = 30 * DAY_MS;

/** Outcomes recorded in the last 30 days. */
export interface SignedCounts {
  /** Signed or not. */
  readonly total: number;
  /** Namespace -> outcomes that its reporters signed. */
  readonly signed: ReadonlyMap<string, number>;
}

const OWNERS_SHOWN = 5;

/**
 * One line while signers of owners whom nobody vouches for count as strangers, those with the most
 * outcomes first; or empty. `counts` is undefined until outcomes have been counted.
 */
export function buildUnvouchedOwnersWarning(
  owners: readonly NamespaceOwner[],
  counts: SignedCounts | undefined,
): string {
  if (owners.length === 0) return "";
  const countSigned = ({ namespace }: NamespaceOwner) => counts?.signed.get(namespace) ?? 0;
  const named = owners
    .toSorted((a, b) => countSigned(b) - countSigned(a))
    .slice(0, OWNERS_SHOWN)
    .map((owner) => {
      const share = counts && ` (${formatShare(countSigned(owner), counts.total)})`;
      return `${owner.namespace} of ${owner.tenant}${share ?? ""}`;
    });
  const more = owners.length - named.length;
  const others = more === 0 ? "" : ` and ${more} more`;
  const signed = owners.reduce((sum, owner) => sum + countSigned(owner), 0);
  const advice = "`trustrank namespaces grant --vouched` lets each signer count by itself";
  const names = `not vouched for: ${named.join(", ")}${others}`;
  return `${names}; ${describeShare(signed, counts)}; ${CAP}; ${advice}`;
}

function describeShare(signed: number, counts: SignedCounts | undefined): string {
  if (counts === undefined) return "the outcomes that they signed are not counted yet";
  const { total } = counts;
  if (total === 0) return "the last 30 days have no outcomes";
  return `they signed ${formatShare(signed, total)} of the ${total} outcomes of the last 30 days`;
}

/** In percent, to a tenth. */
function formatShare(count: number, total: number): string {
  if (count === 0) return "0 %";
  const percent = (100 * count) / total;
  return percent < 0.1 ? "under 0.1 %" : `${Number(percent.toFixed(1))} %`;
}
