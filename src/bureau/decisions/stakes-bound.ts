// The largest stakes of a decision in their wire form.

/** Rounded down, so that the stakes named never draw a stricter decision; null: any stakes. */
export function encodeStakesBound(stakes: number): number | null {
  return stakes === Number.POSITIVE_INFINITY ? null : Math.floor(stakes * 10_000) / 10_000;
}
