// Evidence that accrues over tests, as an e-process: many tests that say little each, all pointing one
// way, may prove together what none does alone, however often one looks (mixture of Howard and others
// 2021). For bench:kaizen-accrued; docs/decisions/0026 says why no gate goes by it.
import { normalCdf } from "./label-worlds.ts";

/** Shape of the mixture: sharpest where some four tests have been added. */
const RHO = 0.5;

/**
 * e-value of independent tests against "none gains anything", by their z: a likelihood ratio, averaged
 * over gains above 0. Where nothing is gained its expectation is at most 1, whenever one stops to look.
 */
export function eValue(zs: readonly number[]): number {
  const total = zs.length + RHO;
  const x = zs.reduce((sum, z) => sum + z, 0) / Math.sqrt(total);
  return 2 * Math.sqrt(RHO / total) * Math.exp((x * x) / 2) * normalCdf(x);
}

/** z of all tests together, each weighing alike. */
export function combinedZ(zs: readonly number[]): number {
  return zs.reduce((sum, z) => sum + z, 0) / Math.sqrt(Math.max(1, zs.length));
}
