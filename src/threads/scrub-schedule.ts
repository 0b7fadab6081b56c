// When old segments of the journal are verified: after a start from a snapshot those that it spared
// the start, and from then on all sealed ones, over and over. Each time on a thread of its own that
// ends with it. Part of the ledger thread.
import { Worker } from "node:worker_threads";
import type { JournalDamage } from "../journal/faults.ts";
import { nodeFiles } from "../journal/files.ts";
import { segmentsOf } from "../journal/format.ts";
import type { FromLedger } from "../ledger/messages.ts";
import type { ScrubNote } from "./scrub.ts";

export interface ScrubbingOptions {
  readonly journal: string;
  /** What the start has not read: up to the snapshot that it went on from. */
  readonly snapshotLsn: number | undefined;
  /** From one look at all segments to the next; undefined: only at the start. */
  readonly everyMs: number | undefined;
  readonly tell: (message: FromLedger) => void;
}

/** Runs until the thread ends; keeps it from nothing. */
export function startScrubbing(options: ScrubbingOptions): void {
  const { snapshotLsn, everyMs } = options;
  const pass = new ScrubPass(options);
  if (snapshotLsn !== undefined) pass.start(snapshotLsn);
  // Nothing is behind the newest segment, so that it is never among them.
  if (everyMs !== undefined) setInterval(() => pass.start(Infinity), everyMs).unref();
}

class ScrubPass {
  readonly #options: ScrubbingOptions;
  #isRunning = false;

  constructor(options: ScrubbingOptions) {
    this.#options = options;
  }

  /** One that takes longer than the time between two goes on instead of the next. */
  start(uptoLsn: number): void {
    const { journal, tell } = this.#options;
    if (this.#isRunning || segmentsOf(nodeFiles.list(journal)).length < 2) return;
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
      tell({ kind: "scrub", segments, damages: [...damages], isDone, isWhole });
    });
    worker.once("error", (error) =>
      tell({ kind: "note", event: "journal_unverified", detail: String(error) }),
    );
    worker.once("exit", () => (this.#isRunning = false));
    worker.unref();
  }
}
