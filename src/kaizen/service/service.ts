// Kaizen as a running service: one run at a time on a pool thread of its own, promotion and
// rollback through the champion (champion.ts), a comparison of each scorecard (live-comparison.ts), and every run
// on record in a file and in the store.
import type { ScoringConfig } from "../../engine/config.ts";
import {
  assertAsOfPast,
  createRunRecord,
  selectTestedToMs,
  selectChallengedVersion,
  describeProgress,
  buildKaizenStatus,
} from "./run-record.ts";
import { Champion } from "./champion.ts";
import {
  isCalibrationDue,
  KaizenFiles,
  createRunId,
  computeStateAfterRun,
  readCalibratedToMs,
  computeConfigVersion,
  completeRunFromState,
} from "./files.ts";
import type { KaizenState } from "./files.ts";
import { ChampionConfigHistory } from "./config-history.ts";
import { LiveKaizenMetrics } from "./health-metrics.ts";
import type { KaizenOptions } from "./options.ts";
import { runKaizenOnPool } from "./worker-pool.ts";
import { promoteDryRun, type PromotionApproval } from "./promotion.ts";
import type { KaizenTask } from "./worker-pool.ts";
import { listWatchedChanges, saveWatches, loadNewestWatch } from "./live-comparison.ts";
import type { Kaizen, KaizenStatus, RunRecord, RunRequest, RunSummary } from "../kaizen.ts";
import type { SideWatch } from "../monitor.ts";
import { EVIDENCE_KINDS } from "../../contract/vocabulary.ts";
import { EVIDENCE_ROWS_MAX } from "../../contract/setting-defaults.ts";
import { buildRunNumbers, type RunNumbers } from "../report/numbers.ts";
import { renderRunReportPage } from "../report/run-page.ts";
import type { RunFindings } from "../run.ts";

export class KaizenService implements Kaizen {
  readonly #options: KaizenOptions;
  readonly #files: KaizenFiles;
  readonly #champion: Champion;
  readonly #progress = new Int32Array(new SharedArrayBuffer(8));
  #running: { id: string; done: Promise<RunRecord> } | undefined;
  #lastId = "";
  readonly #stop = new AbortController();
  /** Time of the next scheduled run, epoch ms; set by the schedule. */
  nextRunMs: number | undefined;
  readonly measured: LiveKaizenMetrics;
  readonly configs: ChampionConfigHistory;

  constructor(options: KaizenOptions) {
    this.#options = options;
    this.#files = new KaizenFiles(options.dataDir);
    this.#champion = new Champion(this.#files, options.ledger, options.shipped, options.shared);
    this.#champion.policies = options.policies;
    this.configs = new ChampionConfigHistory(this.#champion);
    this.measured = new LiveKaizenMetrics(this.#files, this.#champion, () =>
      loadNewestWatch(this.#files, listWatchedChanges(this.#champion)),
    );
  }

  /** Makes the promoted config live, before anything is served, and settles an interrupted run. */
  async open(): Promise<void> {
    await this.#champion.open();
    try {
      this.#champion.keepLive();
      await this.#champion.share();
    } catch (error) {
      // A full disk must not prevent serving; a promotion tries again and insists on it.
      this.#options.log.warn("kaizen_config_not_kept", { detail: (error as Error).message });
    }
    this.measured.open((id) => this.find(id));
    const [newest] = this.#files.listRuns(1);
    if (newest?.state !== "running") return;
    const run = this.find(newest.run_id);
    if (run !== undefined) this.#trySave(run);
  }

  start(request: RunRequest): { id: string; done: Promise<RunRecord> } | undefined {
    if (this.#running !== undefined) return undefined;
    const nowMs = this.#options.clock();
    assertAsOfPast(request, nowMs);
    let id = createRunId(nowMs);
    // The clock may have been set back, and the service restarted since.
    const isTaken = () => id === this.#lastId || this.#files.loadRun(id) !== undefined;
    for (let ms = nowMs + 1; isTaken(); ms++) id = createRunId(ms);
    this.#lastId = id;
    const done = this.#run(id, request, nowMs).finally(() => (this.#running = undefined));
    this.#running = { id, done };
    return this.#running;
  }

  /**
   * Compares each scorecard with the weights that its newest change replaced, on all outcomes since,
   * and rolls that promotion back when due. Does nothing during a run: a run compares by itself.
   */
  async watch(): Promise<void> {
    const nowMs = this.#options.clock();
    const request = { isDryRun: true, isSignedOff: false, startedBy: "watch" };
    const runTask = this.#options.runTask ?? runKaizenOnPool;
    try {
      const task = this.#buildTask("watch", request, nowMs, this.#options.ledger.position());
      if (this.#running !== undefined || task.watch === undefined) return;
      const watchTask = { ...task, isWatchOnly: true };
      const { watch, findings } = await runTask(watchTask, this.#progress, this.#stop.signal);
      this.measured.takeRecent(findings.recent, this.#champion.version);
      await this.#applyWatch(watch, task, nowMs);
    } catch (error) {
      this.#options.log.error("kaizen_watch_failed", { detail: (error as Error).message });
    }
  }

  /** Cancels the run under way, if any: the champion stays, the next schedule runs again. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.done;
  }

  /** See `isCalibrationDue` of files.ts. */
  get isCalibrationDue(): boolean {
    return isCalibrationDue(this.#champion.state, this.#options.ledger.position());
  }

  get lastScheduledMs(): number {
    return this.#champion.state.last_scheduled_ms;
  }

  /** The live config, and when it was promoted; undefined for the one shipped. */
  weights(): { config: ScoringConfig; promotedAt: string | undefined } {
    const last = this.#champion.live();
    const promotedAt = last === undefined ? undefined : new Date(last.at_ms).toISOString();
    return { config: this.#champion.config(), promotedAt };
  }

  status(): KaizenStatus {
    const watch = loadNewestWatch(this.#files, listWatchedChanges(this.#champion));
    const [stage, share] = [Atomics.load(this.#progress, 0), Atomics.load(this.#progress, 1)];
    const running = this.#running && {
      run_id: this.#running.id,
      ...describeProgress(stage, share),
    };
    return buildKaizenStatus(this.#champion, { watch, running, nextRunMs: this.nextRunMs });
  }

  runs(): RunSummary[] {
    return this.#files.listRuns().map((run) => this.#withFate(run));
  }

  find(id: string): RunRecord | undefined {
    const run = this.#files.loadRun(id);
    if (run === undefined) return undefined;
    const watch = this.#files.loadWatch(id);
    return { ...this.#withFate(run), ...(watch === undefined ? {} : { watch }) };
  }

  numbers = ({ findings }: RunRecord): RunNumbers | undefined =>
    findings && buildRunNumbers(findings);

  report(id: string): string | undefined {
    const run = this.find(id);
    return run === undefined ? undefined : renderRunReportPage(run);
  }

  async promote(id: string, order: PromotionApproval): Promise<RunRecord | undefined> {
    const run = this.#files.loadRun(id);
    if (run === undefined) return undefined;
    const isRunning = this.#running !== undefined;
    const ground = { files: this.#files, champion: this.#champion, isRunning };
    await promoteDryRun(run, ground, this.#options.clock(), order);
    const promoted = this.find(id)!;
    this.measured.take(promoted);
    this.#options.onRun?.(promoted);
    this.#options.log.warn("kaizen_promoted", { run: id, ...order });
    return promoted;
  }

  async rollback(reason: string): Promise<{ config_version: string; run_id: string } | undefined> {
    return this.#takeBack(reason);
  }

  /** Takes the promotion of a run back, by default the newest. */
  async #takeBack(reason: string, runId?: string) {
    const taken = await this.#champion.rollBack(reason, this.#options.clock(), runId);
    if (taken === undefined) return undefined;
    const { run_id } = taken.promotion;
    this.#options.log.warn("kaizen_rolled_back", { run: run_id, reason });
    const run = this.find(run_id);
    if (run !== undefined) this.#options.onRun?.(run);
    return { config_version: taken.left, run_id };
  }

  #withFate<R extends RunSummary>(run: R): R {
    const { promotions } = this.#champion.state;
    const promotion = promotions.find((each) => each.run_id === run.run_id);
    return completeRunFromState(run, promotion, this.#running?.id === run.run_id);
  }

  async #run(id: string, request: RunRequest, nowMs: number): Promise<RunRecord> {
    const position = this.#options.ledger.position();
    const championVersion = selectChallengedVersion(this.#champion, request);
    const { evidenceKinds = EVIDENCE_KINDS } = this.#options;
    const start = { nowMs, championVersion, position, evidenceKinds };
    const run = createRunRecord(id, request, start);
    const basis = this.#champion.state;
    try {
      this.#files.saveRun(run);
      this.#options.onRun?.(run);
      const task = this.#buildTask(id, request, nowMs, run.position);
      const runTask = this.#options.runTask ?? runKaizenOnPool;
      const result = await runTask(task, this.#progress, this.#stop.signal);
      const { findings, rows, rowsOf, rowsByKind, watch } = result;
      const { reason } = findings;
      Object.assign(run, { findings, rows, rows_by_kind: rowsByKind, reason });
      if (rowsOf !== undefined) run.rows_of = rowsOf;
      const isDry = request.isDryRun || request.asOfMs !== undefined;
      const takenBack = isDry ? undefined : await this.#applyWatch(watch, task, nowMs);
      if (takenBack === undefined) await this.#decide(run, request, findings, basis);
      else Object.assign(run, { state: "kept", reason: `rolled back: ${takenBack}` });
    } catch (error) {
      run.state = "failed";
      run.reason = `the run broke and the champion stays: ${(error as Error).message}`;
      // A run that the end of the service cut short is no failure.
      if (!this.#stop.signal.aborted) {
        this.#options.log.error("kaizen_failed", { run: id, detail: (error as Error).message });
      }
    }
    const finishedMs = this.#options.clock();
    run.finished_at = new Date(finishedMs).toISOString();
    run.duration_ms = finishedMs - nowMs;
    this.#trySave(run);
    this.measured.take(run);
    this.#options.log.info("kaizen_run", { run: id, state: run.state, reason: run.reason });
    return this.#withFate(run);
  }

  #trySave(run: RunRecord): void {
    try {
      this.#files.saveRun(run);
    } catch (error) {
      this.#options.log.error("kaizen_not_saved", { detail: (error as Error).message });
    }
    this.#options.onRun?.(this.#withFate(run));
  }

  /** Stores the comparisons; rolls back what is due and returns the reasons. */
  async #applyWatch(
    found: SideWatch[] | undefined,
    { champion, watch }: KaizenTask,
    nowMs: number,
  ): Promise<string | undefined> {
    if (found === undefined || watch === undefined) return undefined;
    if (this.#champion.version !== computeConfigVersion(champion)) return undefined;
    const due = saveWatches(this.#files, watch, found, nowMs);
    this.measured.takeWatch();
    for (const { runId, reason } of due) await this.#takeBack(reason, runId);
    return due.length === 0 ? undefined : due.map(({ reason }) => reason).join("; ");
  }

  #buildTask(id: string, request: RunRequest, nowMs: number, uptoLsn: number): KaizenTask {
    const watch = listWatchedChanges(this.#champion);
    const last = this.#champion.live();
    // Data of a release that did not store its shipped config: nothing to compare with, but no
    // reason to stop learning.
    if (last !== undefined && this.#champion.steps().every((step) => step.promotion !== last)) {
      this.#options.log.warn("kaizen_unwatched", { run: last.run_id, missing: last.parent });
    }
    const { journal, seeds, rowsMax = EVIDENCE_ROWS_MAX } = this.#options;
    const { evidenceKinds = EVIDENCE_KINDS } = this.#options;
    const isCalibration = request.kind === "calibration";
    const { asOfMs } = request;
    return {
      journal,
      uptoLsn,
      rowsMax,
      evidenceKinds,
      ...(seeds && { seeds }),
      champion: this.#champion.config(selectChallengedVersion(this.#champion, request)),
      ...(asOfMs === undefined ? {} : { asOfMs }),
      ...(Object.keys(watch).length > 0 && asOfMs === undefined ? { watch } : {}),
      ...(isCalibration ? { isCalibration } : {}),
      options: {
        id,
        nowMs: asOfMs ?? nowMs,
        isSignedOff: request.isSignedOff,
        testedToMs: isCalibration
          ? readCalibratedToMs(this.#champion.state)
          : selectTestedToMs(asOfMs, this.#champion.state.tested_to_ms),
        ...(request.holdoutDays === undefined ? {} : { holdoutDays: request.holdoutDays }),
      },
    };
  }

  /** Keeps or promotes; promotes nothing that was tested on `basis` and stands on another state. Tested evidence is spent in any case. */
  async #decide(run: RunRecord, request: RunRequest, findings: RunFindings, basis: KaizenState) {
    const { config } = findings;
    const nowMs = Date.parse(run.started_at);
    if (config !== undefined) run.challenger_version = computeConfigVersion(config);
    if (request.isDryRun || request.asOfMs !== undefined) {
      run.state = "dry_run";
      return;
    }
    const change = (state: KaizenState) =>
      computeStateAfterRun(state, request, findings, {
        testedMs: nowMs,
        position: run.position,
      });
    const isCooling = this.#champion.state.cool_down_runs > 0;
    if (config !== undefined && !isCooling) {
      const isPromoted = await this.#champion.promote(run, config, change, { nowMs, basis });
      run.state = isPromoted ? "promoted" : "kept";
      if (!isPromoted) run.reason += ", but the live weights changed during the run";
      return;
    }
    run.state = "kept";
    if (config !== undefined) run.reason += ", but a rollback asks for a pause";
    await this.#champion.keep(change);
  }
}
