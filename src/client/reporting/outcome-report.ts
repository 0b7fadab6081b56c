// Outcome reporting for frameworks whose hooks name a tool call: one outcome per call that ran.
// Same queue, same promises as `outcomeHook`.
import { OUTCOME_ID_LENGTH_MAX } from "../../contract/limits.ts";
import type { Grade } from "../../contract/vocabulary.ts";
import type { TrustRankClient } from "../client.ts";
import { clientFor } from "../default-client.ts";
import { type OutcomeDrop, OutcomeQueue } from "./outcome-queue.ts";

/** A tool call that ran to an end. */
export interface ToolEnd {
  readonly toolName: string;
  readonly callId: string;
  readonly isSuccess: boolean;
}

/** Subject, reporter and stakes of reported results. */
export interface OutcomeReportOptions {
  readonly client?: TrustRankClient;
  /** The agent judged by the result of this call; undefined: not reported. */
  readonly subject: (end: ToolEnd) => string | undefined;
  /** The reporter; default: the client's own `agentId`. */
  readonly reporter?: string;
  /** The value that was at risk; default 0. */
  readonly stakes?: (end: ToolEnd) => number;
  readonly grade?: Grade;
  readonly queuedMax?: number;
  readonly onDrop?: (drop: OutcomeDrop) => void | Promise<void>;
}

/** Reports one end; returns at once and never throws. */
export interface OutcomeReport {
  (end: ToolEnd): void;
  readonly queue: OutcomeQueue;
}

const TOKEN = /^[A-Za-z0-9._~:/+=@-]+$/;

/** Makes the reporter for the adapters; call `queue.flush` in the shutdown. */
export function outcomeReport(options: OutcomeReportOptions): OutcomeReport {
  const queue = new OutcomeQueue({
    client: () => clientFor(options.client),
    queuedMax: options.queuedMax,
    onDrop: options.onDrop,
  });
  const report = (end: ToolEnd) => {
    try {
      const subject = options.subject(end);
      const reporter = options.reporter ?? clientFor(options.client).agentId;
      if (subject === undefined || reporter === undefined) return;
      const { callId } = end;
      const isId = TOKEN.test(callId) && callId.length <= OUTCOME_ID_LENGTH_MAX;
      queue.offer({
        subject,
        reporter,
        outcome: end.isSuccess ? 1 : 0,
        stakes: options.stakes?.(end) ?? 0,
        grade: options.grade ?? "counterparty",
        ...(isId ? { id: callId } : {}),
      });
    } catch {
      // Observe-only: a callback that fails costs this report, not the turn.
    }
  };
  return Object.assign(report, { queue });
}
