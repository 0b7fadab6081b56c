// Credibility of reporters along a history: what the batches in the journal had written when an outcome
// settled. The fit weighs a row by it, as the fold weighs the outcome.
import { FLAG_CREDIBILITY } from "../../../assembly/layout.ts";
import type { StandingsPart } from "../../engine/reading.ts";

/** Credibility of reporters as the journal's batches wrote it, outcome by outcome. */
export class ReporterCredibilities {
  readonly #least: number;
  readonly #rho = new Map<string, number>();
  #isInForce = false;

  /** @param least rho of a stranger. */
  constructor(least: number) {
    this.#least = least;
  }

  take({ isInForce, agents }: StandingsPart): void {
    this.#isInForce = isInForce;
    for (const { agent, flags, credibility } of agents) {
      if ((flags & FLAG_CREDIBILITY) === 0) this.#rho.delete(agent);
      else this.#rho.set(agent, credibility);
    }
  }

  /** rho of a reporter that signs, as the fold weighs it; 1 while none is in force. */
  of(agent: string): number {
    if (!this.#isInForce) return 1;
    return Math.min(1, Math.max(this.#least, this.#rho.get(agent) ?? 0));
  }
}
