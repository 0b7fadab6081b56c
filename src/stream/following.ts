// Follows the log from a place on, for good: one reading after the other, each on a connection of its own,
// without a hole and without a repeat.
import type { OrderedMessage } from "../ledger/ordered/message.ts";
import { pause } from "./tries.ts";
import { type LogSource, readWatched } from "./watched-reading.ts";

/** First and longest pause in ms between two readings of a log that gives nothing. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 3000;

export interface FollowOptions<Message extends { readonly seq: number }> {
  readonly from: number;
  /** Opens a reading at a place. */
  readonly source: (from: number) => Promise<LogSource<Message>>;
  readonly read: (message: Message) => OrderedMessage;
  readonly take: (message: OrderedMessage) => void | Promise<void>;
  /** Told once of what does not change. */
  readonly log: (event: string, detail: string) => void;
}

export function followLog<Message extends { readonly seq: number }>(
  options: FollowOptions<Message>,
): { readonly stop: () => void } {
  const following = new Following(options);
  void following.run();
  return following;
}

class Following<Message extends { readonly seq: number }> {
  readonly #options: FollowOptions<Message>;
  #next: number;
  #source: LogSource<Message> | undefined;
  #isStopped = false;
  #pauseMs = PAUSE_MS;
  #told = "";

  constructor(options: FollowOptions<Message>) {
    this.#options = options;
    this.#next = options.from;
  }

  readonly stop = (): void => {
    this.#isStopped = true;
    void this.#source?.close().catch(() => undefined);
  };

  async run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        this.#source = await this.#options.source(this.#next);
        // Stopped while this one was made: there is nothing to read then.
        if (!this.#isStopped) {
          await readWatched(this.#source, this.#next - 1, (message) => this.#onMessage(message));
        }
      } catch (error) {
        this.#log("stream_read_failed", (error as Error).message);
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
    if (message.seq < this.#next) return true;
    // The consumer makes itself anew after a gap of its own: a hole that stays is not for us to close.
    if (message.seq > this.#next) {
      const detail = `message ${this.#next} is due, the log gives ${message.seq}`;
      this.#log("stream_hole", detail);
      return false;
    }
    await this.#options.take(this.#options.read(message));
    this.#next++;
    this.#pauseMs = PAUSE_MS;
    this.#told = "";
    return true;
  }

  #log(event: string, detail: string): void {
    if (this.#isStopped || this.#told === detail) return;
    this.#told = detail;
    this.#options.log(event, detail);
  }
}
