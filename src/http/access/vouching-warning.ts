// Start-up warning for a deployment without a first-party key: every unsigned outcome counts as unvouched, so
// that no agent can build a record.
import type { StoredKey } from "./key-file.ts";

const UNVOUCHED_WARNING =
  "nothing is vouched for: no key for reporting is first-party and no seeds are named, so that " +
  "unsigned outcomes count as strangers'; `trustrank keys create --first-party` makes such a key";

/**
 * One line for the operator, or empty. Keys that are revoked or expired at `nowMs` (epoch ms) do not
 * count, and an admin key vouches for the operator alone. `isTrustNamed`: seeds are in use, or
 * unsigned outcomes are refused.
 */
export function buildVouchingWarning(
  keys: readonly StoredKey[],
  nowMs: number,
  isTrustNamed: boolean,
): string {
  if (isTrustNamed) return "";
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
