// Clock that does not jump. It follows the wall clock within an hour and, beyond that, goes on by the
// monotonic clock: retention, replay window and rates must not be moved by whoever sets the machine's
// clock, for a second or by mistake. One keeper decides; all threads read its decision.
//
//   shared memory | offset f64 | confirmed from f64 |     milliseconds; offset = wall - monotonic

/** Difference of the wall clock that is followed; a larger one is a jump. */
export const CLOCK_JUMP_MS_MIN = 3_600_000;
/** How long a jump must stand until it is followed, and a time until it is confirmed. */
export const CLOCK_CONFIRM_MS = 3_600_000;
/** Longest stop of the service after which its time counts as confirmed at once. */
export const LONG_STOP_MS_MIN = 86_400_000;

/** So far the wall clock is followed from where it was near: one reading of a clock instead of two. */
const COMPARE_MS = 1000;

const OFFSET_MS_INDEX = 0;
const CONFIRMED_FROM_MS_INDEX = 1;

export function createClockMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(16);
}

export interface ClockSources {
  /** Epoch ms, as the system tells it. */
  readonly wall: () => number;
  /** Ms since some moment, the same for all threads of the process. */
  readonly monotonic: () => number;
}

/** Reading end, on any thread. */
export class SteadyClock {
  protected readonly numbers: Float64Array;
  protected readonly sources: ClockSources;
  /** The wall clock's time when it was last found near ours; Infinity when it was not. */
  #comparedMs = Number.POSITIVE_INFINITY;
  #comparedOffsetMs = Number.NaN;

  /** `memory` is the keeper's; its numbers are read whole on the processors we know. */
  constructor(memory: SharedArrayBuffer, sources: ClockSources) {
    this.numbers = new Float64Array(memory);
    this.sources = sources;
  }

  /** Epoch ms. Bound: it is handed on as a function. */
  readonly now = (): number => {
    const wallMs = this.sources.wall();
    const sinceMs = wallMs - this.#comparedMs;
    const isSame = this.numbers[OFFSET_MS_INDEX] === this.#comparedOffsetMs;
    if (isSame && sinceMs >= 0 && sinceMs < COMPARE_MS) return wallMs;
    return this.#compare(wallMs);
  };

  #compare(wallMs: number): number {
    const monotonicMs = this.sources.monotonic();
    const offsetMs = this.numbers[OFFSET_MS_INDEX]!;
    const isNear = Math.abs(wallMs - monotonicMs - offsetMs) <= CLOCK_JUMP_MS_MIN;
    this.#comparedOffsetMs = offsetMs;
    this.#comparedMs = isNear ? wallMs : Number.POSITIVE_INFINITY;
    return isNear ? wallMs : Math.trunc(monotonicMs + offsetMs);
  }

  /** False for an hour after a jump and after a long stop: nothing is to be deleted by age then. */
  get isConfirmed(): boolean {
    return this.sources.monotonic() >= this.numbers[CONFIRMED_FROM_MS_INDEX]!;
  }
}

/** Told once each: what the keeper found, and the wall clock's lead over ours in ms. */
export type ClockEvent =
  | "clock_jumped"
  | "clock_returned"
  | "clock_followed"
  | "clock_after_long_stop";

interface Jump {
  readonly offsetMs: number;
  readonly sinceMs: number;
}

/** Keeper: the one thread that decides which time it is. Call `look` every second. */
export class SteadyClockWriter extends SteadyClock {
  readonly #tell: (event: ClockEvent, leadMs: number) => void;
  #anchoredMs = 0;
  #jump: Jump | undefined;
  /** From when the time was confirmed before the jump. */
  #confirmedBeforeMs: number | undefined;
  /** After a long stop, until it is confirmed: the time is somewhere after this. */
  #notBeforeMs = Number.POSITIVE_INFINITY;

  constructor(
    memory: SharedArrayBuffer,
    sources: ClockSources,
    tell: (event: ClockEvent, leadMs: number) => void,
  ) {
    super(memory, sources);
    this.#tell = tell;
    this.#anchor();
    // Until it is known what is on record.
    this.#confirmFrom(Number.POSITIVE_INFINITY);
  }

  /**
   * Compares with what is on record.
   * @param lastMs time of the journal's last record; undefined without one.
   */
  begin(lastMs: number | undefined): void {
    this.#confirmFrom(0);
    if (lastMs === undefined) return;
    const aheadMs = this.sources.wall() - lastMs;
    if (aheadMs < -CLOCK_JUMP_MS_MIN) {
      // Set back while we were off. Ours goes on where the journal ends.
      this.numbers[OFFSET_MS_INDEX] = lastMs - this.sources.monotonic();
      this.look();
    } else if (aheadMs > LONG_STOP_MS_MIN) {
      // Off for long, or set forward: served at once, and nothing is deleted by it yet.
      this.#notBeforeMs = lastMs;
      this.#confirmFrom(this.sources.monotonic() + CLOCK_CONFIRM_MS);
      this.#tell("clock_after_long_stop", aheadMs);
    }
  }

  /** Lead of the wall clock over ours, ms; 0 while it is followed. */
  get leadMs(): number {
    return this.#jump === undefined ? 0 : this.sources.wall() - this.now();
  }

  look(): void {
    const monotonicMs = this.sources.monotonic();
    const wallMs = this.sources.wall();
    const offsetMs = wallMs - monotonicMs;
    const leadMs = offsetMs - this.numbers[OFFSET_MS_INDEX]!;
    if (Math.abs(leadMs) <= CLOCK_JUMP_MS_MIN) this.#near(monotonicMs);
    else if (leadMs < 0 && this.#isReturn(wallMs)) {
      // The long stop was none: the clock had been set forward for the start alone.
      this.#follow("clock_returned", leadMs, monotonicMs);
    } else if (
      this.#jump === undefined ||
      Math.abs(offsetMs - this.#jump.offsetMs) > CLOCK_JUMP_MS_MIN
    ) {
      this.#confirmedBeforeMs ??= this.numbers[CONFIRMED_FROM_MS_INDEX]!;
      this.#jump = { offsetMs, sinceMs: monotonicMs };
      this.#confirmFrom(Number.POSITIVE_INFINITY);
      this.#tell("clock_jumped", leadMs);
    } else if (monotonicMs - this.#jump.sinceMs >= CLOCK_CONFIRM_MS) {
      this.#follow("clock_followed", leadMs, monotonicMs);
    }
  }

  /** Once an hour at most: a clock that is moved on bit by bit gains an hour in an hour. */
  #near(monotonicMs: number): void {
    if (this.#jump !== undefined) {
      this.#jump = undefined;
      this.#confirmFrom(this.#confirmedBeforeMs ?? monotonicMs);
      this.#confirmedBeforeMs = undefined;
      this.#tell("clock_returned", 0);
    }
    if (monotonicMs - this.#anchoredMs >= CLOCK_CONFIRM_MS) this.#anchor();
  }

  #isReturn(wallMs: number): boolean {
    return (
      !this.isConfirmed &&
      this.#jump === undefined &&
      wallMs >= this.#notBeforeMs - CLOCK_JUMP_MS_MIN
    );
  }

  #follow(event: ClockEvent, leadMs: number, monotonicMs: number): void {
    this.#jump = undefined;
    this.#confirmedBeforeMs = undefined;
    this.#anchor();
    this.#confirmFrom(monotonicMs + CLOCK_CONFIRM_MS);
    this.#tell(event, leadMs);
  }

  #anchor(): void {
    this.#anchoredMs = this.sources.monotonic();
    this.numbers[OFFSET_MS_INDEX] = this.sources.wall() - this.#anchoredMs;
  }

  #confirmFrom(monotonicMs: number): void {
    this.numbers[CONFIRMED_FROM_MS_INDEX] = monotonicMs;
  }
}
