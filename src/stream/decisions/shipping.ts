// Ships this node's decisions: what is on disk, part by part, for as long as another node keeps copies of all. Where
// it stands is told by the stream itself, so nothing is kept here.
import type { DecisionParts, DecisionSegmentPart, PartPlace } from "./parts.ts";

/** Interval in ms between two looks. */
const CHECK_INTERVAL_MS = 1000;
/** Bytes of one look: a history does not crowd out what is decided meanwhile. */
const SHIP_BYTES_MAX = 4 * 1024 * 1024;

/** Up to where own decisions are on disk. */
export interface WrittenMark {
  readonly name: string;
  readonly bytes: number;
}

export interface DecisionShipperOptions {
  readonly node: string;
  readonly parts: DecisionParts;
  /** The part behind a place, of what lies before the mark; undefined while there is none. */
  readonly read: (place: PartPlace, mark: WrittenMark) => Promise<DecisionSegmentPart | undefined>;
  readonly shipped: (bytes: number) => void;
  readonly log: (event: string, detail: string) => void;
}

export class DecisionShipper {
  /** Whether another node keeps copies. */
  isWanted = false;
  mark: WrittenMark | undefined;
  readonly #options: DecisionShipperOptions;
  /** Undefined: to be asked for. */
  #place: PartPlace | undefined;
  #runningShipment: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;
  #lastFailure = "";

  constructor(options: DecisionShipperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.shipPending(), CHECK_INTERVAL_MS);
  }

  /** Resolves when what was there has been shipped, or cannot be now. */
  shipPending(): Promise<void> {
    this.#runningShipment ??= this.#tryShipping().finally(() => {
      this.#runningShipment = undefined;
    });
    return this.#runningShipment;
  }

  async #tryShipping(): Promise<void> {
    const { mark } = this;
    if (!this.isWanted || mark === undefined) return;
    try {
      await this.#ship(mark);
      this.#lastFailure = "";
    } catch (error) {
      // A part may stand in the stream though nobody has said so: the stream is asked again.
      this.#place = undefined;
      const detail = (error as Error).message;
      if (detail !== this.#lastFailure) this.#options.log("decisions_not_shipped", detail);
      this.#lastFailure = detail;
    }
  }

  async #ship(mark: WrittenMark): Promise<void> {
    const { node, parts, read, shipped } = this.#options;
    this.#place ??= (await parts.findNewestPlace(node)) ?? { segment: "", byte: 0 };
    for (let left = SHIP_BYTES_MAX; left > 0;) {
      const part = await read(this.#place, mark);
      if (part === undefined) return;
      await parts.publish(node, part);
      const { byteLength } = part.bytes;
      this.#place = { segment: part.segment, byte: part.from + byteLength };
      shipped(byteLength);
      left -= byteLength;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.isWanted = false;
    await this.#runningShipment;
  }
}
