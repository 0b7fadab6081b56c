// Cursor over a history's failed texts: each is folded once its time has come, before the outcomes that
// settled after it are scored. Leaves the history as it is.
import type { TableWriter } from "../../engine/writer.ts";
import type { OutcomeHistory } from "./history.ts";

export class AssessmentCursor {
  readonly #assessments: OutcomeHistory["assessments"];
  readonly #writer: Pick<TableWriter, "foldAssessment">;
  #next = 0;

  constructor({ assessments }: OutcomeHistory, writer: Pick<TableWriter, "foldAssessment">) {
    this.#assessments = assessments;
    this.#writer = writer;
  }

  /**
   * Folds those that were journaled before outcome `i` and made by `clockMs`; `upTo` is called with the
   * time of each before. An imported outcome settled long before it was recorded: what was found
   * meanwhile waits, so that it does not see it.
   */
  foldUpTo(i: number, clockMs: number, upTo: (timeMs: number) => void = () => undefined): void {
    for (;;) {
      const due = this.#assessments[this.#next];
      if (due === undefined || due.before > i || due.assessment.assessedAtMs > clockMs) return;
      upTo(due.assessment.assessedAtMs);
      this.#writer.foldAssessment(due.assessment);
      this.#next++;
    }
  }
}
