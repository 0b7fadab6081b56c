// Outcome reporting for frameworks whose tools are called by name: one outcome for every run of a
// tool, none for what did not run. Same queue, same promises as `outcomeHook`.
import type { OutcomeRequest } from "../messages.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import type { AnyInput, ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import { type OutcomeDrop, OutcomeQueue } from "./outcome-queue.ts";
import { hasThrown, isErrorValue, isUnfinished, type ToolEnd } from "./tool-end.ts";

/** Subject, reporter and stakes of reported results; `Input` is the tool's. */
export interface OutcomeReportOptions<Input = AnyInput> {
  readonly client?: TrustRankClient;
  /**
   * The policy that lets the calls through: the agent and the stakes it asked about are the
   * outcome's, and the outcome names the decision it settles.
   */
  readonly policy?: ApprovalPolicy<Input>;
  /**
   * The agent judged by the result of this call; default: the one that the decision was about.
   * Undefined: not reported.
   */
  readonly subject?: (end: ToolEnd<Input>) => string | undefined;
  /** The reporter; default: the client's own `agentId`. */
  readonly reporter?: string;
  /** The value that was at risk; default: that of the decision, else 0. */
  readonly stakes?: (end: ToolEnd<Input>) => number;
  /**
   * Whether the call did what it was for; default: it returned, and no error value. Undefined: not
   * known, not reported.
   */
  readonly isSuccess?: (end: ToolEnd<Input>) => boolean | undefined;
  /** False when the tool or the network failed and not the agent: stored, not folded. */
  readonly isAgentFault?: (end: ToolEnd<Input>) => boolean;
  readonly grade?: Grade;
  readonly queuedMax?: number;
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
}

/** Calls that were not reported, by the reason. */
export interface SkippedCounts {
  /** Refused or not approved by this policy. */
  refused: number;
  /** The framework found the arguments or the tool invalid, and did not run it. */
  notRun: number;
  /** Cancelled, or parked from inside the tool. */
  unfinished: number;
  /** No subject or no reporter, success unknown, or a callback that failed. */
  unattributed: number;
}

/** Reports one end; `Input` is the tool's. Returns at once and never throws. */
export interface OutcomeReport<Input = AnyInput> {
  (end: ToolEnd<Input>): void;
  readonly queue: OutcomeQueue;
  readonly skipped: SkippedCounts;
}

/** Makes the reporter for the adapters; call `queue.flush` in the shutdown. */
export function outcomeReport<Input = AnyInput>(
  options: OutcomeReportOptions<Input>,
): OutcomeReport<Input> {
  const queue = new OutcomeQueue({
    client: () => requireClient(options.client),
    queuedMax: options.queuedMax,
    onDrop: options.onDrop,
  });
  const skipped: SkippedCounts = { refused: 0, notRun: 0, unfinished: 0, unattributed: 0 };
  const report = (end: ToolEnd<Input>) => {
    try {
      const decision = end.decision ?? options.policy?.decisionOn?.(end);
      if (decision?.action === "deny") skipped.refused += 1;
      else if (isUnfinished(end)) skipped.unfinished += 1;
      else queue.offer(buildReportedOutcome(end, decision, options));
    } catch {
      // Observe-only: a callback that fails costs this report, not the turn.
      skipped.unattributed += 1;
    }
  };
  return Object.assign(report, { queue, skipped });
}

/**
 * The outcome of one run. It has no id of its own: one run, one outcome, and ids of calls repeat in
 * the next conversation.
 * @throws TypeError when there is nobody to report on, or success is not known.
 */
function buildReportedOutcome<Input>(
  end: ToolEnd<Input>,
  decision: ToolDecision | undefined,
  options: OutcomeReportOptions<Input>,
): OutcomeRequest {
  const subject = options.subject === undefined ? decision?.subject : options.subject(end);
  const reporter = options.reporter ?? requireClient(options.client).agentId;
  const isSuccess =
    options.isSuccess === undefined
      ? !hasThrown(end) && !isErrorValue(end.output)
      : options.isSuccess(end);
  if (subject === undefined || reporter === undefined || isSuccess === undefined) {
    throw new TypeError("nothing to report");
  }
  const outcome: OutcomeRequest = {
    subject,
    reporter,
    outcome: isSuccess ? 1 : 0,
    stakes: options.stakes?.(end) ?? decision?.stakes ?? 0,
    grade: options.grade ?? "counterparty",
  };
  if (!isSuccess && options.isAgentFault !== undefined) {
    outcome.agent_fault = options.isAgentFault(end);
  }
  const requestId = decision?.verdict?.request_id;
  if (requestId !== undefined) outcome.request_id = requestId;
  return outcome;
}
