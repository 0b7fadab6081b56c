// Schedule of the journal's scrubs: after a start from a snapshot, the segments that the start only
// checked at both ends; from then on all sealed ones, over and over. Each scrub runs on a thread of
// its own that ends with it. Part of the ledger thread.
import { Worker } from "node:worker_threads";
import type { JournalDamage } from "../journal/faults.ts";
import { diskFileLayer } from "../platform/files.ts";
import { parseSegmentNames } from "../journal/format.ts";
import type { FromLedger } from "../ledger/messages.ts";
import type { ScrubNote } from "./scrub.ts";

export interface ScrubbingOptions {
  readonly journal: string;
  /** Position of the snapshot that the start came from: segments up to it were not read in full. */
  readonly snapshotLsn: number | undefined;
  /** Interval in ms between two scrubs of all segments; undefined: only at the start. */
  readonly everyMs: number | undefined;
  readonly send: (message: FromLedger) => void;
}

/** Runs until the thread ends, and does not keep it alive. */
export function startScrubbing(options: ScrubbingOptions): void {
  const { snapshotLsn, everyMs } = options;
  const pass = new ScrubPass(options);
  if (snapshotLsn !== undefined) pass.start(snapshotLsn);
  // The bound is open: the newest segment is never scrubbed, because no segment follows it.
  if (everyMs !== undefined) setInterval(() => pass.start(Infinity), everyMs).unref();
}

class ScrubPass {
  readonly #options: ScrubbingOptions;
  #isRunning = false;

  constructor(options: ScrubbingOptions) {
    this.#options = options;
  }

  /** A scrub that takes longer than the interval goes on instead of the next. */
  start(uptoLsn: number): void {
    const { journal, send } = this.#options;
    if (this.#isRunning || parseSegmentNames(diskFileLayer.list(journal)).length < 2) return;
    this.#isRunning = true;
    const damages: JournalDamage[] = [];
    const isWhole = uptoLsn === Infinity;
    const worker = new Worker(new URL("./scrub.ts", import.meta.url), {
      name: "scrub",
      workerData: { journal, uptoLsn },
    });
    worker.on("message", ({ segments, damage }: ScrubNote) => {
      if (damage !== undefined) damages.push(damage);
      const isDone = damage === undefined;
      send({ kind: "scrub", segments, damages: [...damages], isDone, isWhole });
    });
    worker.once("error", (error) =>
      send({ kind: "note", event: "journal_unverified", detail: String(error) }),
    );
    worker.once("exit", () => (this.#isRunning = false));
    worker.unref();
  }
}
