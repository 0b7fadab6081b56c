// One alert per outage (SPEC §6): the first blocked request raises it, a verdict ends the outage,
// and a service that flaps raises no alert storm. Counts the suppressed requests.
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { TrustRankError } from "./errors.ts";

/** The service gave no verdict, and a request was blocked for it. */
export interface OutageAlert {
  readonly kind: "service_unreachable";
  readonly error: TrustRankError;
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  /** Requests blocked for want of a verdict since the last alert, this one included. */
  readonly blockedCount: number;
}

export type AlertCallback = (alert: OutageAlert) => void | Promise<void>;

/** Least milliseconds between two alerts, whatever the service does meanwhile. */
const ALERT_INTERVAL_MS = 60_000;

export class OutageAlerter {
  readonly #callback: AlertCallback | undefined;
  /** Whether the present outage has raised its alert. */
  #isRaised = false;
  #lastMs = Number.NEGATIVE_INFINITY;
  #blockedCount = 0;

  constructor(callback: AlertCallback | undefined) {
    this.#callback = callback;
  }

  /** A request was blocked for want of a verdict. Never throws. */
  recordBlocked(error: TrustRankError, agentId: string, toolLevel: ToolLevel, nowMs: number): void {
    this.#blockedCount += 1;
    if (this.#isRaised || nowMs - this.#lastMs < ALERT_INTERVAL_MS) return;
    this.#isRaised = true;
    this.#lastMs = nowMs;
    const blockedCount = this.#blockedCount;
    this.#blockedCount = 0;
    const alert: OutageAlert = {
      kind: "service_unreachable",
      error,
      agentId,
      toolLevel,
      blockedCount,
    };
    callSafely(this.#callback, alert);
  }

  /** The service has given a verdict. */
  recordVerdict(): void {
    this.#isRaised = false;
  }
}

/** Calls a user's observer and ignores its errors, thrown or rejected. */
export function callSafely<Value>(
  callback: ((value: Value) => void | Promise<void>) | undefined,
  value: Value,
): void {
  try {
    const returned = callback?.(value);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // Observers must not change the decision.
  }
}
