// Progress of a node along the ordered log: the last message applied, and which numbers of each origin
// have been. A function of the log's prefix alone: every node has the same, whenever it was started.
import type { StandingsPlace } from "../../journal/standings.ts";
import {
  FIRST_RULES,
  MESSAGE_PLACES_MAX,
  SEALED_RULES,
  type OrderedMessage,
  type StreamMark,
} from "./message.ts";

/**
 * Numbers of an origin that are remembered. It has at most four messages under way, so a repeat is
 * never further back.
 */
const NUMBERS_REMEMBERED = 1024;
/**
 * Origins remembered under the first rules: each start of a node is one. Those longest without a message leave first.
 * Sealed messages count for MESSAGE_PLACES_MAX places only, and their origins are remembered as long.
 */
const UNSEALED_ORIGINS_MAX = 1024;

interface OriginProgress {
  /** Highest number applied. */
  max: number;
  /** Numbers applied that are above `max - WINDOW`. */
  seen: Set<number>;
  /** Place of the newest message. */
  seq: number;
}

interface StoredProgress {
  readonly mark: StreamMark;
  /** `seq` is left out by snapshots from before seals. */
  readonly origins: readonly (readonly [
    name: string,
    max: number,
    seen: readonly number[],
    seq?: number,
  ])[];
  readonly access: readonly string[];
  readonly weights: readonly string[];
  /** Left out by snapshots from before it. */
  readonly standings?: StandingsPlace;
  /** Rules of the log; left out: the first. */
  readonly rules?: number;
}

/** What matters in a cluster alone: API keys as they stand, changes of the weights, the newest standings. */
export interface ClusterOnlyState {
  readonly access: Iterable<Buffer>;
  readonly weights: Iterable<Buffer>;
  readonly standings: StandingsPlace;
}

export class StreamProgress {
  /** The last message applied that has left a mark; undefined in a journal that no log has fed. */
  mark: StreamMark | undefined;
  /** Rules of the log, which its first message tells; 0 before it. */
  rulesLevel = 0;
  /** Place of the last tick without a mark: a restart reads those behind the mark again. */
  #tickSeq = 0;
  /** By name, that with the newest message last. */
  #origins = new Map<string, OriginProgress>();

  /** Place of the last message applied; 0 before the first. */
  get seq(): number {
    return Math.max(this.mark?.seq ?? 0, this.#tickSeq);
  }

  /**
   * Whether an attested transaction counts once: everywhere but in a log of the first rules, whose
   * readers of earlier releases know of none and would write another journal.
   */
  get countsTransactions(): boolean {
    return this.rulesLevel !== FIRST_RULES;
  }

  /** Whether a message has not been applied before under another place: logs may hold one twice. */
  isNewMessage({ origin, n }: Pick<OrderedMessage, "origin" | "n">): boolean {
    const known = this.#origins.get(origin);
    return known === undefined || (n > known.max - NUMBERS_REMEMBERED && !known.seen.has(n));
  }

  /** Notes a tick as applied. */
  passTick(seq: number): void {
    this.#tickSeq = seq;
  }

  /** Notes a message as applied. */
  apply(mark: StreamMark): void {
    this.mark = mark;
    this.#tickSeq = 0;
    const told = mark.rules ?? FIRST_RULES;
    this.rulesLevel = mark.seq === 1 ? told : Math.max(told, this.rulesLevel);
    const { origin: name, n } = mark;
    const origin = this.#origins.get(name) ?? { max: 0, seen: new Set<number>(), seq: 0 };
    this.#origins.delete(name);
    this.#origins.set(name, origin);
    origin.seen.add(n);
    origin.max = Math.max(origin.max, n);
    origin.seq = mark.seq;
    if (origin.seen.size > NUMBERS_REMEMBERED * 2) forgetOldNumbers(origin);
    this.#forgetOldOrigins(mark.seq);
  }

  #forgetOldOrigins(seq: number): void {
    const isSealed = this.rulesLevel >= SEALED_RULES;
    for (const [name, origin] of this.#origins) {
      const isRemembered = isSealed
        ? seq - origin.seq <= MESSAGE_PLACES_MAX
        : this.#origins.size <= UNSEALED_ORIGINS_MAX;
      if (isRemembered) return;
      this.#origins.delete(name);
    }
  }

  /** As JSON for a snapshot, with what else came through the log alone; empty without a mark. */
  encode({ access, weights, standings }: ClusterOnlyState): Buffer {
    if (this.mark === undefined) return Buffer.alloc(0);
    const origins = [...this.#origins].map(([name, origin]) => {
      forgetOldNumbers(origin);
      return [name, origin.max, [...origin.seen], origin.seq] as const;
    });
    const stored: StoredProgress = {
      mark: this.mark,
      origins,
      access: [...access].map((payload) => payload.toString()),
      weights: [...weights].map((payload) => payload.toString()),
      standings,
      ...(this.rulesLevel > FIRST_RULES ? { rules: this.rulesLevel } : {}),
    };
    return Buffer.from(JSON.stringify(stored));
  }

  /** @returns what else was in the snapshot. */
  restore(stored: Buffer): {
    access: Buffer[];
    weights: Buffer[];
    standings?: StandingsPlace | undefined;
  } {
    if (stored.byteLength === 0) return { access: [], weights: [] };
    const { mark, origins, ...rest } = JSON.parse(stored.toString()) as StoredProgress;
    this.mark = mark;
    this.rulesLevel = rest.rules ?? FIRST_RULES;
    this.#origins = new Map(
      origins.map(([name, max, seen, seq = mark.seq]) => [name, { max, seen: new Set(seen), seq }]),
    );
    const encodePayloads = (texts: readonly string[]) => texts.map((text) => Buffer.from(text));
    const { standings } = rest;
    return {
      access: encodePayloads(rest.access),
      weights: encodePayloads(rest.weights),
      standings,
    };
  }
}

function forgetOldNumbers(origin: OriginProgress): void {
  for (const n of origin.seen) if (n <= origin.max - NUMBERS_REMEMBERED) origin.seen.delete(n);
}
