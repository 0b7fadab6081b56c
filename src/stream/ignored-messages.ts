// Reporter of messages that this node passed over: counts them, and tells of them in the service's log at most every ten
// seconds, so that who publishes many of them fills no disk.
import type { IgnoredMessage } from "../ledger/ordered/message.ts";
import type { StreamMetrics } from "./metrics.ts";

/** Shortest time in ms between two lines of the service's log. */
const LINE_INTERVAL_MS = 10_000;

interface IgnoredMessageReporterOptions {
  readonly figures: Pick<StreamMetrics, "addIgnored">;
  readonly generation: number;
  readonly clock: () => number;
  /** Ms of a clock that is never set. */
  readonly monotonic: () => number;
  readonly tell: (detail: string) => void;
}

/** What the next line names. */
interface Untold {
  readonly first: IgnoredMessage & { readonly seq: number };
  readonly count: number;
}

export class IgnoredMessageReporter {
  readonly #options: IgnoredMessageReporterOptions;
  #untold: Untold | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: IgnoredMessageReporterOptions) {
    this.#options = options;
  }

  /** Counts messages, in the order of their places; not an empty list. */
  add(messages: readonly (IgnoredMessage & { readonly seq: number })[]): void {
    const { figures, clock } = this.#options;
    figures.addIgnored(messages.length, messages.at(-1)!.seq, clock());
    const first = this.#untold?.first ?? messages[0]!;
    this.#untold = { first, count: (this.#untold?.count ?? 0) + messages.length };
    this.tellIfDue();
  }

  /** Tells of what was counted since the last line, once the interval has passed; called again and again. */
  tellIfDue(): void {
    const { generation, monotonic, tell } = this.#options;
    const nowMs = monotonic();
    if (this.#untold === undefined || nowMs - this.#toldMs < LINE_INTERVAL_MS) return;
    const { first, count } = this.#untold;
    const { seq, reason, origin } = first;
    const more = count > 1 ? `, and ${count - 1} after it` : "";
    tell(
      `message ${seq} of generation ${generation} is passed over${more}: ${reason}; it claims origin \`${origin}\``,
    );
    this.#untold = undefined;
    this.#toldMs = nowMs;
  }
}
