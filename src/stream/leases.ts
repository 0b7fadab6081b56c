// Leases on the jobs that one node does for its whole cluster: asked for again and again while another has them, told
// where they begin and end.
import type { ClusterJob, StreamMetrics } from "./metrics.ts";
import type { Lease, OrderedLog } from "./ordered-log.ts";
import type { StreamEvent } from "./stream-event.ts";

/** Interval between two looks: a lease that has run out is taken within it. */
const CHECK_INTERVAL_MS = 2000;

export interface JobLeasesOptions {
  readonly jobs: readonly ClusterJob[];
  readonly log: Pick<OrderedLog, "acquireLease">;
  readonly figures: StreamMetrics;
  readonly clock: () => number;
  /** Called when a job becomes this node's, and when it is not any more. */
  readonly tell: (event: StreamEvent & { kind: "leads" }) => void;
}

export class JobLeases {
  readonly #options: JobLeasesOptions;
  readonly #held = new Map<ClusterJob, Lease>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #runningCheck: Promise<void> | undefined;

  constructor(options: JobLeasesOptions) {
    this.#options = options;
  }

  /** Once: a further call does nothing, and none takes a lease after `close`. */
  start(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const turn = () => {
      this.#runningCheck ??= this.#checkAllJobs().finally(() => (this.#runningCheck = undefined));
    };
    this.#timer = setInterval(turn, CHECK_INTERVAL_MS);
    turn();
  }

  /** Jobs that are this node's now. */
  get listHeldJobs(): ClusterJob[] {
    return [...this.#held].filter(([, lease]) => lease.leftMs > 0).map(([job]) => job);
  }

  /** Gives all of them back: another node need not wait until they run out. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#runningCheck;
    await Promise.all([...this.#held].map(([job, lease]) => this.#endLease(job, lease)));
  }

  async #checkAllJobs(): Promise<void> {
    await Promise.all(this.#options.jobs.map((job) => this.#checkJob(job)));
  }

  async #checkJob(job: ClusterJob): Promise<void> {
    const { log, figures, clock, tell } = this.#options;
    const before = this.#held.get(job);
    if (before !== undefined && before.leftMs <= 0) await this.#endLease(job, before);
    if (!this.#held.has(job)) {
      // Without an answer there is no lease; the next look asks again.
      const taken = await log.acquireLease(job).catch(() => undefined);
      if (taken !== undefined) this.#held.set(job, taken);
    }
    const lease = this.#held.get(job);
    if (lease === undefined) return;
    figures.setLeaseEnd(job, clock() + lease.leftMs);
    if (lease !== before) tell({ kind: "leads", job, isHeld: true });
  }

  async #endLease(job: ClusterJob, lease: Lease): Promise<void> {
    this.#held.delete(job);
    this.#options.figures.setLeaseEnd(job, 0);
    this.#options.tell({ kind: "leads", job, isHeld: false });
    await lease.release();
  }
}
