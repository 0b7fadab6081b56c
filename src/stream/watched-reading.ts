// One reading of the log, watched. A client's consumer can stall for good after its server has died: without
// an error, its iterator never ends. Whoever reads looks for himself whether there is more.

/** A consumer on a connection of its own. */
export interface LogSource<Message> {
  readonly messages: AsyncIterable<Message>;
  /** Newest place in the log. */
  lastSeq(): Promise<number>;
  /** Ends the iteration. */
  close(): Promise<void>;
}

/** Without a message for so long in ms, while the log has more, a consumer is taken for dead. */
const STALL_MS = 3000;
/**
 * Where nobody says what the log has, for so long: longer than most elections, in which that is so at every server and
 * no consumer could be made instead.
 */
const UNANSWERED_MS_MAX = 10_000;
const WATCH_MS = 500;

/**
 * Reads from the place after `before` until the source ends, stalls, or `take` says that one is missing.
 */
export async function readUntilStalled<Message extends { readonly seq: number }>(
  source: LogSource<Message>,
  before: number,
  take: (message: Message) => Promise<boolean>,
): Promise<void> {
  let seen = before;
  let sinceMs = performance.now();
  let isTaking = false;
  let isLooking = false;
  const isSilentFor = (ms: number) => !isTaking && performance.now() - sinceMs >= ms;
  const look = async () => {
    if (isLooking || !isSilentFor(STALL_MS)) return;
    isLooking = true;
    const last = await source.lastSeq().catch(() => undefined);
    isLooking = false;
    const isDead = last === undefined ? isSilentFor(UNANSWERED_MS_MAX) : last > seen;
    if (isDead && isSilentFor(STALL_MS)) await source.close();
    else if (last !== undefined) sinceMs = performance.now();
  };
  const watchdog = setInterval(() => void look(), WATCH_MS);
  try {
    for await (const message of source.messages) {
      isTaking = true;
      const isInOrder = await take(message);
      isTaking = false;
      seen = message.seq;
      sinceMs = performance.now();
      if (!isInOrder) return;
    }
  } finally {
    clearInterval(watchdog);
  }
}
