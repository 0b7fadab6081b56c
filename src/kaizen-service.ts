// Kaizen in the service: one run at a time on a pool thread of its own, promotion as one replaced
// file and one swap by the ledger's writer, rollback by command and by what the watch finds. Until
// the state file is replaced the champion is the champion, whatever dies.
import { canonicalJson, defaultConfig } from "./engine/config.ts";
import type { ScoringConfig } from "./engine/config.ts";
import { assertConfig } from "./engine/config-words.ts";
import { KaizenFiles, runIdOf, versionOf, withFate } from "./kaizen-files.ts";
import type { KaizenState, Promotion } from "./kaizen-files.ts";
import { KAIZEN_STAGES, runOnPool } from "./kaizen-pool.ts";
import type { KaizenTask } from "./kaizen-worker.ts";
import type { Kaizen, KaizenStatus, RunRecord, RunRequest, RunSummary } from "./kaizen/kaizen.ts";
import { COOL_DOWN_RUNS, WATCH_DAYS } from "./kaizen/monitor.ts";
import { reportPage } from "./kaizen/report.ts";
import { SIDES } from "./kaizen/run.ts";
import type { Findings } from "./kaizen/run.ts";
import type { Log } from "./log.ts";

const DAY_MS = 86_400_000;

/** What a promotion needs of the ledger. */
export interface ConfigWriter {
  appendConfig(payload: Uint8Array): Promise<number>;
  installConfig(config: unknown): Promise<void>;
  position(): number;
}

export interface KaizenOptions {
  dataDir: string;
  journal: string;
  ledger: ConfigWriter;
  clock: () => number;
  log: Log;
  /** Another task runner than the pool; tests break it on purpose. */
  runTask?: typeof runOnPool;
}

export class KaizenService implements Kaizen {
  readonly #options: KaizenOptions;
  readonly #files: KaizenFiles;
  readonly #shipped: ScoringConfig;
  readonly #progress = new Int32Array(new SharedArrayBuffer(8));
  #state: KaizenState;
  #running: { id: string; done: Promise<RunRecord> } | undefined;
  #lastId = "";
  readonly #stop = new AbortController();
  /** When the schedule runs next; told by the schedule. */
  nextRunMs: number | undefined;

  constructor(options: KaizenOptions) {
    this.#options = options;
    this.#files = new KaizenFiles(options.dataDir);
    this.#shipped = defaultConfig();
    this.#state = this.#files.loadState(versionOf(this.#shipped));
    // A service that never promoted follows the shipped config from release to release.
    if (this.#state.promotions.every((each) => each.rolled_back !== undefined)) {
      this.#state.champion = versionOf(this.#shipped);
    }
  }

  /** Makes the promoted config live, before anything is served. */
  async open(): Promise<void> {
    const champion = this.#champion();
    if (this.#state.champion !== versionOf(this.#shipped)) {
      await this.#options.ledger.installConfig(champion);
    }
  }

  start(request: RunRequest): { id: string; done: Promise<RunRecord> } | undefined {
    if (this.#running !== undefined) return undefined;
    const nowMs = this.#options.clock();
    let id = runIdOf(nowMs);
    for (let ms = nowMs; id <= this.#lastId; ms++) id = runIdOf(ms);
    this.#lastId = id;
    const done = this.#run(id, request, nowMs).finally(() => (this.#running = undefined));
    this.#running = { id, done };
    return this.#running;
  }

  /**
   * Looks at what settled since the newest promotion and takes it back when the watch says so.
   * Nothing happens while a run is under way: it looks itself.
   */
  async watch(): Promise<void> {
    const nowMs = this.#options.clock();
    const request = { isDryRun: true, isSignedOff: false, startedBy: "watch" };
    const task = this.#taskOf("watch", request, nowMs, this.#options.ledger.position());
    if (this.#running !== undefined || task.watch === undefined) return;
    const live = this.#live()?.version;
    try {
      const runTask = this.#options.runTask ?? runOnPool;
      const watchTask = { ...task, isWatchOnly: true };
      const { watch } = await runTask(watchTask, this.#progress, this.#stop.signal);
      if (watch?.isRollbackDue !== true || this.#live()?.version !== live) return;
      await this.rollback(watch.sentence);
    } catch (error) {
      this.#options.log.error("kaizen_watch_failed", { detail: (error as Error).message });
    }
  }

  /** Breaks off the run under way, if any: the champion stays, the next schedule runs again. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.done;
  }

  get lastScheduledMs(): number {
    return this.#state.last_scheduled_ms;
  }

  status(): KaizenStatus {
    const last = this.#live();
    const stage = KAIZEN_STAGES[Atomics.load(this.#progress, 0)] ?? "waiting";
    const share = Atomics.load(this.#progress, 1) / 1000;
    return {
      config_version: this.#state.champion,
      ...(last === undefined
        ? {}
        : { promoted_by: last.run_id, promoted_at: new Date(last.at_ms).toISOString() }),
      ...(this.#running === undefined
        ? {}
        : { running: { run_id: this.#running.id, stage, share } }),
      cool_down_runs: this.#state.cool_down_runs,
      ...(this.nextRunMs === undefined
        ? {}
        : { next_run_at: new Date(this.nextRunMs).toISOString() }),
    };
  }

  runs(): RunSummary[] {
    return this.#files.listRuns().map((run) => this.#withFate(run));
  }

  find(id: string): RunRecord | undefined {
    const run = this.#files.loadRun(id);
    return run === undefined ? undefined : this.#withFate(run);
  }

  report(id: string): string | undefined {
    const run = this.find(id);
    return run === undefined ? undefined : reportPage(run);
  }

  async rollback(reason: string): Promise<{ config_version: string; run_id: string } | undefined> {
    const last = this.#live();
    if (last === undefined) return undefined;
    const atMs = this.#options.clock();
    const promotions = this.#state.promotions.map((each) =>
      each === last ? { ...each, rolled_back: { at_ms: atMs, reason } } : each,
    );
    await this.#commit({
      ...this.#state,
      champion: last.parent,
      promotions,
      cool_down_runs: COOL_DOWN_RUNS,
    });
    this.#options.log.warn("kaizen_rolled_back", { run: last.run_id, reason });
    return { config_version: last.parent, run_id: last.run_id };
  }

  #live(): Promotion | undefined {
    return this.#state.promotions.findLast((each) => each.rolled_back === undefined);
  }

  #champion(): ScoringConfig {
    return this.#config(this.#state.champion);
  }

  #config(version: string): ScoringConfig {
    if (version === versionOf(this.#shipped)) return this.#shipped;
    const config = this.#files.loadConfig(version);
    if (config === undefined) throw new Error(`the config ${version} is missing`);
    return config;
  }

  #withFate<R extends RunSummary>(run: R): R {
    const promotion = this.#state.promotions.find((each) => each.run_id === run.run_id);
    return withFate(run, promotion, this.#running?.id === run.run_id);
  }

  async #run(id: string, request: RunRequest, nowMs: number): Promise<RunRecord> {
    const run: RunRecord = {
      run_id: id,
      state: "running",
      started_at: new Date(nowMs).toISOString(),
      started_by: request.startedBy,
      champion_version: this.#state.champion,
      reason: "under way",
      rows: 0,
      position: this.#options.ledger.position(),
    };
    try {
      this.#files.saveRun(run);
      const task = this.#taskOf(id, request, nowMs, run.position);
      const runTask = this.#options.runTask ?? runOnPool;
      const { findings, rows, watch } = await runTask(task, this.#progress, this.#stop.signal);
      Object.assign(run, { findings, rows, reason: findings.reason });
      const isDue = watch?.isRollbackDue === true && !request.isDryRun;
      if (isDue && this.#live()?.version === run.champion_version) {
        await this.rollback(watch.sentence);
        Object.assign(run, { state: "kept", reason: `rolled back: ${watch.sentence}` });
      } else await this.#decide(run, request, findings, nowMs);
    } catch (error) {
      run.state = "failed";
      run.reason = `the run broke and the champion stays: ${(error as Error).message}`;
      this.#options.log.error("kaizen_failed", { run: id, detail: (error as Error).message });
    }
    const finishedMs = this.#options.clock();
    run.finished_at = new Date(finishedMs).toISOString();
    run.duration_ms = finishedMs - nowMs;
    this.#trySave(run);
    this.#options.log.info("kaizen_run", { run: id, state: run.state, reason: run.reason });
    return this.#withFate(run);
  }

  #trySave(run: RunRecord): void {
    try {
      this.#files.saveRun(run);
    } catch (error) {
      this.#options.log.error("kaizen_not_saved", { detail: (error as Error).message });
    }
  }

  #taskOf(id: string, request: RunRequest, nowMs: number, uptoLsn: number): KaizenTask {
    const last = this.#live();
    const isWatched = last !== undefined && nowMs - last.at_ms < WATCH_DAYS * DAY_MS;
    return {
      journal: this.#options.journal,
      uptoLsn,
      champion: this.#champion(),
      ...(isWatched ? { watch: { sinceMs: last.at_ms, parent: this.#config(last.parent) } } : {}),
      options: {
        id,
        nowMs,
        isSignedOff: request.isSignedOff,
        testedToMs: this.#state.tested_to_ms,
        ...(request.holdoutDays === undefined ? {} : { holdoutDays: request.holdoutDays }),
      },
    };
  }

  /** Keeps or promotes. Evidence that a test has seen is spent, whatever it said. */
  async #decide(run: RunRecord, request: RunRequest, findings: Findings, nowMs: number) {
    const { config } = findings;
    if (config !== undefined) run.challenger_version = versionOf(config);
    if (request.isDryRun) {
      run.state = "dry_run";
      return;
    }
    const tested = { ...this.#state.tested_to_ms };
    for (const side of SIDES) {
      const wasTested = findings.sides.find((each) => each.side === side)?.challenger !== undefined;
      if (wasTested) tested[side] = nowMs;
    }
    const coolDown = this.#state.cool_down_runs;
    const next: KaizenState = {
      ...this.#state,
      tested_to_ms: tested,
      cool_down_runs: Math.max(0, coolDown - 1),
      ...(request.startedBy === "schedule" ? { last_scheduled_ms: nowMs } : {}),
    };
    if (config === undefined || coolDown > 0) {
      run.state = "kept";
      if (config !== undefined) run.reason += ", but a rollback asks for a pause";
      this.#files.saveState(next);
      this.#state = next;
      return;
    }
    await this.#promote(run, config, next, nowMs);
  }

  async #promote(run: RunRecord, config: ScoringConfig, next: KaizenState, nowMs: number) {
    assertConfig(config);
    const version = this.#files.saveConfig(config);
    // The findings are on disk before the state file names the run.
    this.#files.saveRun(run);
    await this.#options.ledger.appendConfig(Buffer.from(canonicalJson(config)));
    const promotion: Promotion = {
      run_id: run.run_id,
      version,
      parent: next.champion,
      at_ms: nowMs,
    };
    const promotions = [...next.promotions, promotion];
    await this.#commit({ ...next, champion: version, promotions });
    run.state = "promoted";
  }

  /** One replaced file, then one swap; a swap that is refused takes the file back. */
  async #commit(next: KaizenState): Promise<void> {
    const config = this.#config(next.champion);
    this.#files.saveState(next);
    try {
      await this.#options.ledger.installConfig(config);
    } catch (error) {
      this.#files.saveState(this.#state);
      throw error;
    }
    this.#state = next;
  }
}
