// Counts of answers by their content: verdicts, decisions, faults, outcomes. Apart from the counts of
// requests, because a request that another thread has relayed is counted there, and its content here.
import type { FaultCode } from "../../contract/faults.ts";
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import type { Decision, ToolLevel } from "../../contract/vocabulary.ts";
import { VERDICT_CELL_COUNT, computeVerdictCell } from "./verdict-cells.ts";

/** Counts as data that may cross between threads. */
export interface AnswerTallyCounts {
  /** Cell (verdict-cells.ts) and count; only those that are not 0. */
  verdicts: [number, number][];
  checks: Record<Decision, number>;
  handshakes: Record<Decision, number>;
  faults: [FaultCode, number][];
  outcomesRefused: [FaultCode, number][];
  outcomesRepeated: number;
}

export class AnswerTallies {
  readonly checks: Record<Decision, number> = createDecisionCounts();
  readonly handshakes: Record<Decision, number> = createDecisionCounts();
  outcomesRepeated = 0;
  readonly #verdicts = new Float64Array(VERDICT_CELL_COUNT);
  readonly #faults = new Map<FaultCode, number>();
  readonly #outcomesRefused = new Map<FaultCode, number>();

  countVerdict(level: ToolLevel, action: VerifyResponse["policy_action"]): void {
    this.addVerdicts(computeVerdictCell(level, action), 1);
  }

  addVerdicts(cell: number, count: number): void {
    this.#verdicts[cell] = this.#verdicts[cell]! + count;
  }

  /** A request that is answered with a problem. */
  countFault(code: FaultCode): void {
    this.#faults.set(code, (this.#faults.get(code) ?? 0) + 1);
  }

  /** A report of an outcome that is, alone or as an item of a batch. */
  refuseOutcome(code: FaultCode): void {
    this.#outcomesRefused.set(code, (this.#outcomesRefused.get(code) ?? 0) + 1);
  }

  counts(): AnswerTallyCounts {
    const { checks, handshakes, outcomesRepeated } = this;
    const verdicts = [...this.#verdicts.entries()].filter(([, count]) => count > 0);
    const faults = [...this.#faults];
    return {
      verdicts,
      checks,
      handshakes,
      faults,
      outcomesRefused: [...this.#outcomesRefused],
      outcomesRepeated,
    };
  }
}

function createDecisionCounts(): Record<Decision, number> {
  return { connect: 0, connect_with_verification: 0, escalate: 0, refuse: 0 };
}
