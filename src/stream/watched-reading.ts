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
const WATCH_MS = 1000;

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
  const isQuiet = () => !isTaking && performance.now() - sinceMs >= STALL_MS;
  const look = async () => {
    if (!isQuiet()) return;
    const last = await source.lastSeq().catch(() => Number.POSITIVE_INFINITY);
    if (last > seen && isQuiet()) await source.close();
    else sinceMs = performance.now();
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
