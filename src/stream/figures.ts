// Figures of a node's place along the ordered log, in memory that all threads share.
const APPLIED = 0;
const KNOWN = 1;
const CAUGHT_UP = 2;
const ANSWERED = 3;
const FOLLOWED = 4;
const COUNT = 5;

export class StreamFigures {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Float64Array;

  constructor(memory = new SharedArrayBuffer(COUNT * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#numbers = new Float64Array(memory);
  }

  /** Place of the last message applied here. */
  get applied(): number {
    return this.#numbers[APPLIED]!;
  }

  /** Newest place in the log that this node knows of. */
  get known(): number {
    return this.#numbers[KNOWN]!;
  }

  /** When the log's servers last answered, epoch ms; 0 for never. */
  get answeredMs(): number {
    return this.#numbers[ANSWERED]!;
  }

  /** How often the log was followed anew. */
  get followed(): number {
    return this.#numbers[FOLLOWED]!;
  }

  /**
   * Age in ms of the newest moment at which this node is known to have applied everything that stood in
   * the log: an upper bound of how old its answers are. Infinite before the first.
   */
  lagMs(nowMs: number): number {
    const caughtUpMs = this.#numbers[CAUGHT_UP]!;
    return caughtUpMs === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - caughtUpMs);
  }

  set applied(seq: number) {
    this.#numbers[APPLIED] = seq;
  }

  set known(seq: number) {
    this.#numbers[KNOWN] = Math.max(seq, this.known);
  }

  set answeredMs(ms: number) {
    this.#numbers[ANSWERED] = ms;
  }

  set followed(count: number) {
    this.#numbers[FOLLOWED] = count;
  }

  /** Everything that stood in the log at that moment (epoch ms) is applied. */
  caughtUp(atMs: number): void {
    this.#numbers[CAUGHT_UP] = Math.max(atMs, this.#numbers[CAUGHT_UP]!);
  }
}
