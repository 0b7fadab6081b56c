// Follows the change feed of a service, so that cached verdicts end with the change that outdates them: one
// event stream for each address, reopened from its last position. Keeps no process alive.
import {
  createRandomUint32,
  type FetchLike,
  type OpenedStream,
  openEventStream,
  readMonotonicMs,
  scheduleAfter,
} from "../runtime.ts";
import { parseChange, type VerdictChange } from "./change.ts";
import { EventStreamParser, type ServerEvent } from "./event-stream.ts";

/** Without an event for so long a feed is silent, ms; the service sends one each second. */
const FEED_SILENCE_MS = 3000;
/** A connection without an event for so long is replaced, ms. */
const STALLED_MS = 5000;
/** Pauses before the stream is opened again, ms; doubled with each failure. */
const RETRY_MS_MIN = 200;
const RETRY_MS_MAX = 5000;
/** Pause where the service has no feed: another release may have. */
const ABSENT_RETRY_MS = 60_000;
const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i;

/** What a follower calls. */
export interface ChangeHandlers {
  readonly onChange: (change: VerdictChange) => void;
  /** Changes may have been missed: nothing cached before holds. */
  readonly onGap: () => void;
  /** Changes are received from here on; those before are not. */
  readonly onStart?: (() => void) | undefined;
}

/** Where the feed is. */
export interface FeedTarget {
  readonly addresses: readonly string[];
  readonly apiKey: string | undefined;
  /** In place of the platform's own. */
  readonly fetch: FetchLike | undefined;
}

/** Follows until closed; see TrustRankClient.followChanges. */
export class ChangeFollower {
  readonly #nodes: readonly NodeFollower[];

  constructor({ addresses, apiKey, fetch }: FeedTarget, handlers: ChangeHandlers) {
    const headers = {
      Accept: "text/event-stream",
      ...(apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }),
    };
    this.#nodes = addresses.map(
      (address) =>
        new NodeFollower(
          (query, signal) =>
            openEventStream(
              `${address}/v1/changes${query}`,
              { headers, signal, redirect: "manual" },
              fetch,
            ),
          handlers,
        ),
    );
    for (const node of this.#nodes) void node.run();
  }

  /** Whether a feed that should be heard has not been for three seconds, at any address. */
  get isSilent(): boolean {
    return (
      this.#nodes.some((node) => !node.isAbsent) &&
      this.#nodes.every((node) => node.isAbsent || node.isSilent)
    );
  }

  /** Ends it for good. */
  close(): void {
    for (const node of this.#nodes) node.close();
  }
}

type StreamOpener = (query: string, signal: AbortSignal) => Promise<OpenedStream>;

class NodeFollower {
  /** The address has answered that it has no feed. */
  isAbsent = false;
  readonly #open: StreamOpener;
  readonly #handlers: ChangeHandlers;
  readonly #stop = new AbortController();
  #heardMs = readMonotonicMs();
  #position: string | undefined;
  #failures = 0;
  #abortStream: AbortController | undefined;

  constructor(open: StreamOpener, handlers: ChangeHandlers) {
    this.#open = open;
    this.#handlers = handlers;
  }

  get isSilent(): boolean {
    return readMonotonicMs() - this.#heardMs > FEED_SILENCE_MS;
  }

  close(): void {
    this.#stop.abort();
    this.#abortStream?.abort();
  }

  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const stream = new AbortController();
      this.#abortStream = stream;
      const endWatch = this.#watch(stream);
      try {
        // oxlint-disable-next-line no-await-in-loop -- one stream after another
        await this.#followOnce(stream.signal);
      } catch {
        this.#failures += 1;
      }
      endWatch();
      // Ends a stream that was left early.
      stream.abort();
      // oxlint-disable-next-line no-await-in-loop -- waits before the next
      if (!this.#stop.signal.aborted) await this.#pause();
    }
  }

  /** Ends a stream that is open without events, such as of a machine that is gone. */
  #watch(stream: AbortController): () => void {
    const openedMs = readMonotonicMs();
    let cancel = (): void => undefined;
    const check = () => {
      const idleMs = readMonotonicMs() - Math.max(openedMs, this.#heardMs);
      if (idleMs >= STALLED_MS) stream.abort();
      else cancel = scheduleAfter(STALLED_MS - idleMs + 1, check);
    };
    check();
    return () => cancel();
  }

  async #followOnce(signal: AbortSignal): Promise<void> {
    const since = this.#position;
    const { status, contentType, body } = await this.#open(
      since === undefined ? "" : `?since=${encodeURIComponent(since)}`,
      signal,
    );
    if (status === 410) {
      this.#position = undefined;
      this.#handlers.onGap();
      return;
    }
    if (status === 429 || status >= 500) throw new Error(`status ${status}`);
    this.isAbsent = status !== 200 || !EVENT_STREAM.test(contentType);
    if (this.isAbsent) return;
    const parser = new EventStreamParser();
    const decoder = new TextDecoder();
    let isFirst = since === undefined;
    for await (const piece of body) {
      for (const event of parser.push(decoder.decode(piece, { stream: true }))) {
        if (isFirst) this.#handlers.onStart?.();
        isFirst = false;
        this.#takeEvent(event);
      }
    }
  }

  #takeEvent({ event, id, data }: ServerEvent): void {
    this.#heardMs = readMonotonicMs();
    this.#failures = 0;
    if (event === "change") this.#handlers.onChange(parseChange(data));
    if (id !== "") this.#position = id;
  }

  /** Spread by chance: thousands of followers lose a node at the same time. */
  #pause(): Promise<void> {
    const share = 0.5 + createRandomUint32() / 2 ** 33;
    const retryMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(this.#failures, 10));
    const ms = share * (this.isAbsent ? ABSENT_RETRY_MS : retryMs);
    return new Promise((resolve) => {
      const cancel = scheduleAfter(ms, resolve);
      this.#stop.signal.addEventListener(
        "abort",
        () => {
          cancel();
          resolve();
        },
        { once: true },
      );
    });
  }
}
