// Ordered log in memory for tests: it can hold a message twice, leave one out, hold another one back, refuse.
import {
  type OrderedMessage,
  type OutgoingMessage,
  type MessageId,
  FIRST_RULES,
  TICK_RULES,
} from "../../src/ledger/ordered/message.ts";
import {
  type AppendObserver,
  type KeptReport,
  type LogConnectionState,
  type Lease,
  type LogState,
  type NodeReports,
  type OrderedLog,
  StreamUnavailable,
} from "../../src/stream/ordered-log.ts";

interface Follower {
  next: number;
  isBusy: boolean;
  isStopped: boolean;
  readonly take: (message: OrderedMessage) => void | Promise<void>;
}

export class MemoryLog implements OrderedLog {
  readonly generation = 1;
  readonly link: LogConnectionState = { isUp: true, lost: 0, onChange: undefined };
  readonly polling = { collectReplies: () => Promise.resolve([]), serveReplies: () => undefined };
  readonly messages: OrderedMessage[] = [];
  /** Repeats are stored again, as real logs do at times. */
  isDoubling = false;
  /** Nothing is taken, and what was sent may or may not stand in it. */
  isRefusing = false;
  /** What is appended waits for `again`. */
  isStanding = false;
  tries = 0;
  leader: string | undefined = "memory";
  /** Nothing is handed over for now. */
  isHeld = false;
  /** Place that the next reading leaves out, once. */
  leftOut: number | undefined;
  readonly followedFrom: number[] = [];
  lost = 0;
  serverChanges = 0;
  readingsReopened = 0;
  leasesAsked = 0;
  /** Rules of the log: those of the first know no ticks. */
  rules = FIRST_RULES;
  /** First place that is kept. */
  first = 1;
  unsealedReports: readonly string[] = [];
  readonly inventedGenerations: readonly number[] = [];
  isSealDemanded = false;
  sealedSinceMs: number | undefined;
  readonly #followers = new Set<Follower>();
  readonly #reports = new Map<string, KeptReport>();
  readonly #timeMs: number;

  constructor(timeMs: number) {
    this.#timeMs = timeMs;
  }

  /** Each message that waits is tried again, if it may be. */
  again = () => {};

  append(message: OutgoingMessage, deadlineMs = 0, observer: AppendObserver = {}): Promise<number> {
    this.tries++;
    if (this.isStanding) {
      return new Promise((resolve, reject) => {
        const before = this.again;
        this.again = () => {
          before();
          if (observer.mayTry?.() ?? true) resolve(this.append(message, deadlineMs, observer));
          else reject(new StreamUnavailable("given up"));
        };
      });
    }
    if (this.isRefusing) return Promise.reject(new StreamUnavailable("refused by the test"));
    observer.onTry?.();
    const seq = this.#store(message);
    if (this.isDoubling) this.#store(message);
    observer.onNew?.(seq);
    void this.pump();
    return Promise.resolve(seq);
  }

  appendTick(id: MessageId): Promise<number> {
    if (this.isRefusing || this.isStanding || this.rules < TICK_RULES)
      return Promise.reject(new StreamUnavailable("refused by the test"));
    const seq = this.#store({ ...id, count: 0, frames: new Uint8Array() });
    void this.pump();
    return Promise.resolve(seq);
  }

  changeServer(): Promise<void> {
    this.serverChanges++;
    return Promise.resolve();
  }

  #store(message: OutgoingMessage): number {
    const seq = this.messages.length + 1;
    const frames = Uint8Array.from(message.frames);
    this.messages.push({
      ...message,
      frames,
      seq,
      timeMs: this.#timeMs + seq,
      rules: this.rules,
      isSealed: true,
    });
    return seq;
  }

  follow(from: number, take: Follower["take"]) {
    const follower: Follower = { next: from, isBusy: false, isStopped: false, take };
    this.followedFrom.push(from);
    this.#followers.add(follower);
    queueMicrotask(() => void this.pump());
    return {
      reopen: () => {
        this.readingsReopened++;
      },
      stop: () => {
        follower.isStopped = true;
        this.#followers.delete(follower);
      },
    };
  }

  /** Hands over what each follower waits for. */
  async pump(): Promise<void> {
    await Promise.all([...this.#followers].map((follower) => this.#feed(follower)));
  }

  async #feed(follower: Follower): Promise<void> {
    if (follower.isBusy) return;
    follower.isBusy = true;
    while (!follower.isStopped && !this.isHeld && follower.next <= this.messages.length) {
      const message = this.messages[follower.next++ - 1]!;
      if (message.seq === this.leftOut) {
        this.leftOut = undefined;
        continue;
      }
      // oxlint-disable-next-line no-await-in-loop -- in order
      await follower.take({ ...message, frames: Uint8Array.from(message.frames) });
    }
    follower.isBusy = false;
  }

  readState(): Promise<LogState> {
    const lastSeq = this.messages.length - this.lost;
    const firstSeq = lastSeq === 0 ? 0 : this.first;
    return Promise.resolve({ firstSeq, lastSeq, leader: this.leader });
  }

  trim(before: number): Promise<void> {
    this.first = Math.max(this.first, before);
    return Promise.resolve();
  }

  demandSeals(sinceMs?: number): void {
    this.isSealDemanded = true;
    this.sealedSinceMs ??= sinceMs;
  }

  acquireLease(): Promise<Lease | undefined> {
    this.leasesAsked++;
    return Promise.resolve(undefined);
  }

  publishReport(node: string, report: unknown): Promise<void> {
    const revision = (this.#reports.get(node)?.revision ?? 0) + 1;
    this.#reports.set(node, { told: report, revision, keptMs: this.#timeMs });
    return Promise.resolve();
  }

  readReports(): Promise<NodeReports> {
    return Promise.resolve(this.#reports);
  }

  close(): Promise<void> {
    for (const follower of this.#followers) follower.isStopped = true;
    return Promise.resolve();
  }
}
