// Assessor that defers texts too large for the reply's own callback: the exact findings at once,
// the score from another thread if it comes in time. A score after the deadline is reported as not
// assessed, never guessed.
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import type { VaultAssessor } from "./assessor.ts";
import type { VaultFinding } from "./findings.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

/** The same assessment on another thread. Rejects when it cannot be made. */
export type DeferredAssessor = (context: VerifyContext, tenant: string) => Promise<VaultFinding>;

/** Half of the 100 ms after which a gateway gives up (SPEC §8.1). */
export const DEFERRED_DEADLINE_MS = 50;

export class DeferringAssessor {
  readonly #inline: VaultAssessor;
  readonly #deferred: DeferredAssessor;
  readonly #deadlineMs: number;

  constructor(inline: VaultAssessor, later: DeferredAssessor, deadlineMs = DEFERRED_DEADLINE_MS) {
    this.#inline = inline;
    this.#deferred = later;
    this.#deadlineMs = deadlineMs;
  }

  /** Assesses; returns a promise only for a text that is too large to be scored in place. */
  assess(context: VerifyContext, tenant: string): VaultFinding | Promise<VaultFinding> {
    const finding = this.#inline.assess(context, tenant);
    const isTooLarge =
      context.content !== undefined && finding.reasonCode === "PROVENANCE_NOT_ASSESSED";
    return isTooLarge ? this.#awaitDeferred(this.#deferred(context, tenant), finding) : finding;
  }

  async #awaitDeferred(
    later: Promise<VaultFinding>,
    otherwise: VaultFinding,
  ): Promise<VaultFinding> {
    try {
      return await withDeadline(later, this.#deadlineMs, () => otherwise);
    } catch {
      // A full pool or a crashed thread counts as late.
      return otherwise;
    }
  }
}
