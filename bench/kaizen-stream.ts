// Rating stream as rows for kaizen: every row scored once by the real engine, agents numbered,
// everything in order of time.
import type { ScoringConfig } from "../src/engine/config.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay } from "./replay.ts";

/** Numbers of the agents that `pick` names; `numbers` grows. */
function numberAgents(
  outcomes: readonly RatedOutcome[],
  numbers: Map<string, number>,
  pick: (o: RatedOutcome) => string,
) {
  return Uint32Array.from(outcomes, (outcome) => {
    const id = pick(outcome);
    const known = numbers.get(id) ?? numbers.size;
    numbers.set(id, known);
    return known;
  });
}

/** The whole stream for the handshake model. */
export function evidenceOf(outcomes: RatedOutcome[], config: ScoringConfig): FitRows {
  const numbers = new Map<string, number>();
  const { handshake, failures } = replay(outcomes, config, 0);
  return {
    rows: handshake,
    failures,
    subjects: numberAgents(outcomes, numbers, (o) => o.subject),
    reporters: numberAgents(outcomes, numbers, (o) => o.reporter),
    timesMs: Float64Array.from(outcomes, (o) => o.timeMs),
    weights: new Float64Array(outcomes.length).fill(1),
  };
}
