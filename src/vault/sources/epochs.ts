// Epoch-based reclamation for the vault's shared memory. A reader announces the epoch for the
// length of one assessment; memory unlinked in an epoch is free once no reader holds that epoch or
// an earlier one. Two atomic stores per assessment, no locks.
//
// INVARIANT: a reader announces its epoch before its first look-up, the writer unlinks before it
// reads the epochs. All of it is sequentially consistent, so one of the two sees the other.

/** Threads that may assess in one process; each takes one cache line. */
const READERS_MAX = 1024;
const LINE_WORDS = 16;
const EPOCH_AT = 0;
const COUNT_AT = 1;

export function createEpochMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((READERS_MAX + 1) * LINE_WORDS * 4);
  new Uint32Array(memory)[EPOCH_AT] = 1;
  return memory;
}

/** One reader's guard: made once per thread. */
export class EpochGuard {
  readonly #words: Uint32Array;
  readonly #at: number;

  /** @throws RangeError when there are 1,024 readers already. */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new Uint32Array(memory);
    const number = Atomics.add(this.#words, COUNT_AT, 1);
    if (number >= READERS_MAX) throw new RangeError(`the vault takes ${READERS_MAX} readers`);
    this.#at = (number + 1) * LINE_WORDS;
  }

  enter(): void {
    Atomics.store(this.#words, this.#at, Atomics.load(this.#words, EPOCH_AT));
  }

  leave(): void {
    Atomics.store(this.#words, this.#at, 0);
  }
}

interface PendingRelease {
  epoch: number;
  release: () => boolean;
}

/** The writer's side: releases that wait until no reader can see their memory. */
export class EpochReclaimer {
  readonly #words: Uint32Array;
  #waiting: PendingRelease[] = [];

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Uint32Array(memory);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /**
   * Adds a release for memory just unlinked. It runs once no reader can hold that memory, at the
   * earliest now; it returns false to be called again later.
   */
  retire(release: () => boolean): void {
    const epoch = Atomics.add(this.#words, EPOCH_AT, 1) + 1;
    this.#waiting.push({ epoch, release });
    this.runDueReleases();
  }

  /** Runs the releases that are due. */
  runDueReleases(): void {
    if (this.#waiting.length === 0) return;
    const oldest = this.#findOldestPinnedEpoch();
    const waiting = this.#waiting;
    // A release may add another that has to wait in its turn.
    this.#waiting = [];
    const left = waiting.filter(({ epoch, release }) => oldest < epoch || !release());
    this.#waiting = [...left, ...this.#waiting];
  }

  #findOldestPinnedEpoch(): number {
    const readers = Math.min(Atomics.load(this.#words, COUNT_AT), READERS_MAX);
    let oldest = Number.POSITIVE_INFINITY;
    for (let reader = 1; reader <= readers; reader++) {
      const epoch = Atomics.load(this.#words, reader * LINE_WORDS);
      if (epoch !== 0 && epoch < oldest) oldest = epoch;
    }
    return oldest;
  }
}
