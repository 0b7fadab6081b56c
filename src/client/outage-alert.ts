// Alerts of an outage (SPEC §6): the service gives no verdict, and requests are blocked for it. The first
// blocked request raises the alert, later ones repeat it at most once a minute with the new count, and a
// service that flaps raises no alert storm. Without a callback the alert is a line at error level.
import { AGENT_ID_BYTES_MAX } from "../contract/limits.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { AlertPoster } from "./alert-poster.ts";
import type { TrustRankError } from "./errors.ts";
import { logError, readWallClockMs } from "./runtime.ts";

/** The service gave no verdict, and requests were blocked for it. */
export interface OutageAlert {
  readonly kind: "service_unreachable";
  readonly error: TrustRankError;
  /** Of the newest blocked request. */
  readonly agentId: string;
  readonly toolLevel: ToolLevel;
  /** Requests blocked for want of a verdict since `since`, the newest included. */
  readonly blockedCount: number;
  /** When the first of them was blocked: epoch milliseconds, and the same moment as RFC 3339 in UTC. */
  readonly sinceMs: number;
  readonly since: string;
}

export type AlertCallback = (alert: OutageAlert) => void | Promise<void>;

/** Least milliseconds between two alerts, whatever the service does meanwhile. */
const ALERT_INTERVAL_MS = 60_000;

export interface OutageAlerterOptions {
  /** In place of the lines at error level. */
  readonly onAlert?: AlertCallback | undefined;
  readonly poster?: AlertPoster | undefined;
  /** Epoch milliseconds; for tests. */
  readonly wallClock?: (() => number) | undefined;
}

export class OutageAlerter {
  readonly #onAlert: AlertCallback | undefined;
  readonly #poster: AlertPoster | undefined;
  readonly #wallClock: () => number;
  /** Whether the requests counted now have raised an alert. */
  #isRaised = false;
  #lastMs = Number.NEGATIVE_INFINITY;
  #blockedCount = 0;
  #sinceMs = 0;

  constructor({ onAlert, poster, wallClock = readWallClockMs }: OutageAlerterOptions) {
    this.#onAlert = onAlert;
    this.#poster = poster;
    this.#wallClock = wallClock;
  }

  /** A request was blocked for want of a verdict, at `nowMs` of the monotonic clock. Never throws. */
  recordBlocked(error: TrustRankError, agentId: string, toolLevel: ToolLevel, nowMs: number): void {
    if (this.#blockedCount === 0) this.#sinceMs = this.#wallClock();
    this.#blockedCount += 1;
    if (nowMs - this.#lastMs < ALERT_INTERVAL_MS) return;
    this.#isRaised = true;
    this.#lastMs = nowMs;
    const alert: OutageAlert = {
      kind: "service_unreachable",
      error,
      agentId,
      toolLevel,
      blockedCount: this.#blockedCount,
      sinceMs: this.#sinceMs,
      since: formatTime(this.#sinceMs),
    };
    const line = describeOutage(alert);
    if (this.#onAlert === undefined) logError(line);
    else callSafely(this.#onAlert, alert);
    this.#poster?.post(alert, line);
  }

  /** The service has given a verdict. Blocked requests that raised no alert yet stay counted for the next. */
  recordVerdict(): void {
    if (!this.#isRaised) return;
    if (this.#onAlert === undefined) {
      const span = `from ${formatTime(this.#sinceMs)} to ${formatTime(this.#wallClock())}`;
      logError(
        `trustrank: verdicts are available again; ${countRequests(this.#blockedCount)} ${span}`,
      );
    }
    this.#isRaised = false;
    this.#blockedCount = 0;
  }
}

/** One line: count, since when, cause, and the newest blocked request. */
function describeOutage(alert: OutageAlert): string {
  const { agentId, toolLevel, blockedCount, since, error } = alert;
  const newest = `newest: ${JSON.stringify(shortenAgentId(agentId))} at ${toolLevel}`;
  return `trustrank: no verdict (${error.code}); ${countRequests(blockedCount)} since ${since}; ${newest}`;
}

function countRequests(count: number): string {
  return `${count} ${count === 1 ? "request" : "requests"} blocked`;
}

function formatTime(atMs: number): string {
  return new Date(atMs).toISOString();
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

/** Text of an agent's name. No service has checked it: it may be anything, at any length. */
export function shortenAgentId(agentId: unknown): string {
  return String(agentId).slice(0, AGENT_ID_BYTES_MAX);
}
