// Leases on the jobs that one node does for its whole cluster: asked for again and again while another has them, told
// where they begin and end.
import type { LedJob, StreamFigures } from "./figures.ts";
import type { Lease, OrderedLog } from "./ordered-log.ts";

/** Interval between two looks: a lease that has run out is taken within it. */
const TURN_MS = 2000;

export interface LeasesOptions {
  readonly jobs: readonly LedJob[];
  readonly log: Pick<OrderedLog, "lease">;
  readonly figures: StreamFigures;
  readonly clock: () => number;
  /** Called when a job becomes this node's, and when it is not any more. */
  readonly changed: (job: LedJob, isHeld: boolean) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new Map<LedJob, Lease>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> | undefined;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  start(): void {
    const turn = () => {
      this.#turn ??= this.#look().finally(() => (this.#turn = undefined));
    };
    this.#timer = setInterval(turn, TURN_MS);
    turn();
  }

  /** Jobs that are this node's now. */
  get held(): LedJob[] {
    return [...this.#held].filter(([, lease]) => lease.leftMs > 0).map(([job]) => job);
  }

  /** Gives all of them back: another node need not wait until they run out. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    await Promise.all([...this.#held].map(([job, lease]) => this.#end(job, lease)));
  }

  async #look(): Promise<void> {
    await Promise.all(this.#options.jobs.map((job) => this.#lookAt(job)));
  }

  async #lookAt(job: LedJob): Promise<void> {
    const { log, figures, clock, changed } = this.#options;
    const before = this.#held.get(job);
    if (before !== undefined && before.leftMs <= 0) await this.#end(job, before);
    if (!this.#held.has(job)) {
      // Without an answer there is no lease; the next look asks again.
      const taken = await log.lease(job).catch(() => undefined);
      if (taken !== undefined) this.#held.set(job, taken);
    }
    const lease = this.#held.get(job);
    if (lease === undefined) return;
    figures.lead(job, clock() + lease.leftMs);
    if (lease !== before) changed(job, true);
  }

  async #end(job: LedJob, lease: Lease): Promise<void> {
    this.#held.delete(job);
    this.#options.figures.lead(job, 0);
    this.#options.changed(job, false);
    await lease.release();
  }
}
