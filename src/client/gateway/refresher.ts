// Background refresh of a gateway (SPEC §4.9, "periodic refresh", batch mode): agents that are in use
// are asked about again by `verify/batch` shortly before their cached answer ends, so that none of
// their requests waits. Bounded in agents, in the size of a batch and in batches at once. A fault
// changes nothing: the answer lives as long as it did, and the next attempt waits longer.
import { BATCH_ITEMS_MAX, VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { putBounded } from "../bounded-map.ts";
import { convertToTrustRankError } from "../errors.ts";
import type { VerifyRequest, VerifyResponse } from "../messages.ts";
import type { VerifyBatchItem } from "../read-reply.ts";
import { scheduleAfter } from "../runtime.ts";

/** How much a refresh may do. */
export interface RefreshOptions {
  /** Most agents kept fresh, those used last; default 1,000. */
  readonly agentsMax?: number;
  /** Most agents in one batch; default 100. */
  readonly batchMax?: number;
  /** Most batches at once; default 2. */
  readonly batchesMax?: number;
}

/** A question that was answered from the cache, as it will be asked again. */
export interface RefreshQuery {
  readonly action: string;
  readonly toolLevel: ToolLevel;
  readonly stakes: number;
}

/** What the refresher is given: the clock, the cache and the service. */
export interface RefreshPort {
  readonly monotonic: () => number;
  /** Lifetime of answers, milliseconds. */
  readonly ttlMs: number;
  readLifetime(
    agentId: string,
    question: RefreshQuery,
    nowMs: number,
  ): { askedMs: number; endMs: number } | undefined;
  verifyBatch(requests: readonly VerifyRequest[], signal: AbortSignal): Promise<VerifyBatchItem[]>;
  /** Says later whether answers to what is asked now may be kept. */
  createValidityCheck(): () => boolean;
  put(agentId: string, question: RefreshQuery, verdict: VerifyResponse, askedMs: number): void;
}

/** Agents kept fresh, agents in a batch, batches at once. */
export const REFRESH_AGENTS_MAX = 1000;
export const REFRESH_BATCH_MAX = 100;
export const REFRESH_BATCHES_MAX = 2;
/** Longest wait after faults, milliseconds; the first is a twelfth, doubled each time. */
export const REFRESH_PAUSE_MS_MAX = 60_000;
const RETRY_PAUSE_MS = 5000;
/** An answer in the last fifth of its life is refreshed; four looks fall into that time. */
const WINDOW_DIVISOR = 5;
const CHECKS_PER_WINDOW = 4;

interface TrackedQuery extends RefreshQuery {
  readonly usedMs: number;
}

export class CacheRefresher {
  readonly #port: RefreshPort;
  readonly #agentsMax: number;
  readonly #batchMax: number;
  readonly #batchesMax: number;
  readonly #windowMs: number;
  /** By agent; map order is age of use. */
  readonly #tracked = new Map<string, TrackedQuery>();
  readonly #inFlightAgents = new Set<string>();
  readonly #stop = new AbortController();
  #batchesInFlight = 0;
  #consecutiveFaults = 0;
  #resumeMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(port: RefreshPort, options: RefreshOptions) {
    this.#port = port;
    this.#agentsMax = Math.max(1, options.agentsMax ?? REFRESH_AGENTS_MAX);
    const batchMax = Math.max(1, options.batchMax ?? REFRESH_BATCH_MAX);
    this.#batchMax = Math.min(BATCH_ITEMS_MAX, batchMax);
    this.#batchesMax = Math.max(1, options.batchesMax ?? REFRESH_BATCHES_MAX);
    this.#windowMs = Math.min(port.ttlMs, VERDICT_TTL_MS) / WINDOW_DIVISOR;
  }

  /** A cached answer was used: its agent is in use until the answer is refreshed. */
  trackUse(agentId: string, question: RefreshQuery, nowMs: number): void {
    if (this.#stop.signal.aborted) return;
    const { action, toolLevel, stakes } = question;
    const query = { action, toolLevel, stakes, usedMs: nowMs };
    putBounded(this.#tracked, agentId, query, this.#agentsMax);
    this.#cancel ??= scheduleAfter(this.#windowMs / CHECKS_PER_WINDOW, this.#checkDueAndReschedule);
  }

  /** Drops an agent, or all. */
  forget(agentId?: string): void {
    if (agentId === undefined) this.#tracked.clear();
    else this.#tracked.delete(agentId);
  }

  /** Ends the refresh for good: no timer, no batch under way. */
  close(): void {
    this.#stop.abort();
    this.#cancel?.();
    this.#cancel = undefined;
    this.#tracked.clear();
  }

  readonly #checkDueAndReschedule = (): void => {
    this.#cancel = undefined;
    this.#sendDueBatches();
    if (this.#tracked.size > 0)
      this.#cancel = scheduleAfter(this.#windowMs / CHECKS_PER_WINDOW, this.#checkDueAndReschedule);
  };

  /** Sends what is due, as many batches as may be under way. */
  #sendDueBatches(): void {
    const nowMs = this.#port.monotonic();
    if (this.#stop.signal.aborted || nowMs < this.#resumeMs) return;
    const due = this.#collectDue(nowMs);
    for (let start = 0; start < due.length; start += this.#batchMax) {
      if (this.#batchesInFlight >= this.#batchesMax) return;
      void this.#refreshBatch(due.slice(start, start + this.#batchMax), nowMs);
    }
  }

  #collectDue(nowMs: number): (readonly [string, TrackedQuery])[] {
    const due: (readonly [string, TrackedQuery])[] = [];
    for (const [agentId, used] of this.#tracked) {
      if (this.#inFlightAgents.has(agentId)) continue;
      const life = this.#port.readLifetime(agentId, used, nowMs);
      // Its next request asks for itself, or it is not in use any more.
      if (life === undefined) this.#tracked.delete(agentId);
      else if (life.endMs - nowMs <= this.#windowMs) {
        if (used.usedMs >= life.askedMs) due.push([agentId, used]);
        else this.#tracked.delete(agentId);
      }
    }
    return due;
  }

  async #refreshBatch(
    due: readonly (readonly [string, TrackedQuery])[],
    askedMs: number,
  ): Promise<void> {
    this.#batchesInFlight += 1;
    for (const [agentId] of due) this.#inFlightAgents.add(agentId);
    const mayKeep = this.#port.createValidityCheck();
    let isAnswered = false;
    try {
      const requests = due.map(([agent_id, { action, toolLevel, stakes }]) => {
        return { agent_id, action, tool_level: toolLevel, stakes, levels: true };
      });
      const items = await this.#port.verifyBatch(requests, this.#stop.signal);
      isAnswered = true;
      this.#consecutiveFaults = 0;
      for (const [index, [agentId, used]] of due.entries()) {
        const verdict = items[index]?.verdict;
        if (verdict === undefined) this.#tracked.delete(agentId);
        else if (mayKeep()) this.#port.put(agentId, used, verdict, askedMs);
      }
    } catch (thrown) {
      this.#backOff(convertToTrustRankError(thrown).retryAfterMs ?? 0);
    } finally {
      this.#batchesInFlight -= 1;
      for (const [agentId] of due) this.#inFlightAgents.delete(agentId);
    }
    if (isAnswered) this.#sendDueBatches();
  }

  #backOff(adviceMs: number): void {
    const pauseMs = Math.min(REFRESH_PAUSE_MS_MAX, RETRY_PAUSE_MS * 2 ** this.#consecutiveFaults);
    this.#consecutiveFaults += 1;
    this.#resumeMs = this.#port.monotonic() + Math.max(pauseMs, adviceMs);
  }
}
