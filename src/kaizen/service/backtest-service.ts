// Back-tests as a running service: one at a time on a pool thread of its own, each kept as a file.
// Reads the journal, the policies and the weights; changes none of them.
import type { Backtest, BacktestFindings, BacktestList } from "../../contract/schemas/backtest.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { Log } from "../../platform/log.ts";
import { createActivePolicy } from "../../policy/active-policy.ts";
import type { PolicySource } from "../../policy/active-policy.ts";
import type { BacktestStartOptions, Backtests } from "../backtest.ts";
import type { BacktestTask } from "../replay/backtest.ts";
import { renderBacktestPage } from "../report/backtest-page.ts";
import { listWarnings } from "../report/backtest-words.ts";
import { BacktestFiles, createBacktestId } from "./backtest-files.ts";
import { computeConfigVersion } from "./files.ts";
import { runBacktestOnPool } from "./pool.ts";

export interface BacktestServiceOptions {
  readonly dataDir: string;
  readonly journal: string;
  readonly ledger: { position(): number };
  readonly policies: PolicySource;
  /** The live weights, and when they were promoted; undefined for those shipped. */
  readonly weights: () => { config: ScoringConfig; promotedAt: string | undefined };
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: Log;
  /** Task runner other than the pool; tests use it to inject failures. */
  readonly runTask?: typeof runBacktestOnPool;
  /** Called with every back-test that has ended, for the store. */
  readonly onEnd?: (ended: Backtest) => void;
}

interface RunningBacktest {
  readonly id: string;
  readonly record: Backtest;
  readonly done: Promise<Backtest>;
}

export class BacktestService implements Backtests {
  readonly #options: BacktestServiceOptions;
  readonly #files: BacktestFiles;
  readonly #progress = new Int32Array(new SharedArrayBuffer(8));
  readonly #stop = new AbortController();
  #running: RunningBacktest | undefined;
  #lastId = "";

  constructor(options: BacktestServiceOptions) {
    this.#options = options;
    this.#files = new BacktestFiles(options.dataDir);
  }

  start(order: BacktestStartOptions): { id: string; done: Promise<Backtest> } | undefined {
    if (this.#running !== undefined) return undefined;
    const { clock, journal, ledger, policies, weights } = this.#options;
    const startedMs = clock();
    const id = this.#nextId(startedMs);
    const { config, promotedAt } = weights();
    const live = policies.findActivePolicy(order.tenant);
    const given = order.given && createActivePolicy(order.given);
    const { fromMs, toMs, includesUnvouched } = order;
    const task: BacktestTask = {
      journal,
      uptoLsn: ledger.position(),
      config,
      // Of the book's own record only what the thread needs.
      live: { version: live.version, policy: live.policy, vouched: live.vouched },
      given,
      fromMs,
      toMs,
      includesUnvouched,
    };
    const record: Backtest = {
      backtest_id: id,
      state: "running",
      tenant: order.tenant,
      started_by: order.startedBy,
      started_at: new Date(startedMs).toISOString(),
      position: task.uptoLsn,
      config_version: computeConfigVersion(config),
      live_version: live.version,
      given_version: given?.version ?? null,
      from: formatRequestTime(fromMs),
      to: formatRequestTime(toMs),
      live: task.live,
      ...(given === undefined ? {} : { given }),
    };
    Atomics.store(this.#progress, 1, 0);
    const done = this.#run(record, task, startedMs, promotedAt).finally(() => {
      this.#running = undefined;
    });
    this.#running = { id, record, done };
    return this.#running;
  }

  list(): BacktestList {
    const running = this.#running;
    const share = Atomics.load(this.#progress, 1) / 1000;
    return {
      ...(running === undefined ? {} : { running: { backtest_id: running.id, share } }),
      backtests: this.#files.list(),
    };
  }

  find(id: string): Backtest | undefined {
    return this.#running?.id === id ? this.#running.record : this.#files.load(id);
  }

  page(id: string): string | undefined {
    const found = this.find(id);
    return found === undefined ? undefined : renderBacktestPage(found);
  }

  /** Cancels the one under way, if any. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.done;
  }

  /** The clock may have been set back. */
  #nextId(nowMs: number): string {
    const known = new Set(this.#files.list().map((each) => each.backtest_id)).add(this.#lastId);
    for (let ms = nowMs; ; ms++) {
      const id = createBacktestId(ms);
      if (!known.has(id)) return (this.#lastId = id);
    }
  }

  async #run(
    record: Backtest,
    task: BacktestTask,
    startedMs: number,
    promotedAt: string | undefined,
  ): Promise<Backtest> {
    const { clock, log, runTask = runBacktestOnPool } = this.#options;
    let ended: Backtest;
    try {
      const findings = await runTask(task, this.#progress, this.#stop.signal);
      ended = { ...record, state: "done", ...buildEndRecord(findings, promotedAt) };
    } catch (error) {
      const reason = (error as Error).message;
      log.error("backtest_failed", { backtest: record.backtest_id, detail: reason });
      ended = { ...record, state: "failed", reason };
    }
    ended.duration_ms = clock() - startedMs;
    if (this.#stop.signal.aborted) return ended;
    this.#options.onEnd?.(ended);
    try {
      this.#files.save(ended);
    } catch (error) {
      // The answer is complete without its file.
      log.error("backtest_not_saved", { detail: (error as Error).message });
    }
    return ended;
  }
}

function formatRequestTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function buildEndRecord(findings: BacktestFindings, promotedAt: string | undefined) {
  const { outcomes, good, bad } = findings;
  return { outcomes, good, bad, warnings: listWarnings(findings, promotedAt), findings };
}
