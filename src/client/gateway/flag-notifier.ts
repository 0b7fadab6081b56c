// Notices of flagged answers (SPEC §8.2): once an agent and hour, so that a busy agent is one line to read.
import { putBounded } from "../bounded-map.ts";
import { callSafely } from "../outage-alert.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { AnyVerdict, GatewayAnswer, GatewayLog, LogCallback } from "../ruling.ts";
import { logWarning } from "../runtime.ts";

/** Receives a flagged answer: kind `low_score_allowed`. */
export type FlagCallback = (entry: GatewayLog) => void | Promise<void>;

const NOTICE_INTERVAL_MS = 3_600_000;
/** Agents remembered; of more, the one noticed least recently is noticed again. */
const AGENTS_MAX = 10_000;

export class FlagNotifier {
  readonly #onFlagged: FlagCallback;
  readonly #onLog: LogCallback | undefined;
  readonly #monotonic: () => number;
  /** Time of each agent's last notice, monotonic milliseconds. */
  readonly #noticedMs = new Map<string, number>();

  /** Without `onFlagged` the notice is a line at warning level. `onLog` gets each flagged answer. */
  constructor(
    onFlagged: FlagCallback | undefined,
    onLog: LogCallback | undefined,
    monotonic: () => number,
  ) {
    this.#onFlagged = onFlagged ?? warn;
    this.#onLog = onLog;
    this.#monotonic = monotonic;
  }

  /** Does nothing for an answer that is not flagged. Never throws. */
  notify(answer: GatewayAnswer<AnyVerdict>, agentId: string, toolLevel: ToolLevel): void {
    const { flagged, reason, verdict } = answer;
    if (!flagged || verdict === undefined) return;
    const entry: GatewayLog = { kind: "low_score_allowed", agentId, toolLevel, reason, verdict };
    callSafely(this.#onLog, entry);
    const nowMs = this.#monotonic();
    const lastMs = this.#noticedMs.get(agentId);
    if (lastMs !== undefined && nowMs - lastMs < NOTICE_INTERVAL_MS) return;
    putBounded(this.#noticedMs, agentId, nowMs, AGENTS_MAX);
    callSafely(this.#onFlagged, entry);
  }
}

function warn({ agentId, toolLevel, reason, verdict }: GatewayLog): void {
  const request = verdict === undefined ? "" : `, request ${verdict.request_id}`;
  logWarning(
    `trustrank: allowed ${JSON.stringify(agentId)} at ${toolLevel}, flagged for review: ${reason}${request}`,
  );
}
