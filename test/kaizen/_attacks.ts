// Made-up tapes of the attack scripts: legs whose only input is a risk, for judges that read it.
import type { AgentScore, LoggedInputs } from "../../src/engine/reading.ts";
import {
  ATTACK_NAMES,
  ATTACK_SCRIPTS,
  ATTACK_STAKES,
} from "../../src/kaizen/gates/attacks/scripts.ts";
import type {
  AttackScript,
  AttackRecordings,
  AttackLegs,
} from "../../src/kaizen/gates/attacks/scripts.ts";
import { createRisk } from "../policy/_connections.ts";

/** A score of the made-up judge: a known agent, clear but for what is `given`. */
export function createScore(given: Partial<AgentScore>): AgentScore {
  return {
    ...createRisk(),
    isKnown: true,
    failurePessimistic: 0,
    scoreInternal: 600,
    scoreEffective: 600,
    tierIndex: 0,
    regimeIndex: 0,
    stakesFrom: 0,
    stakesTo: Infinity,
    reasonIndexes: new Uint8Array(4),
    reasonCount: 0,
    configNumber: 1,
    ...given,
  };
}

/** Risk of each victim at each step, by script; .9 unless said. */
export type Risks = Partial<Record<AttackScript, (victim: number, step: number) => number>>;

/** Legs whose input is their risk. */
export function tapesOf(victims: number, risks: Risks): AttackRecordings {
  const legsAt = (risk: (victim: number) => number): AttackLegs => {
    const legs = Array.from({ length: victims }, (_, victim) =>
      ATTACK_STAKES.map((stakes): LoggedInputs => {
        return { inputs: [risk(victim)], isKnown: true, isHandshake: false, stakes };
      }),
    ).flat();
    return { check: legs, handshake: legs };
  };
  const tapes = ATTACK_NAMES.map((script) => {
    const { spent } = ATTACK_SCRIPTS[script];
    const risk = risks[script] ?? (() => (script === "bad_mouthing" ? 0.01 : 0.9));
    const asked = spent.map((_, step) => legsAt((victim) => risk(victim, step)));
    return [script, { spent, before: legsAt(() => 0.5), asked }] as const;
  });
  return Object.fromEntries(tapes) as unknown as AttackRecordings;
}
