// Figures of kaizen for the operator: how the newest run ended, since when the live weights are live,
// and how good they were where they were last tested.
import type { RunRecord, RunState, WatchRecord } from "../kaizen.ts";
import type { Champion } from "./champion.ts";
import type { KaizenFiles } from "./files.ts";
import { SIDES } from "../sides.ts";
import type { Side } from "../sides.ts";

export interface KaizenFigures {
  /** The newest finished run; its end in epoch ms. */
  readonly lastRun: { readonly state: RunState; readonly endedMs: number } | undefined;
  /** Epoch ms of the promotion that is live; undefined while the shipped weights are. */
  readonly championMs: number | undefined;
  readonly sides: readonly SideFigures[];
}

/** Of one scorecard; what has not been measured is undefined. */
interface SideFigures {
  readonly side: Side;
  /** Of the live weights, on the outcomes on which a run has tested them last. */
  readonly logLoss: number | undefined;
  readonly calibrationError: number | undefined;
  /** Log-loss an outcome that the newest promotion has added, against the weights before. */
  readonly watchLossIncrease: number | undefined;
}

/** Runs that a start looks at for the newest test of the live weights. */
const RUNS_LOOKED_AT = 8;

/** Holds the figures between runs, so that a scrape reads no file. */
export class LiveFigures {
  readonly #files: Pick<KaizenFiles, "listRuns" | "loadWatch">;
  readonly #champion: Pick<Champion, "live">;
  #lastRun: KaizenFigures["lastRun"];
  #sides: readonly SideFigures[] = [];

  constructor(
    files: Pick<KaizenFiles, "listRuns" | "loadWatch">,
    champion: Pick<Champion, "live">,
  ) {
    this.#files = files;
    this.#champion = champion;
  }

  /** Reads the newest runs; `find` gives the whole record of one. */
  open(find: (id: string) => RunRecord | undefined): void {
    const newest = this.#files.listRuns(RUNS_LOOKED_AT);
    for (const { run_id: id } of newest.toReversed()) this.take(find(id));
    if (newest.length === 0) this.take(undefined);
  }

  /** Takes a run that has ended, and the newest comparison of the live promotion. */
  take(run: RunRecord | undefined): void {
    if (run?.finished_at !== undefined) {
      this.#lastRun = { state: run.state, endedMs: Date.parse(run.finished_at) };
    }
    const live = this.#champion.live();
    const watch = live && this.#files.loadWatch(live.run_id);
    // Dry runs and runs as of an earlier time say nothing of the live weights.
    const isLive = run?.state === "kept" || run?.state === "promoted";
    this.#sides = sidesAfter(isLive ? run : undefined, watch, this.#sides);
  }

  figures(): KaizenFigures {
    const championMs = this.#champion.live()?.at_ms;
    return { lastRun: this.#lastRun, championMs, sides: this.#sides };
  }
}

/** What a run says of the weights that are live after it; `known` is what was known before. */
function sidesAfter(
  run: RunRecord | undefined,
  watch: WatchRecord | undefined,
  known: readonly SideFigures[],
): SideFigures[] {
  return SIDES.map((side) => {
    const before = known.find((each) => each.side === side);
    const tested = run?.findings?.sides.find((each) => each.side === side);
    const isReplaced = run?.state === "promoted" && tested?.passed === true;
    const figures = isReplaced ? tested?.figures?.challenger : tested?.figures?.champion;
    const compared = watch?.sides.find((each) => each.side === side);
    return {
      side,
      logLoss: figures?.log_loss ?? before?.logLoss,
      calibrationError: figures?.calibration_error ?? before?.calibrationError,
      watchLossIncrease: compared?.numbers["loss_increase"],
    };
  });
}
