// Assessor that defers texts too large for the reply's own callback: the exact findings at once,
// the score from another thread if it comes in time. A score after the deadline is reported as not
// assessed, never guessed.
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import type { VaultAssessor } from "./assessor.ts";
import type { Finding } from "./findings.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

/** The same assessment on another thread. Rejects when it cannot be made. */
export type LaterAssessment = (context: VerifyContext, tenant: string) => Promise<Finding>;

/** Half of the 100 ms after which a gateway gives up (SPEC §8.1). */
export const LATER_DEADLINE_MS = 50;

export class DeferringAssessor {
  readonly #inline: VaultAssessor;
  readonly #later: LaterAssessment;
  readonly #deadlineMs: number;

  constructor(inline: VaultAssessor, later: LaterAssessment, deadlineMs = LATER_DEADLINE_MS) {
    this.#inline = inline;
    this.#later = later;
    this.#deadlineMs = deadlineMs;
  }

  /** Assesses; returns a promise only for a text that is too large to be scored in place. */
  assess(context: VerifyContext, tenant: string): Finding | Promise<Finding> {
    const finding = this.#inline.assess(context, tenant);
    const isTooLarge =
      context.content !== undefined && finding.reasonCode === "PROVENANCE_NOT_ASSESSED";
    return isTooLarge ? this.#inTime(this.#later(context, tenant), finding) : finding;
  }

  async #inTime(later: Promise<Finding>, otherwise: Finding): Promise<Finding> {
    try {
      return await withDeadline(later, this.#deadlineMs, () => otherwise);
    } catch {
      // A full pool or a crashed thread counts as late.
      return otherwise;
    }
  }
}
