// Progress of long work, on stderr: a bar at a terminal, a plain line every few seconds elsewhere,
// and nothing at all for work that is over within a second. The only user of cli-progress.
import { Presets, SingleBar } from "cli-progress";

const QUIET_MS = 1000;
const PLAIN_INTERVAL_MS = 5000;

/** Counts units of work of one kind towards a known total. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #bar: SingleBar | undefined;
  #saidAt = 0;
  #done = 0;

  constructor(label: string, total: number) {
    this.#label = label;
    this.#total = total;
  }

  /** Work done so far, in all. */
  update(done: number): void {
    this.#done = done;
    const elapsedMs = performance.now() - this.#startedAt;
    if (elapsedMs < QUIET_MS) return;
    if (process.stderr.isTTY) this.#draw();
    else if (elapsedMs - this.#saidAt >= PLAIN_INTERVAL_MS) {
      this.#saidAt = elapsedMs;
      const percent = Math.floor((100 * done) / Math.max(this.#total, 1));
      process.stderr.write(`${this.#label}: ${percent} %\n`);
    }
  }

  /** Removes the bar. */
  stop(): void {
    this.#bar?.update(this.#done);
    this.#bar?.stop();
  }

  #draw(): void {
    if (this.#bar === undefined) {
      const format = `${this.#label} {bar} {percentage} % {eta_formatted} left`;
      this.#bar = new SingleBar(
        { format, stream: process.stderr, hideCursor: true },
        Presets.shades_classic,
      );
      this.#bar.start(this.#total, this.#done);
    }
    this.#bar.update(this.#done);
  }
}
