// Back-test service: one at a time on a worker thread; results are files in the data directory and rows of
// the store's `backtests`. Reads the journal, the policies and the weights; changes none of them.
import type {
  Backtest,
  BacktestSummary,
  BacktestFindings,
  BacktestList,
} from "../../contract/schemas/backtest.ts";
import type { NoteEvents } from "../../contract/notes.ts";
import * as fs from "node:fs";
import { join } from "node:path";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";
import { createRunId, computeConfigVersion } from "./files.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { Log } from "../../platform/log.ts";
import { listMoneyWarnings } from "../../policy/backtest-money.ts";
import { createActivePolicy } from "../../policy/active-policy.ts";
import type { PolicySource } from "../../policy/active-policy.ts";
import type { BacktestStartOptions, Backtests } from "../kaizen.ts";
import type { BacktestTask } from "../replay/backtest.ts";
import { renderBacktestPage } from "../report/backtest-page.ts";
import { listWarnings } from "../report/backtest-tables.ts";
import { runBacktestOnPool } from "./worker-pool.ts";

/** `changed` counts outcomes that verify would rule otherwise at L2, no stakes named. */
export function buildBacktestRow(
  { findings, ...ended }: Backtest,
  recordedAtMs: number,
): NoteEvents["backtests"] {
  const change = findings?.changes.find(
    ({ question, level }) => question === "verify" && level === "L2",
  );
  const changed =
    change === undefined
      ? 0
      : change.good_newly_allowed +
        change.bad_newly_allowed +
        change.good_newly_turned_away +
        change.bad_newly_turned_away;
  return {
    recorded_at: recordedAtMs,
    backtest_id: ended.backtest_id,
    tenant: ended.tenant,
    key_id: ended.started_by,
    policy_version: ended.given_version ?? ended.live_version,
    compared_with: ended.live_version,
    decisions: ended.outcomes ?? 0,
    changed,
    report: { ...ended, rows: findings?.rows ?? [] },
  };
}

export const BACKTESTS_KEPT = 50;
const BACKTEST_ID_PATTERN = /^b-[0-9]{8}-[0-9]{9}$/;

/** Id of a back-test, as `b-20261120-114500123`: sorts by time, names a file. */
export function createBacktestId(nowMs: number): string {
  return `b-${createRunId(nowMs).slice(2)}`;
}

export function summarizeBacktest(backtest: Backtest): BacktestSummary {
  const {
    live: _live,
    given: _given,
    unit_of_account: _unit,
    warnings: _warnings,
    findings: _findings,
    ...rest
  } = backtest;
  return rest;
}

/** Those saved by an earlier version counted no money. */
function completeFindings(saved: Backtest): Backtest {
  if (saved.findings === undefined) return saved;
  return { ...saved, findings: { ...NO_MONEY, ...saved.findings } };
}

const NO_MONEY: Pick<BacktestFindings, "money" | "money_curves"> = { money: [], money_curves: [] };

export class BacktestFiles {
  readonly #root: string;
  /** Newest first; read from the files once. */
  #summaries: BacktestSummary[] | undefined;

  /** Creates nothing before the first is saved. */
  constructor(dataDir: string) {
    this.#root = join(dataDir, "backtests");
  }

  /** Saves one, and removes those that are too old to be kept. */
  save(backtest: Backtest): void {
    diskFileLayer.makeDirectory(this.#root);
    const text = JSON.stringify(backtest);
    replaceFile(diskFileLayer, this.#root, `${backtest.backtest_id}.json`, Buffer.from(text));
    const all = [summarizeBacktest(backtest), ...this.list()];
    const unique = new Map(all.map((each) => [each.backtest_id, each]));
    const newest = [...unique.values()].toSorted((a, b) =>
      a.backtest_id < b.backtest_id ? 1 : -1,
    );
    for (const { backtest_id: id } of newest.splice(BACKTESTS_KEPT)) {
      fs.rmSync(join(this.#root, `${id}.json`), { force: true });
    }
    this.#summaries = newest;
  }

  load(id: string): Backtest | undefined {
    if (!BACKTEST_ID_PATTERN.test(id)) return undefined;
    try {
      const text = fs.readFileSync(join(this.#root, `${id}.json`), "utf8");
      return completeFindings(JSON.parse(text) as Backtest);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Newest first. */
  list(): BacktestSummary[] {
    this.#summaries ??= this.#names()
      .toSorted()
      .toReversed()
      .flatMap((id) => this.load(id) ?? [])
      .map(summarizeBacktest);
    return this.#summaries;
  }

  #names(): string[] {
    if (!fs.existsSync(this.#root)) return [];
    return fs
      .readdirSync(this.#root)
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length));
  }
}

export interface BacktestServiceOptions {
  readonly dataDir: string;
  readonly journal: string;
  readonly ledger: { position(): number };
  readonly policies: PolicySource;
  /** The live weights, and when they were promoted; undefined for those shipped. */
  readonly weights: () => { config: ScoringConfig; promotedAt: string | undefined };
  /** Name of what stakes are counted in; left out: it has none. */
  readonly unitOfAccount?: string | undefined;
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
    const { clock, journal, ledger, policies, weights, unitOfAccount } = this.#options;
    const startedMs = clock();
    const id = this.#nextId(startedMs);
    const { config, promotedAt } = weights();
    const live = policies.findActivePolicy(order.tenant);
    // Outcomes name no action: each is judged at every level.
    const given = order.given && { ...createActivePolicy(order.given), actions: undefined };
    const { fromMs, toMs, includesUnvouched } = order;
    const task: BacktestTask = {
      journal,
      uptoLsn: ledger.position(),
      config,
      // Of the book's own record only what the thread needs.
      live: {
        version: live.version,
        policy: live.policy,
        vouched: live.vouched,
        terms: live.terms,
        levelMinimums: live.levelMinimums,
        limits: live.limits,
        unsettledStakes: live.unsettledStakes,
        actions: undefined,
      },
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
      ...(unitOfAccount === undefined ? {} : { unit_of_account: unitOfAccount }),
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
  const { outcomes, good, bad, money } = findings;
  const warnings = [...listWarnings(findings, promotedAt), ...listMoneyWarnings(money)];
  return { outcomes, good, bad, warnings, findings };
}
