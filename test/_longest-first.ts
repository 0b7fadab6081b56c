// Order of the test files: the longest first, so that no worker is left with one of them at the end
// while the others have nothing to do.
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Files of ten seconds and more on two idle cores, longest first; the others follow in any order. */
const LONGEST = [
  "cluster/chaos",
  "cluster/power",
  "crash/promotion-crash",
  "crash/crash",
  "bench/smoke",
  "http/reads/metered-reads",
  "attack/suite",
  "stream/failover",
  "gateways/haproxy",
  "gateways/nginx",
  "gateways/caddy",
  "cli/serve-command",
  "docs/guide-commands",
  "bench/kaizen",
  "kaizen/service/service",
  "threads/http/end",
  "gateways/conformance",
  "service/failures",
  "kaizen/gates/attack-credibility",
  "cli/export-command",
  "spec/lines",
  "store/decisions/log",
].map((name) => `/test/${name}.test.ts`);

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((end) => moduleId.endsWith(end));
  return rank < 0 ? LONGEST.length : rank;
}

/** Vitest's sequencer: the listed files, then the rest as vitest orders them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- of vitest, not of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
