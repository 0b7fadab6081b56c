// Outcome reporting for frameworks whose tools are called by name: one outcome for every run of a
// tool, none for what did not run. Same queue, same promises as `outcomeHook`.
import type { OutcomeRequest } from "../messages.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import type { AnyInput, ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import { type OutcomeDrop, OutcomeQueue } from "./outcome-queue.ts";
import { type SkipCallback, SkippedCalls, type SkippedCounts } from "./skipped-calls.ts";
import { hasThrown, isErrorValue, readThrow, type ToolEnd } from "./tool-end.ts";

/** Subject, reporter and stakes of reported results; `Input` is the tool's. */
export interface OutcomeReportOptions<Input = AnyInput> {
  readonly client?: TrustRankClient;
  /**
   * The policy that lets the calls through: the agent and the stakes it asked about are the
   * outcome's, and the outcome names the decision it settles. A call that it did not decide on is not reported.
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
  /**
   * Whether a failure was the agent's; false: stored, not folded. Default, or undefined: what a throw says by
   * `agentFault` (`AgentFaultError`), and a throw that says nothing is not reported; a returned error is the
   * agent's.
   */
  readonly isAgentFault?: (end: ToolEnd<Input>) => boolean | undefined;
  readonly grade?: Grade;
  readonly queuedMax?: number;
  /** Called for every dropped outcome, in place of a warning once for each cause. */
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
  /** Called for every call that is not reported, in place of a warning where it is likely a mistake. */
  readonly onSkip?: SkipCallback;
}

/** Reports one end; `Input` is the tool's. Returns at once and never throws. */
export interface OutcomeReport<Input = AnyInput> {
  (end: ToolEnd<Input>): void;
  readonly queue: OutcomeQueue;
  readonly skipped: SkippedCounts;
  /** Counts a call that has no end to report, for the adapters. */
  readonly skip: (why: keyof SkippedCounts, toolName: string) => void;
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
  const skipped = new SkippedCalls(options.onSkip);
  const report = (end: ToolEnd<Input>) => {
    const { toolName } = end;
    try {
      const decision = end.decision ?? options.policy?.decisionOn?.(end);
      const isNamed = options.policy === undefined && options.subject !== undefined;
      if (decision === undefined && !isNamed) return skipped.addUndecided(toolName);
      const outcome = buildReportedOutcome(end, decision, options);
      if (typeof outcome === "string") skipped.add({ why: outcome, toolName });
      else queue.offer(outcome);
    } catch (thrown) {
      // Observe-only: a callback that fails costs this report, not the turn.
      skipped.addUnattributed(toolName, thrown);
    }
  };
  const skip = (why: keyof SkippedCounts, toolName: string) => skipped.add({ why, toolName });
  return Object.assign(report, { queue, skipped: skipped.counts, skip });
}

/**
 * The outcome of one run, or why there is none. It has no id of its own: one run, one outcome, and ids of calls
 * repeat in the next conversation.
 * @throws TypeError when there is no reporter; what a callback throws.
 */
function buildReportedOutcome<Input>(
  end: ToolEnd<Input>,
  decision: ToolDecision | undefined,
  options: OutcomeReportOptions<Input>,
): OutcomeRequest | keyof SkippedCounts {
  if (decision?.action === "deny") return "refused";
  if (decision !== undefined && !hasVerdict(decision)) return "undecided";
  const result = readResult(end, options);
  if (typeof result === "string") return result;
  const subject = options.subject === undefined ? decision?.subject : options.subject(end);
  if (subject === undefined) return "unattributed";
  const outcome: OutcomeRequest = {
    ...result,
    subject,
    reporter: readReporter(options),
    stakes: options.stakes?.(end) ?? decision?.stakes ?? 0,
    grade: options.grade ?? "counterparty",
  };
  const requestId = decision?.verdict?.request_id;
  if (requestId !== undefined) outcome.request_id = requestId;
  return outcome;
}

/** False for a tool that runs without a gate (`approvalByTool`): it has no agent to judge. */
export function hasVerdict({ verdict, subject }: ToolDecision): boolean {
  return verdict !== undefined || subject !== undefined;
}

/** @throws TypeError when there is no reporter. */
export function readReporter({
  reporter,
  client,
}: Pick<OutcomeReportOptions, "reporter" | "client">): string {
  const name = reporter ?? requireClient(client).agentId;
  if (name !== undefined) return name;
  throw new TypeError("there is no reporter: pass `reporter`, or `agentId` to the client");
}

/** Success or failure, and whose a failure was; or why neither is known. */
function readResult<Input>(
  end: ToolEnd<Input>,
  { isSuccess: judge, isAgentFault }: OutcomeReportOptions<Input>,
): Pick<OutcomeRequest, "outcome" | "agent_fault"> | keyof SkippedCounts {
  const isThrow = hasThrown(end);
  const own = isThrow ? readThrow(end) : undefined;
  if (own === "unfinished") return own;
  const isSuccess = judge === undefined ? !isThrow && !isErrorValue(end.output) : judge(end);
  if (isSuccess === undefined) return "unattributed";
  if (isSuccess) return { outcome: 1 };
  const agentFault = isAgentFault?.(end) ?? own;
  if (agentFault === undefined) return isThrow ? "faultUnknown" : { outcome: 0 };
  return { outcome: 0, agent_fault: agentFault };
}
