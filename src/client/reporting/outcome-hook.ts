// The write rail (SPEC §4.8 rail 3) for hooks of the form `action.result`: reports what a tool call
// came to. Observe-only: nothing here can fail or delay the turn that it watches.
import { OUTCOME_ID_LENGTH_MAX } from "../../contract/limits.ts";
import type { OutcomeRequest } from "../../contract/messages.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { clientFor } from "../default-client.ts";
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

/** Whom results are laid to, who says so, and what was at risk. */
export interface OutcomeHookOptions {
  readonly client?: TrustRankClient;
  /** Who is judged by the result; default: the session's principal. Undefined: not reported. */
  readonly subject?: (event: ActionResultEvent, context: unknown) => string | undefined;
  /** Who reports; default: the client's own `agentId`. */
  readonly reporter?: string;
  /** The value that was at risk; default 0. */
  readonly stakes?: (event: ActionResultEvent, context: unknown) => number;
  /** False when the tool or the network failed and not the agent: stored, not folded. */
  readonly isAgentFault?: (event: ActionResultEvent) => boolean;
  /** SPEC §2.6: `counterparty` is the write rail's grade. */
  readonly grade?: Grade;
  readonly queuedMax?: number;
  /** Told of every outcome that was given up. */
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
}

/** The hook, its queue, and what it did not report. */
export interface OutcomeHook {
  readonly events: {
    readonly "action.result": (event: ActionResultEvent, context?: unknown) => void;
  };
  readonly queue: OutcomeQueue;
  /** Results that are no outcomes: our own refusals, and what no subject could be found for. */
  readonly skipped: { rejected: number; unattributed: number };
}

/** The hook: give `events` to `defineHook({ events })`, and `queue.flush` to the shutdown. */
export function outcomeHook(options: OutcomeHookOptions = {}): OutcomeHook {
  const queue = new OutcomeQueue({
    client: () => clientFor(options.client),
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
          queue.offer(outcomeOf(event, context, options));
        } catch {
          skipped.unattributed += 1;
        }
      },
    },
  };
}

function outcomeOf(
  event: ActionResultEvent,
  context: unknown,
  options: OutcomeHookOptions,
): OutcomeRequest {
  const subject =
    options.subject === undefined ? principalOf(context) : options.subject(event, context);
  const reporter = options.reporter ?? clientFor(options.client).agentId;
  if (subject === undefined || reporter === undefined) throw new TypeError("nobody to report on");
  const isSuccess = event.data.status === "completed";
  const outcome: OutcomeRequest = {
    subject,
    reporter,
    outcome: isSuccess ? 1 : 0,
    stakes: options.stakes?.(event, context) ?? 0,
    grade: options.grade ?? "counterparty",
    id: outcomeId(event),
  };
  if (!isSuccess && options.isAgentFault !== undefined) {
    outcome.agent_fault = options.isAgentFault(event);
  }
  return outcome;
}

/** Hooks are delivered at least once: the same event has the same id, and counts once. */
function outcomeId({ data }: ActionResultEvent): string {
  const { turnId, stepIndex, sequence } = data;
  // Percent signs are no token characters; `=` is, and encodeURIComponent never leaves one.
  const turn = encodeURIComponent(turnId)
    .replaceAll(/[!'()*]/g, "~")
    .replaceAll("%", "=");
  return `${turn}:${stepIndex}:${sequence}`.slice(-OUTCOME_ID_LENGTH_MAX);
}

/** `session.auth.current.principalId`, wherever a step of it is missing: nobody. */
export function principalOf(context: unknown): string | undefined {
  let value = context;
  for (const step of ["session", "auth", "current", "principalId"]) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return typeof value === "string" ? value : undefined;
}
