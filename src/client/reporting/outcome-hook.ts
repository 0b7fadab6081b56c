// Outcome reporting (SPEC §4.8 rail 3) for hooks of the form `action.result`: reports the result of
// a tool call. Observe-only: it can neither fail nor delay the turn that it watches.
import { OUTCOME_ID_LENGTH_MAX } from "../../contract/limits.ts";
import type { OutcomeRequest } from "../messages.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import type { ApprovalPolicy, ToolDecision } from "../gates/approval.ts";
import { type OutcomeDrop, OutcomeQueue } from "./outcome-queue.ts";

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
   * input: calls are known by session, id and name.
   */
  readonly policy?: ApprovalPolicy;
  /**
   * The agent judged by the result; default: the one that the decision was about, else the session's
   * principal. Undefined: not reported.
   */
  readonly subject?: (event: ActionResultEvent, context: unknown) => string | undefined;
  /** The reporter; default: the client's own `agentId`. */
  readonly reporter?: string;
  /** The value that was at risk; default: that of the decision, else 0. */
  readonly stakes?: (event: ActionResultEvent, context: unknown) => number;
  /** False when the tool or the network failed and not the agent: stored, not folded. */
  readonly isAgentFault?: (event: ActionResultEvent) => boolean;
  /** SPEC §2.6: `counterparty` is the write rail's grade. */
  readonly grade?: Grade;
  readonly queuedMax?: number;
  /** Called for every dropped outcome. */
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
}

/** The hook, its queue, and counts of unreported results. */
export interface OutcomeHook {
  readonly events: {
    readonly "action.result": (event: ActionResultEvent, context?: unknown) => void;
  };
  readonly queue: OutcomeQueue;
  /** Results that are no outcomes: refusals of a gate, and results without a subject. */
  readonly skipped: { rejected: number; unattributed: number };
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
  const skipped = { rejected: 0, unattributed: 0 };
  return {
    queue,
    skipped,
    events: {
      "action.result": (event, context) => {
        try {
          // `rejected` is a gate's own refusal: the agent did nothing that could fail.
          if (event.data.status !== "completed" && event.data.status !== "failed") {
            skipped.rejected += 1;
            return;
          }
          queue.offer(buildHookOutcome(event, context, options));
        } catch {
          skipped.unattributed += 1;
        }
      },
    },
  };
}

function buildHookOutcome(
  event: ActionResultEvent,
  context: unknown,
  options: OutcomeHookOptions,
): OutcomeRequest {
  const decision = findSettledDecision(event, context, options.policy);
  const subject =
    options.subject === undefined
      ? (decision?.subject ?? readPrincipalId(context))
      : options.subject(event, context);
  const reporter = options.reporter ?? requireClient(options.client).agentId;
  if (subject === undefined || reporter === undefined) throw new TypeError("nobody to report on");
  const isSuccess = event.data.status === "completed";
  const outcome: OutcomeRequest = {
    subject,
    reporter,
    outcome: isSuccess ? 1 : 0,
    stakes: options.stakes?.(event, context) ?? decision?.stakes ?? 0,
    grade: options.grade ?? "counterparty",
    id: buildOutcomeId(event, readSessionId(context)),
  };
  const requestId = decision?.verdict?.request_id;
  if (requestId !== undefined) outcome.request_id = requestId;
  if (!isSuccess && options.isAgentFault !== undefined) {
    outcome.agent_fault = options.isAgentFault(event);
  }
  return outcome;
}

function findSettledDecision(
  { data }: ActionResultEvent,
  context: unknown,
  policy: ApprovalPolicy | undefined,
): ToolDecision | undefined {
  const { callId, toolName } = (data.result ?? {}) as { callId?: unknown; toolName?: unknown };
  if (typeof callId !== "string" || typeof toolName !== "string") return undefined;
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
