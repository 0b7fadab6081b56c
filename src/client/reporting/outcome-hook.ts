// Outcome reporting (SPEC §4.8 rail 3) for hooks of the form `action.result`: reports the result of
// a tool call. Observe-only: it can neither fail nor delay the turn that it watches.
import { OUTCOME_ID_LENGTH_MAX } from "../../contract/limits.ts";
import type { OutcomeRequest } from "../messages.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import type { ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import { type OutcomeDrop, OutcomeQueue } from "./outcome-queue.ts";
import { hasVerdict, readReporter } from "./outcome-report.ts";
import { type SkipCallback, SkippedCalls, type SkippedCounts } from "./skipped-calls.ts";
import { isErrorValue } from "./tool-end.ts";

/** The members read of an `action.result` event; the frameworks' own have more. */
export interface ActionResultEvent {
  readonly data: {
    readonly turnId: string;
    readonly stepIndex: number;
    readonly sequence: number;
    readonly status: string;
    readonly result: unknown;
  };
}

/** Subject, reporter and stakes of reported results. */
export interface OutcomeHookOptions {
  readonly client?: TrustRankClient;
  /**
   * The policy that lets the calls through (`approval.policy` of eve's): the agent and the stakes it
   * asked about are the outcome's, and the outcome names the decision it settles. The event holds no
   * input: calls are known by session, id and name. A result that it did not decide on is reported only where
   * `tools` names the tool: else a session would earn trust by loading skills.
   */
  readonly policy?: ApprovalPolicy;
  /** Tools without a gate whose results are reported too. */
  readonly tools?: readonly string[];
  /**
   * The agent judged by the result; default: the one that the decision was about, for one of `tools` the
   * session's principal. Undefined: not reported. Without `policy` and `tools` it is asked about every result.
   */
  readonly subject?: (event: ActionResultEvent, context: unknown) => string | undefined;
  /** The reporter; default: the client's own `agentId`. */
  readonly reporter?: string;
  /** The value that was at risk; default: that of the decision, else 0. */
  readonly stakes?: (event: ActionResultEvent, context: unknown) => number;
  /**
   * Whether a failure was the agent's; false: stored, not folded. Without it, or where it returns undefined, a
   * call that failed is not reported: the event does not say who failed.
   */
  readonly isAgentFault?: (event: ActionResultEvent) => boolean | undefined;
  /** SPEC §2.6: `counterparty` is the write rail's grade. */
  readonly grade?: Grade;
  readonly queuedMax?: number;
  /** Called for every dropped outcome, in place of a warning once for each cause. */
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
  /** Called for every result that is not reported, in place of a warning where it is likely a mistake. */
  readonly onSkip?: SkipCallback;
}

/** The hook, its queue, and counts of unreported results. */
export interface OutcomeHook {
  readonly events: {
    readonly "action.result": (event: ActionResultEvent, context?: unknown) => void;
  };
  readonly queue: OutcomeQueue;
  readonly skipped: SkippedCounts;
}

/**
 * Makes the hook: give `events` to `defineHook({ events })`, and call `queue.flush` in the
 * shutdown.
 */
export function outcomeHook(options: OutcomeHookOptions = {}): OutcomeHook {
  const queue = new OutcomeQueue({
    client: () => requireClient(options.client),
    queuedMax: options.queuedMax,
    onDrop: options.onDrop,
  });
  const skipped = new SkippedCalls(options.onSkip);
  return {
    queue,
    skipped: skipped.counts,
    events: {
      "action.result": (event, context) => {
        let toolName = "";
        try {
          toolName = readToolName(event) ?? readTextAtPath(event.data.result, ["kind"]) ?? "";
          const outcome = buildHookOutcome(event, context, options);
          // eve's own tools have no gate: one line says so, not one for each of them.
          if (outcome === "undecided") skipped.addUndecided(toolName, "undecided");
          else if (typeof outcome === "string") skipped.add({ why: outcome, toolName });
          else queue.offer(outcome);
        } catch (thrown) {
          skipped.addUnattributed(toolName, thrown);
        }
      },
    },
  };
}

function buildHookOutcome(
  event: ActionResultEvent,
  context: unknown,
  options: OutcomeHookOptions,
): OutcomeRequest | keyof SkippedCounts {
  const { status, result } = event.data;
  // `rejected` is a gate's own refusal: the agent did nothing that could fail.
  if (status !== "completed" && status !== "failed") return "refused";
  const decision = findSettledDecision(event, context, options.policy);
  const isDecided = decision !== undefined && hasVerdict(decision);
  if (!isDecided && !isNamedByOptions(event, options)) return "undecided";
  if (decision?.action === "deny") return "refused";
  const subject =
    options.subject === undefined
      ? (decision?.subject ?? readPrincipalId(context))
      : options.subject(event, context);
  if (subject === undefined) return "unattributed";
  const isErrorOutput = isErrorValue((result as { output?: unknown } | null)?.output);
  const hasFailed = status === "failed" || isErrorOutput;
  const fault = hasFailed ? options.isAgentFault?.(event) : undefined;
  if (status === "failed" && fault === undefined) return "faultUnknown";
  const outcome: OutcomeRequest = {
    subject,
    reporter: readReporter(options),
    outcome: hasFailed ? 0 : 1,
    stakes: options.stakes?.(event, context) ?? decision?.stakes ?? 0,
    grade: options.grade ?? "counterparty",
    id: buildOutcomeId(event, readSessionId(context)),
  };
  const requestId = decision?.verdict?.request_id;
  if (requestId !== undefined) outcome.request_id = requestId;
  if (fault !== undefined) outcome.agent_fault = fault;
  return outcome;
}

function isNamedByOptions(
  event: ActionResultEvent,
  { policy, tools, subject }: OutcomeHookOptions,
): boolean {
  if (tools?.includes(readToolName(event) ?? "") === true) return true;
  return policy === undefined && tools === undefined && subject !== undefined;
}

function readToolName({ data }: ActionResultEvent): string | undefined {
  return readTextAtPath(data.result, ["toolName"]);
}

function findSettledDecision(
  { data }: ActionResultEvent,
  context: unknown,
  policy: ApprovalPolicy | undefined,
): ToolDecision | undefined {
  const callId = readTextAtPath(data.result, ["callId"]);
  const toolName = readTextAtPath(data.result, ["toolName"]);
  if (callId === undefined || toolName === undefined) return undefined;
  return policy?.decisionOn?.({ toolName, callId, conversationId: readSessionId(context) });
}

/**
 * Hooks are delivered at least once: the same event has the same id, and counts once. Turns are
 * counted within a session.
 */
function buildOutcomeId({ data }: ActionResultEvent, session: string | undefined): string {
  const { turnId, stepIndex, sequence } = data;
  const turn =
    session === undefined
      ? encodeIdToken(turnId)
      : `${encodeIdToken(session)}:${encodeIdToken(turnId)}`;
  return `${turn}:${stepIndex}:${sequence}`.slice(-OUTCOME_ID_LENGTH_MAX);
}

/** Percent signs are no token characters; `=` is, and encodeURIComponent never leaves one. */
function encodeIdToken(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, "~")
    .replaceAll("%", "=");
}

/** `session.id`; undefined when any step of it is missing. */
export function readSessionId(context: unknown): string | undefined {
  return readTextAtPath(context, ["session", "id"]);
}

/** `session.auth.current.principalId`; undefined when any step of it is missing. */
export function readPrincipalId(context: unknown): string | undefined {
  return readTextAtPath(context, ["session", "auth", "current", "principalId"]);
}

function readTextAtPath(root: unknown, steps: readonly string[]): string | undefined {
  let value = root;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return typeof value === "string" ? value : undefined;
}
