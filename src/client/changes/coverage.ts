// Lifetime of cached verdicts on sensitive tools, by the state of the change feed.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { ChangeFollower } from "./follower.ts";

/** Lifetime of a verdict whose change could have been missed, milliseconds. */
const UNCOVERED_TTL_MS = 10_000;

export class FeedCoverage {
  /** Undefined while nothing is followed. */
  follower: Pick<ChangeFollower, "isSilent"> | undefined;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** Changes are received from `nowMs` on, of the clock that verdicts are dated by. */
  startAt(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /**
   * Milliseconds for which a verdict asked at `askedMs` holds at L2 and L3: five minutes, but ten seconds
   * while the feed is silent and for what was asked before it was followed.
   */
  computeAgeMsMax(askedMs: number): number {
    const { follower } = this;
    if (follower === undefined) return VERDICT_TTL_MS;
    return follower.isSilent || askedMs < this.#sinceMs ? UNCOVERED_TTL_MS : VERDICT_TTL_MS;
  }
}
