// Sampler of the series: asks each second what the HTTP threads have counted. A thread that is slow to
// answer is asked again only once it has: the next point then stands for a longer time.
import type { SeriesCounts } from "../../http/metrics/recorder.ts";
import type { SeriesBuffer } from "../../http/metrics/series.ts";
import type { OpenLedger } from "../../ledger/client.ts";
import type { OpenStore } from "../../store/client.ts";

const SAMPLE_MS = 1000;
/** Looks from one reading of memory to the next. */
const MEMORY_EVERY = 10;

export interface SeriesSamplerOptions {
  readonly front: { pulses(): Promise<readonly SeriesCounts[]> };
  readonly ledger: Pick<OpenLedger, "position"> & {
    readonly figures: Pick<OpenLedger["figures"], "counts">;
  };
  readonly store: Pick<OpenStore, "status">;
  readonly series: Pick<SeriesBuffer, "take">;
  readonly memory: { sample(): Promise<void> };
  /** Epoch ms. */
  readonly clock: () => number;
}

export interface SeriesSampler {
  /** Takes one point, unless the one before is not in yet. */
  look(): Promise<void>;
  close(): void;
}

export function openSeriesSampler({
  front,
  ledger,
  store,
  series,
  memory,
  clock,
}: SeriesSamplerOptions): SeriesSampler {
  let isAsking = false;
  let lookCount = 0;
  const look = async () => {
    if (lookCount++ % MEMORY_EVERY === 0) void memory.sample();
    if (isAsking) return;
    isAsking = true;
    try {
      const pulses = await front.pulses();
      const counted = ledger.figures.counts().outcomes;
      const outcomes = counted.reduce((sum, { value }) => sum + value, 0);
      const lagRecords = Math.max(0, ledger.position() - store.status().appliedLsn);
      series.take(clock(), pulses, { outcomes, lagRecords });
    } catch {
      // A thread that has ended ends the service, which says so itself.
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void look(), SAMPLE_MS).unref();
  void look();
  return { look, close: () => clearInterval(timer) };
}
