// Tries of what a cluster of servers may refuse while it elects, and what is said in the end.
import { ClusterRefused, StreamUnavailable } from "./ordered-log.ts";

/** Tries of what a cluster may refuse for a moment, while it elects. */
const RETRIES_MAX = 20;
const RETRY_PAUSE_MS = 500;

/**
 * Tries again what a cluster refuses for a moment.
 * @throws StreamUnavailable in the end; ClusterRefused at once.
 */
export async function retryUntilAvailable<T>(
  act: () => Promise<T>,
  triesMore = RETRIES_MAX,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ClusterRefused) throw error;
      if (tries >= triesMore) throw wrapAsStreamUnavailable(error);
      await pause(RETRY_PAUSE_MS);
    }
  }
}

export function wrapAsStreamUnavailable(cause: unknown): StreamUnavailable {
  if (cause instanceof StreamUnavailable) return cause;
  return new StreamUnavailable(`the ordered log is not to be had: ${(cause as Error).message}`, {
    cause,
  });
}

/** Whether a key of a bucket, or a stream, has another revision than was expected. */
export function isRevisionConflict(error: unknown): boolean {
  return (error as { code?: number }).code === WRONG_LAST_SEQUENCE;
}

/** Whether there is no stream, or no bucket, of the name asked for. */
export function isStreamMissing(error: unknown): boolean {
  return (error as { code?: number }).code === STREAM_NOT_FOUND;
}

const WRONG_LAST_SEQUENCE = 10_071;
const STREAM_NOT_FOUND = 10_059;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
