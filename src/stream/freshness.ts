// Proof of how fresh this node is: everything that stood in the log at a moment is applied once this node has reached
// the place of a message of its own that was begun then and that a majority took as new. A node without such a message
// appends a tick. What servers tell of the log proves nothing: one that has lost the others tells it as well.
import { FIRST_RULES, formatTickOrigin, TICK_RULES } from "../ledger/ordered/message.ts";
import { measureAgeMs, type Moment } from "../platform/moment.ts";
import type { StreamMetrics } from "./metrics.ts";
import { createStreamFullError } from "./nats-stream.ts";
import type { LogState, OrderedLog } from "./ordered-log.ts";

/** Proofs that wait to be reached; of more, every second is given up. */
const WAITING_MAX = 1024;
/** Age in ms of the newest message acknowledged from which on a tick is due. */
const TICK_AGE_MS = 1000;
/** Pause in ms between two ticks while none is acknowledged: an election may end at any moment. */
const TICK_RETRY_MS = 200;
/** A tick's acknowledgement may come late, and proves its moment all the same. */
const TICK_TIMEOUT_MS = 5000;

/** Share of the log's bound that is left to ticks: a node of a full log would know no more how fresh it is. */
const TICK_RESERVE = 1 / 32;

/** @throws StreamUnavailable where only the ticks' share is left. */
export function assertRoomBesideTicks({ bytes, bytesMax }: StreamMetrics["size"]): void {
  if (bytesMax === 0 || bytes <= bytesMax * (1 - TICK_RESERVE)) return;
  throw createStreamFullError(new Error(`${bytes} of ${bytesMax} bytes`));
}

interface FreshnessProof {
  readonly at: Moment;
  readonly seq: number;
}

export interface FreshnessOptions {
  readonly log: Pick<OrderedLog, "appendTick" | "link">;
  /** Origin of this process's messages. */
  readonly origin: string;
  readonly readMoment: () => Moment;
  /** Place applied here; undefined while it is too far back for a message to count. */
  readonly readAfter: () => number | undefined;
  /** Told of every moment at which a majority had a leader, and the newest place then. */
  readonly acknowledged: (at: Moment, seq: number) => void;
}

export class FreshnessProofs {
  readonly #options: FreshnessOptions;
  #waiting: FreshnessProof[] = [];
  #newest: Moment | undefined;
  #triedMs = Number.NEGATIVE_INFINITY;
  #tickCount = 0;
  #isLogEmpty = false;
  /** Rules of the log; 0 before its first message. */
  rules = 0;

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  /** A message of this process, begun at that moment, was acknowledged as new with that place. */
  add(at: Moment, seq: number): void {
    if (this.#newest === undefined || at.monotonicMs > this.#newest.monotonicMs) this.#newest = at;
    // The later of two moments at the same place says more.
    if (this.#waiting.at(-1)?.seq === seq) this.#waiting.pop();
    this.#waiting.push({ at, seq });
    // Acknowledgements may cross.
    this.#waiting.sort((a, b) => a.seq - b.seq);
    if (this.#waiting.length > WAITING_MAX) {
      this.#waiting = this.#waiting.filter((_, index) => index % 2 === 0);
    }
    this.#options.acknowledged(at, seq);
  }

  /**
   * What a server answered to a question begun at that moment. In a log of the first rules, where no node may tick, it
   * proves the moment at which its leader last heard of a majority.
   */
  addState(at: Moment, { lastSeq, leader, majoritySilenceMs: silenceMs = 0 }: LogState): void {
    if (leader === undefined) return;
    this.#isLogEmpty = lastSeq === 0;
    if (this.rules !== FIRST_RULES || !Number.isFinite(silenceMs)) return;
    const { epochMs, monotonicMs } = at;
    this.add({ epochMs: epochMs - silenceMs, monotonicMs: monotonicMs - silenceMs }, lastSeq);
  }

  /** Takes the proofs with nothing beyond `applied`; the newest moment proved, undefined without any. */
  takeReached(applied: number): Moment | undefined {
    let newest: Moment | undefined;
    while (this.#waiting[0] !== undefined && this.#waiting[0].seq <= applied) {
      const { at } = this.#waiting.shift()!;
      if (newest === undefined || at.monotonicMs > newest.monotonicMs) newest = at;
    }
    return newest;
  }

  /** Appends a tick where one is due. The first message of a log may be one: it tells the log's rules. */
  tickIfDue(): void {
    const { log, readMoment } = this.#options;
    const mayTick = this.rules >= TICK_RULES || (this.rules === 0 && this.#isLogEmpty);
    if (!mayTick || !log.link.isUp) return;
    const now = readMoment();
    const isFresh = this.#newest !== undefined && measureAgeMs(this.#newest, now) < TICK_AGE_MS;
    if (isFresh || now.monotonicMs - this.#triedMs < TICK_RETRY_MS) return;
    this.#triedMs = now.monotonicMs;
    const after = this.#options.readAfter();
    if (after !== undefined) void this.#appendTick(now, after);
  }

  async #appendTick(at: Moment, after: number): Promise<void> {
    const { log, origin } = this.#options;
    const n = ++this.#tickCount;
    const tick = { origin: formatTickOrigin(origin), n, after };
    try {
      this.add(at, await log.appendTick(tick, TICK_TIMEOUT_MS));
    } catch {
      // The next one is due soon: until then what this node answers gets older, which the figures say.
    }
  }
}
