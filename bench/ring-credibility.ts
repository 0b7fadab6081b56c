// Credibility of the reporters of a made-up history, by the code of the service: seeds that an
// operator would name, batches over what was reported until then.
import type { ScoringConfig } from "../src/engine/config.ts";
import { computeCredibility } from "../src/kaizen/credibility/page-rank.ts";
import { selectSeeds } from "../src/kaizen/credibility/seeds.ts";
import { createStandingPolicy } from "../src/kaizen/credibility/standings.ts";
import type { RingWindow } from "./ring-market.ts";

/** Batches over the whole history; the first of them computes for the rows of the second part. */
const BATCHES = 20;
const EARLIEST = { agents: [], namespaces: [], hasKeys: false, hasEarliest: true };

/** rho of each row's reporter after the last batch before it; 1 before the first. */
export function credibilityOfRows(window: RingWindow, config: ScoringConfig): Float64Array {
  const { evidence, isRing } = window;
  const { reporters, subjects, failures } = evidence;
  const agents = Math.max(...[reporters, subjects].map((ids) => ids.reduce(larger, 0))) + 1;
  const clean = [...isRing.keys()].filter((row) => isRing[row] === 0);
  const pick = (values: ArrayLike<number>) => Uint32Array.from(clean, (row) => values[row]!);
  // The operator's own names: none that a ring has pushed forward.
  const seeds = selectSeeds(EARLIEST, {
    ids: Array.from({ length: agents }, (_, agent) => `agent://eval/${agent}`),
    keyHolders: new Map(),
    edges: {
      agents,
      reporters: pick(reporters),
      subjects: pick(subjects),
      failures: pick(failures),
      count: clean.length,
    },
  });
  const count = failures.length;
  const rho = new Float64Array(count).fill(1);
  const options = createStandingPolicy(config).credibility;
  for (let batch = 1; batch < BATCHES; batch++) {
    const [from, to] = [batch, batch + 1].map((part) => Math.floor((part * count) / BATCHES));
    const edges = { agents, reporters, subjects, failures, count: from! };
    const found = computeCredibility(edges, seeds, options);
    if (found === undefined) continue;
    for (let row = from!; row < to!; row++) {
      rho[row] = Math.max(options.rhoMin, found.rho[reporters[row]!]!);
    }
  }
  return rho;
}

const larger = (a: number, b: number) => Math.max(a, b);
