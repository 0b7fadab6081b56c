// Amounts in words: cents only where they matter, and the unit that they are in.
import { formatNumber } from "../format.ts";
import { readSession } from "../session.ts";

/** The setting's default: the bureau has given no name. */
const NAMELESS_UNIT = "unit";

/** An amount: with cents below 1,000; a dash for none. */
export function formatAmount(value: number | null | undefined): string {
  return formatNumber(
    value,
    value !== null && value !== undefined && Math.abs(value) < 1000 ? 2 : 0,
  );
}

/** What the bureau counts stakes in, as words behind an amount. */
export function describeUnitOfAccount(): string {
  const name = readSession()?.unit_of_account ?? NAMELESS_UNIT;
  return name === NAMELESS_UNIT ? "units" : name;
}

/** The name of the unit of a tenant's amounts, of which one is worth `unit` of the bureau's. */
export function nameUnit(unit: number): string {
  return unit === 1 ? describeUnitOfAccount() : "of the tenant's unit";
}

/** The unit of a tenant's amounts, of which one is worth `unit` of the bureau's. */
export function describeUnit(unit: number): string {
  const name = describeUnitOfAccount();
  const account = name === "units" ? "units of account" : name;
  if (unit === 1) return `Amounts are in ${account}.`;
  return `Amounts are in the tenant's unit; one is worth ${formatNumber(unit, 6)} ${account}.`;
}
