// Private engine for gate G6: the challenger's weights over random states.
import type { ScoringConfig } from "../../engine/config.ts";
import { createEngineMemory } from "../../engine/memory.ts";
import { openEngineReader } from "../../engine/reader.ts";
import { openEngineWriter } from "../../engine/writer.ts";
import { probeRandomStates } from "../gates/random-states.ts";
import type { RandomStateFindings } from "../gates/random-states.ts";
import type { ScorecardSide } from "../sides.ts";

const SEED = 0x7374617465n;
const VIEWER = "agent://state/viewer";

/** Ten thousand random states under two configs that differ in one scorecard. */
export function probeInPrivateEngine(
  side: ScorecardSide,
  champion: ScoringConfig,
  challenger: ScoringConfig,
  seed: number,
): RandomStateFindings {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, champion, SEED);
  const reader = openEngineReader(memory, 1);
  const stage = {
    install: (config: ScoringConfig) => void writer.installConfig(config),
    fold: writer.fold.bind(writer),
    read: (subject: string, stakes: number, nowMs: number) =>
      side === "check"
        ? reader.check(subject, stakes, nowMs)
        : reader.handshake(VIEWER, subject, stakes, nowMs)[0],
  };
  return probeRandomStates(stage, champion, challenger, seed);
}
