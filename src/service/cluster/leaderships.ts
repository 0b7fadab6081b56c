// Jobs that one node does for its whole cluster, as far as they are this one's: by what the stream thread tells.
import type { Leadership } from "../../kaizen/service/options.ts";
import type { ClusterJob, StreamMetrics } from "../../stream/metrics.ts";

export class Leaderships {
  readonly #figures: StreamMetrics;
  readonly #clock: () => number;
  readonly #calls = new Map<ClusterJob, (() => void)[]>();

  /** `clock` is epoch ms, as the stream thread's. */
  constructor(figures: StreamMetrics, clock: () => number) {
    this.#figures = figures;
    this.#clock = clock;
  }

  /** A job has become this node's. */
  taken(job: ClusterJob): void {
    for (const call of this.#calls.get(job) ?? []) call();
  }

  of(job: ClusterJob): Leadership {
    const isHeld = () => this.#figures.isJobOwner(job, this.#clock());
    return {
      get isHeld() {
        return isHeld();
      },
      onTaken: (call) => {
        this.#calls.set(job, [...(this.#calls.get(job) ?? []), call]);
      },
    };
  }
}
