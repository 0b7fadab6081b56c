// Questions to all nodes over the servers of the log, and small registers that they keep: what is not part of the log
// itself.
import type { LogConnection } from "./nats-connection.ts";
import type { NodePolling } from "./spread.ts";

export class NatsPolling implements NodePolling {
  readonly #connection: Pick<LogConnection, "requestMany" | "subscribe">;
  readonly #subject: string;

  constructor(connection: Pick<LogConnection, "requestMany" | "subscribe">, subject: string) {
    this.#connection = connection;
    this.#subject = subject;
  }

  async collectReplies(question: string, countMax: number, ms: number): Promise<readonly string[]> {
    const replies: string[] = [];
    const wanted = { strategy: "count", maxMessages: countMax, maxWait: ms } as const;
    for await (const message of await this.#connection.requestMany(
      this.#subject,
      question,
      wanted,
    )) {
      if (message.data.byteLength > 0) replies.push(message.string());
    }
    return replies;
  }

  serveReplies(reply: (question: string) => Promise<string | undefined>): void {
    this.#connection.subscribe(this.#subject, {
      callback: (_error, message) => {
        void reply(message.string()).then((text) => text !== undefined && message.respond(text));
      },
    });
  }
}

/** The part of a bucket that is needed to read all of it. */
interface ReadableBucket {
  keys(): Promise<AsyncIterable<string>>;
  get(key: string): Promise<{ readonly operation: string; json(): unknown } | null>;
}

/** What stands in a bucket now, by key. */
export async function readBucketEntries(bucket: ReadableBucket): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key);
    if (entry !== null && entry.operation === "PUT") found.set(key, entry.json());
  }
  return found;
}
