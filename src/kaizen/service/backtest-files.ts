// Files of back-tests in the data directory: one for each that ended, the newest kept.
import * as fs from "node:fs";
import { join } from "node:path";
import type { Backtest, BacktestSummary } from "../../contract/schemas/backtest.ts";
import { diskFileLayer, replaceFile } from "../../journal/files.ts";
import { createRunId } from "./files.ts";

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
    warnings: _warnings,
    findings: _findings,
    ...rest
  } = backtest;
  return rest;
}

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
      return JSON.parse(fs.readFileSync(join(this.#root, `${id}.json`), "utf8")) as Backtest;
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
