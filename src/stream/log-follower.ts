// Follows the log from a place on, for good: one reading after the other, each on a connection of its own,
// without a hole and without a repeat.
import type { MessageId, OrderedMessage } from "../ledger/ordered/message.ts";
import type { LogFollowing } from "./ordered-log.ts";
import { pause } from "./retries.ts";
import { type LogSource, readUntilStalled } from "./watched-reading.ts";

/** First and longest pause in ms between two readings of a log that gives nothing: an election may end at any moment. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 500;
/** Readings in a row with another message than is known, some 15 s, after which it is for the ledger to say. */
const MISMATCHES_MAX = 32;

export interface LogFollowerOptions<Message extends { readonly seq: number }> {
  readonly from: number;
  /** The message at `from`, where it is known already. */
  readonly last?: MessageId | undefined;
  /** Opens a reading at a place. */
  readonly source: (from: number) => Promise<LogSource<Message>>;
  readonly read: (message: Message) => OrderedMessage;
  readonly take: (message: OrderedMessage) => void | Promise<void>;
  /** Told once of what does not change. */
  readonly log: (event: string, detail: string) => void;
}

export function followLog<Message extends { readonly seq: number }>(
  options: LogFollowerOptions<Message>,
): LogFollowing {
  const following = new LogFollower(options);
  void following.run();
  return following;
}

class LogFollower<Message extends { readonly seq: number }> {
  readonly #options: LogFollowerOptions<Message>;
  #next: number;
  /**
   * The newest message that is known. Each reading begins with it: a server's copy may have lost one, and
   * then all that come after it stand elsewhere.
   */
  #known: (MessageId & { readonly seq: number }) | undefined;
  #mismatchCount = 0;
  #source: LogSource<Message> | undefined;
  #isStopped = false;
  #pauseMs = PAUSE_MS;
  #lastLoggedDetail = "";

  constructor(options: LogFollowerOptions<Message>) {
    this.#options = options;
    this.#next = options.from;
    this.#known = options.last && { seq: options.from, ...options.last };
  }

  readonly stop = (): void => {
    this.#isStopped = true;
    void this.#source?.close().catch(() => undefined);
  };

  readonly reopen = (): void => {
    void this.#source?.close().catch(() => undefined);
  };

  async run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const from = this.#known?.seq ?? this.#next;
        this.#source = await this.#options.source(from);
        // Stopped while this one was made: there is nothing to read then.
        if (!this.#isStopped) {
          await readUntilStalled(this.#source, from - 1, (message) => this.#onMessage(message));
        }
      } catch (error) {
        this.#logOnce("stream_read_failed", (error as Error).message);
      }
      await this.#source?.close().catch(() => undefined);
      this.#source = undefined;
      if (!this.#isStopped) await pause(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    }
  }

  /** Whether to read on. */
  async #onMessage(message: Message): Promise<boolean> {
    if (this.#isStopped) return false;
    const read = this.#options.read(message);
    if (this.#isMismatch(read)) {
      if (++this.#mismatchCount >= MISMATCHES_MAX) await this.#options.take(read);
      return false;
    }
    if (message.seq < this.#next) return true;
    // The consumer makes itself anew after a gap of its own: a hole that stays is not for us to close.
    if (message.seq > this.#next) {
      const detail = `message ${this.#next} is due, the log gives ${message.seq}`;
      this.#logOnce("stream_hole", detail);
      return false;
    }
    await this.#options.take(read);
    this.#known = { seq: read.seq, origin: read.origin, n: read.n };
    this.#next++;
    this.#pauseMs = PAUSE_MS;
    this.#lastLoggedDetail = "";
    return true;
  }

  /** Whether this is of a copy that is not the log: another server is to be asked. */
  #isMismatch({ seq, origin, n }: OrderedMessage): boolean {
    const known = this.#known;
    // Messages that no node has sent have no name by which to know them again.
    if (known?.seq !== seq || known.origin === "") return false;
    if (origin === known.origin && n === known.n) {
      this.#mismatchCount = 0;
      return false;
    }
    const detail = `message ${seq} is number ${known.n} of ${known.origin}, a server has number ${n} of ${origin} there`;
    this.#logOnce("stream_copy_differs", detail);
    return true;
  }

  #logOnce(event: string, detail: string): void {
    if (this.#isStopped || this.#lastLoggedDetail === detail) return;
    this.#lastLoggedDetail = detail;
    this.#options.log(event, detail);
  }
}
