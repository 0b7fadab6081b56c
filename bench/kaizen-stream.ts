// Rating stream as rows for kaizen: every row scored once by the real engine, agents numbered,
// everything in order of time.
import type { ScoringConfig } from "../src/engine/config.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay } from "./replay.ts";

function numberAgents(outcomes: readonly RatedOutcome[], pick: (o: RatedOutcome) => string) {
  const numbers = new Map<string, number>();
  return Uint32Array.from(outcomes, (outcome) => {
    const id = pick(outcome);
    const known = numbers.get(id) ?? numbers.size;
    numbers.set(id, known);
    return known;
  });
}

/** The whole stream for the handshake model. */
export function evidenceOf(outcomes: RatedOutcome[], config: ScoringConfig): FitRows {
  const { handshake, failures } = replay(outcomes, config, 0);
  return {
    rows: handshake,
    failures,
    subjects: numberAgents(outcomes, (o) => o.subject),
    reporters: numberAgents(outcomes, (o) => o.reporter),
    timesMs: Float64Array.from(outcomes, (o) => o.timeMs),
    weights: new Float64Array(outcomes.length).fill(1),
  };
}
