// Port of the back-test of a policy: start one, list them, read one as data or as a page.
// Implemented by service/backtest-service.ts over a pool thread and the data directory.
import type { Policy } from "../contract/policy.ts";
import type { Backtest, BacktestList } from "../contract/schemas/backtest.ts";

export interface BacktestStartOptions {
  /** Whose live policy. */
  tenant: string;
  /** The policy to try; left out: the live one alone. */
  given?: Policy | undefined;
  /** Outcomes settled from here on, and before `toMs`, epoch ms. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  /** True: outcomes of keys that nobody vouches for count, too. */
  includesUnvouched: boolean;
  /** Id of the API key. */
  startedBy: string;
}

export interface Backtests {
  /**
   * Starts one on a thread of its own; undefined while another is under way. `done` never rejects:
   * one that broke resolves with state `failed` and its reason. Nothing in force changes.
   */
  start(order: BacktestStartOptions): { id: string; done: Promise<Backtest> } | undefined;
  /** The one under way, and those that ended, newest first. */
  list(): BacktestList;
  /** The whole of one; undefined when the id is unknown or too many have followed. */
  find(id: string): Backtest | undefined;
  /** The same as a self-contained HTML page. */
  page(id: string): string | undefined;
}
