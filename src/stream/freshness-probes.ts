// Looks at the log that wait until this node has caught up with what they found: then it knew everything of that
// moment.

/** Looks that wait; of more, every second is given up. */
const PROBES_MAX = 1024;

interface FreshnessProbe {
  readonly atMs: number;
  readonly seq: number;
}

export class FreshnessProbes {
  #waiting: FreshnessProbe[] = [];

  /** At that moment the log's newest message was `seq`. */
  add(atMs: number, seq: number): void {
    // The later of two looks at the same place says more.
    if (this.#waiting.at(-1)?.seq === seq) this.#waiting.pop();
    this.#waiting.push({ atMs, seq });
    if (this.#waiting.length > PROBES_MAX) {
      this.#waiting = this.#waiting.filter((_, at) => at % 2 === 0);
    }
  }

  /** Takes those with nothing beyond `applied`; the moment of the newest, undefined without any. */
  takeReached(applied: number): number | undefined {
    let newestMs: number | undefined;
    while (this.#waiting[0] !== undefined && this.#waiting[0].seq <= applied) {
      newestMs = this.#waiting.shift()!.atMs;
    }
    return newestMs;
  }
}
