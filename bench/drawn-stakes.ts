// Stakes for streams of ratings, which have none that were known before the deal: drawn log-normal, so that
// money can be simulated. One level for each agent; its deals scatter around it. The outcome plays no part.
import { createSeededRandom } from "../src/kaizen/model/bootstrap.ts";
import type { RatedOutcome } from "./ratings.ts";

/** Median of all deals, in the unit of account, and the bounds that draws are cut to. */
const MEDIAN = 148;
const [LEAST, MOST] = [5, 10_000] as const;

/**
 * Standard deviations of the logarithm, 1.5 together: of the agents' levels, and of one agent's deals around
 * its level.
 */
const [LEVELS, DEALS] = [0.9, 1.2] as const;

/**
 * The stream with drawn stakes, the same for the same seed (an unsigned 32-bit integer); those of failures
 * are multiplied by `failureFactor` once they are cut.
 */
export function drawStakes(
  outcomes: readonly RatedOutcome[],
  seed: number,
  failureFactor: number,
): RatedOutcome[] {
  const random = createSeededRandom(seed);
  const levels = new Map<string, number>();
  return outcomes.map((outcome) => {
    let level = levels.get(outcome.subject);
    if (level === undefined) {
      level = Math.log(MEDIAN) + LEVELS * random.normal();
      levels.set(outcome.subject, level);
    }
    const drawn = Math.exp(level + DEALS * random.normal());
    const cut = Math.min(MOST, Math.max(LEAST, drawn));
    return { ...outcome, stakes: outcome.failure === 1 ? cut * failureFactor : cut };
  });
}
