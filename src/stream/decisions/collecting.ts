// Collects the decisions of all other nodes: each part goes to the copy of its segment, and the place up to which
// all are on disk is kept beside them. What was taken twice changes nothing.
import { pause } from "../retries.ts";
import type { DecisionParts, NodeSegmentPart } from "./parts.ts";

/** First and longest pause in ms between two readings of a stream that gives nothing. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 3000;
/** Longest time in ms for which parts that are on disk may have to be read again. */
const SAVE_INTERVAL_MS = 1000;

/** Where copies are kept. */
export interface DecisionCopies {
  /** Up to where they have a stream, and which one that was; what is not known to be on disk is cut off. */
  open(): Promise<{ readonly stream: string; readonly seq: number } | undefined>;
  /**
   * On disk when it resolves.
   * @returns bytes that are new, and those that lie between what was there and the part; undefined for what is
   * no part of a segment.
   */
  take(
    part: NodeSegmentPart,
  ): Promise<{ readonly added: number; readonly missing: number } | undefined>;
  keepPlace(stream: string, seq: number): Promise<void>;
}

export interface DecisionCollectorOptions {
  /** This node: what it has sent itself is here already. */
  readonly node: string;
  readonly parts: DecisionParts;
  readonly copies: DecisionCopies;
  /** Told of the bytes that came, and of how many parts are still to come. */
  readonly collected: (bytes: number, behind: number) => void;
  readonly log: (event: string, detail: string) => void;
}

export class DecisionCollector {
  readonly #options: DecisionCollectorOptions;
  #stream = "";
  #seq = 0;
  #savedSeq = 0;
  #reading: { close(): void } | undefined;
  #isClosed = false;
  #lastFailure = "";
  readonly #running: Promise<void>;
  readonly #timer: NodeJS.Timeout;

  constructor(options: DecisionCollectorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#savePlace(), SAVE_INTERVAL_MS);
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    let pauseMs = PAUSE_MS;
    const kept = await this.#options.copies.open().catch((error: unknown) => {
      this.#logFailureOnce(String(error));
      return undefined;
    });
    [this.#stream, this.#seq] = [kept?.stream ?? "", kept?.seq ?? 0];
    while (!this.#isClosed) {
      const before = this.#seq;
      try {
        await this.#read();
        this.#lastFailure = "";
      } catch (error) {
        this.#logFailureOnce((error as Error).message);
      }
      pauseMs = this.#seq > before ? PAUSE_MS : Math.min(pauseMs * 2, PAUSE_MS_MAX);
      if (!this.#isClosed) await pause(pauseMs);
    }
  }

  async #read(): Promise<void> {
    const { id, firstSeq } = await this.#options.parts.state();
    // Copies know a part that they have: of another stream all is read.
    if (id !== this.#stream) [this.#stream, this.#seq] = [id, 0];
    const gone = firstSeq - 1 - this.#seq;
    if (gone > 0) {
      if (this.#seq > 0) {
        const detail = `the stream had dropped ${gone} parts before this node read them`;
        this.#options.log("decisions_missing", detail);
      }
      this.#seq = firstSeq - 1;
    }
    const reading = await this.#options.parts.read(this.#seq, (part) => this.#storePart(part));
    this.#reading = reading;
    if (this.#isClosed) reading.close();
    await reading.ended;
  }

  async #storePart(part: NodeSegmentPart): Promise<void> {
    const { node, copies, collected, log } = this.#options;
    let bytes = 0;
    if (part.node !== node) {
      const { added = 0, missing = 0 } = (await copies.take(part)) ?? {};
      bytes = added;
      if (missing > 0) {
        const detail = `${missing} bytes of segment ${part.segment} of node ${part.node} were never read`;
        log("decisions_missing", detail);
      }
    }
    collected(bytes, part.behind);
    this.#seq = part.seq;
  }

  async #savePlace(): Promise<void> {
    if (this.#seq === this.#savedSeq) return;
    const seq = this.#seq;
    try {
      await this.#options.copies.keepPlace(this.#stream, seq);
      this.#savedSeq = seq;
    } catch (error) {
      this.#logFailureOnce(String(error));
    }
  }

  #logFailureOnce(detail: string): void {
    if (this.#lastFailure === detail) return;
    this.#lastFailure = detail;
    this.#options.log("decisions_not_collected", detail);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#reading?.close();
    await this.#running;
    await this.#savePlace();
  }
}
