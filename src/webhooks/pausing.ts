// Reasons for which an endpoint stops being told by itself, judged after each attempt.
import { WEBHOOK_DEAD_MAX, type WebhookPause } from "../contract/webhooks/events.ts";
import type { DeliveryAttempt } from "./post.ts";

/** An endpoint that fails for so long is told no more. */
const FAILING_MS_MAX = 72 * 3_600_000;
/** By the rules of Standard Webhooks: the receiver wants no more of it. */
const GONE = 410;

/**
 * Why an endpoint with so many dead letters, which has failed since then (epoch ms), stops after an
 * attempt; undefined: it goes on.
 */
export function findPauseReason(
  { status }: DeliveryAttempt,
  dead: number,
  failingSinceMs: number | undefined,
  nowMs: number,
): WebhookPause | undefined {
  if (status === GONE) return "gone";
  if (dead >= WEBHOOK_DEAD_MAX) return "dead_full";
  return nowMs - (failingSinceMs ?? nowMs) >= FAILING_MS_MAX ? "failing" : undefined;
}
