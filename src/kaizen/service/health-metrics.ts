// Figures of kaizen for the operator: how the newest run ended, since when the live weights are live,
// and how good they are on the newest outcomes.
import type { RunRecord, RunState, WatchRecord } from "../kaizen.ts";
import type { Champion } from "./champion.ts";
import type { KaizenFiles } from "./files.ts";
import type { RecentMetrics } from "../model/holdout.ts";
import type { RecentScorecardMetrics } from "../run.ts";
import { SCORECARD_SIDES } from "../model/scorecard.ts";
import type { ScorecardSide } from "../model/scorecard.ts";

export interface KaizenMetrics {
  /** The newest finished run; its end in epoch ms. */
  readonly lastRun: { readonly state: RunState; readonly endedMs: number } | undefined;
  /** Epoch ms of the promotion that is live; undefined while the shipped weights are. */
  readonly championMs: number | undefined;
  readonly sides: readonly SideMetrics[];
}

/** Of one scorecard; what has not been measured is undefined. */
interface SideMetrics {
  readonly side: ScorecardSide;
  /** Of the live weights, on the newest 1,000 outcomes that the newest run or comparison saw. */
  readonly logLoss: number | undefined;
  readonly calibrationError: number | undefined;
  /** Log-loss an outcome that its newest change has added, against the weights before. */
  readonly watchLossIncrease: number | undefined;
}

/** Runs that a start looks at for the newest figures of the live weights. */
const RUNS_LOADED = 8;

/** Holds the figures between runs, so that a scrape reads no file. */
export class LiveKaizenMetrics {
  readonly #files: Pick<KaizenFiles, "listRuns">;
  readonly #champion: Pick<Champion, "live" | "version">;
  readonly #newestWatch: () => WatchRecord | undefined;
  #lastRun: KaizenMetrics["lastRun"];
  /** By version of the weights: after a promotion or a rollback another one is live. */
  #recent: Map<string, Map<ScorecardSide, RecentMetrics>> = new Map();
  #watch: { readonly version: string; readonly sides: WatchRecord["sides"] } | undefined;

  /** `newestWatch` reads the newest comparison of each scorecard's newest change. */
  constructor(
    files: Pick<KaizenFiles, "listRuns">,
    champion: Pick<Champion, "live" | "version">,
    newestWatch: () => WatchRecord | undefined,
  ) {
    this.#newestWatch = newestWatch;
    this.#files = files;
    this.#champion = champion;
  }

  /** Reads the newest runs; `find` gives the whole record of one. */
  open(find: (id: string) => RunRecord | undefined): void {
    const newest = this.#files.listRuns(RUNS_LOADED);
    for (const { run_id: id } of newest.toReversed()) this.take(find(id));
  }

  /** Takes a run that has ended. */
  take(run: RunRecord | undefined): void {
    if (run?.finished_at === undefined) return;
    this.takeWatch();
    this.#lastRun = { state: run.state, endedMs: Date.parse(run.finished_at) };
    const { findings, champion_version: version, challenger_version: next } = run;
    this.takeRecent(findings?.recent, version, next);
  }

  /** Takes how good the weights of a version, and those to follow it, are on the newest outcomes. */
  takeRecent(
    recent: readonly RecentScorecardMetrics[] | undefined,
    version: string,
    next?: string,
  ): void {
    if (recent === undefined) return;
    this.#recent = new Map([[version, new Map(recent.map((each) => [each.side, each.champion]))]]);
    if (next === undefined) return;
    const challengers = recent.flatMap(({ side, challenger }) =>
      challenger === undefined ? [] : [[side, challenger] as const],
    );
    this.#recent.set(next, new Map(challengers));
  }

  /** Takes the newest comparison of each scorecard's newest change; without one there is none. */
  takeWatch(): void {
    const watch = this.#newestWatch();
    this.#watch = watch && { version: this.#champion.version, sides: watch.sides };
  }

  figures(): KaizenMetrics {
    const live = this.#champion.live();
    const sides = SCORECARD_SIDES.map((side) => {
      const isOfLive = this.#watch?.version === this.#champion.version;
      const compared = this.#watch?.sides.find((each) => isOfLive && each.side === side);
      const recent = this.#recent.get(this.#champion.version)?.get(side);
      return {
        side,
        logLoss: recent?.log_loss,
        calibrationError: recent?.calibration_error,
        watchLossIncrease: compared?.numbers["loss_increase"],
      };
    });
    return { lastRun: this.#lastRun, championMs: live?.at_ms, sides };
  }
}
