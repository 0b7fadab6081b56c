// Waiting for a person (SPEC §3: `escalate` holds until one has agreed): long polls of a review until
// it is decided, over restarts of the service, and the question asked again after that.
import { TrustRankError } from "../errors.ts";
import type { CheckResponse, HandshakeResponse } from "../messages.ts";
import type { RequestOptions } from "../options.ts";
import { isShadowVerdict, readReview } from "../read-reply.ts";
import type { Review } from "../review.ts";
import { readMonotonicMs, pause } from "../runtime.ts";
import type { SendOptions, JsonReply } from "../transport.ts";

/** Unless the caller says otherwise. */
const TIMEOUT_MS = 300_000;
/** Of one long poll: proxies between cut off what is silent for a minute. */
const WAIT_SEC_MAX = 30;
/** Beyond its wait. */
const REPLY_MARGIN_MS = 5000;
/** Between two polls of which the first did not last. */
const POLL_PAUSE_MS = 1000;

/** Sends a GET request. */
type SendGetRequest = (path: string, options: SendOptions) => Promise<JsonReply>;

/**
 * The review once it is decided, or as it stands after `timeoutMs`.
 * @throws TrustRankError `not_found`, and others that waiting does not mend.
 */
export async function awaitReview(
  id: string,
  { timeoutMs = TIMEOUT_MS, signal }: RequestOptions,
  get: SendGetRequest,
): Promise<Review> {
  const endMs = readMonotonicMs() + timeoutMs;
  for (;;) {
    const askedMs = readMonotonicMs();
    const waitSec = Math.min(WAIT_SEC_MAX, Math.max(0, Math.ceil((endMs - askedMs) / 1000)));
    const path = `/v1/reviews/${encodeURIComponent(id)}?wait=${waitSec}`;
    const limits = { timeoutMs: waitSec * 1000 + REPLY_MARGIN_MS, signal };
    const found = await get(path, limits).catch((thrown: unknown) => {
      // A service that starts anew knows the review again.
      const isOver = readMonotonicMs() + POLL_PAUSE_MS >= endMs;
      if (!(thrown instanceof TrustRankError) || !thrown.isTransient || isOver) throw thrown;
    });
    const review = found === undefined ? undefined : readReview(found.value, id);
    const nowMs = readMonotonicMs();
    if (review !== undefined && (review.decision !== null || nowMs >= endMs)) return review;
    if (nowMs - askedMs < POLL_PAUSE_MS)
      await pause(Math.min(POLL_PAUSE_MS, endMs - nowMs), signal);
  }
}

/** A verdict that a person's decision may change. */
type ReviewableVerdict =
  | Pick<CheckResponse, "decision" | "enforced" | "review">
  | HandshakeResponse;

/**
 * The verdict, or where it is an enforced `escalate` the one after a person has decided; the same one
 * when nobody has by then.
 */
export async function resolveEscalation<Verdict extends ReviewableVerdict>(
  verdict: Verdict,
  read: () => Promise<Verdict>,
  wait: (id: string) => Promise<Review>,
): Promise<Verdict> {
  const ids = listReviewIds(verdict);
  if (verdict.decision !== "escalate" || isShadowVerdict(verdict) || ids.length === 0)
    return verdict;
  // Without an answer it is parked, as it would have been without the wait.
  const reviews = await Promise.all(ids.map(wait)).catch(() => []);
  const isDecided = reviews.length > 0 && reviews.every(({ decision }) => decision !== null);
  return isDecided ? read() : verdict;
}

function listReviewIds(verdict: ReviewableVerdict): string[] {
  const legs = "a_to_b" in verdict ? [verdict.a_to_b, verdict.b_to_a] : [verdict];
  return legs.flatMap(({ review }) => (review === undefined ? [] : [review.id]));
}
