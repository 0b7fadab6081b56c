// Tool calls that are not reported: counted by the reason, and told to the caller. Where the reason is most
// likely a mistake (no decision on the call, no reporter), it is also warned of once.
import { callSafely } from "../outage-alert.ts";
import { LossWarnings } from "./loss-warnings.ts";

/** Calls that were not reported, by the reason. */
export interface SkippedCounts {
  /** Refused by a verdict or by a person. */
  refused: number;
  /** The framework found the arguments or the tool invalid, and did not run it. */
  notRun: number;
  /** Cancelled by its caller, out of time, or parked from inside the tool. */
  unfinished: number;
  /** Threw, and neither the error nor `isAgentFault` says whose fault that was. */
  faultUnknown: number;
  /** No verdict let it through: the tool has no gate, or its policy is not the report's. */
  undecided: number;
  /** No subject or no reporter, success unknown, or a callback that failed. */
  unattributed: number;
}

/** A call that was not reported, with the reason. */
export interface SkippedCall {
  readonly why: keyof SkippedCounts;
  /** Empty where the framework does not tell it. */
  readonly toolName: string;
  /** What a callback threw, or what the setup lacks. */
  readonly error?: Error;
}

export type SkipCallback = (call: SkippedCall) => void | Promise<void>;

/** Counts of skipped calls, and the callback that receives them. */
export class SkippedCalls {
  readonly counts: SkippedCounts = {
    refused: 0,
    notRun: 0,
    unfinished: 0,
    faultUnknown: 0,
    undecided: 0,
    unattributed: 0,
  };
  readonly #onSkip: SkipCallback | undefined;
  readonly #warnings = new LossWarnings();

  /** Without `onSkip` a line at warning level says what is likely a mistake. */
  constructor(onSkip: SkipCallback | undefined) {
    this.#onSkip = onSkip;
  }

  /** Counts the call. With `advice` it is warned of, once for each `cause`. Never throws. */
  add(call: SkippedCall, advice?: { readonly cause: string; readonly text: string }): void {
    this.counts[call.why] += 1;
    if (this.#onSkip !== undefined) callSafely(this.#onSkip, call);
    else if (advice !== undefined) this.#warnings.warn(advice.cause, advice.text);
  }

  /** Counts a call that ran although no verdict let it through; warned of once for each `cause`. */
  addUndecided(toolName: string, cause = toolName): void {
    const text = `the tool \`${toolName}\` ran without a decision: no policy of this report has let it through, and nothing is reported`;
    this.add({ why: "undecided", toolName }, { cause, text });
  }

  /** Counts a call that cannot be reported because of `error`; warned of once for each message. */
  addUnattributed(toolName: string, thrown: unknown): void {
    const error =
      thrown instanceof Error ? thrown : new Error("a callback failed", { cause: thrown });
    const text = `an outcome of the tool \`${toolName}\` was not reported: ${error.message}`;
    this.add({ why: "unattributed", toolName, error }, { cause: error.message, text });
  }
}
