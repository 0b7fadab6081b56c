// A request for a back-test -> the policy to try, whole, and the window of outcomes.
import { invalidRequest } from "../faults.ts";
import type { Policy } from "../policy.ts";
import { BacktestRequest } from "../schemas/backtest.ts";
import { createParser } from "./parser.ts";
import { buildPolicy } from "./policy.ts";

/** Outcomes settled from `fromMs` on and before `toMs`, epoch ms; open where left out. */
export interface BacktestWindow {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface BacktestParameters extends BacktestWindow {
  /** Left out: the live policy alone. */
  readonly given?: Policy;
  readonly includesUnvouched: boolean;
  readonly waits: boolean;
}

const parseBacktestRequest = createParser(BacktestRequest);

/**
 * @throws ServiceFault `invalid_request` with a pointer to every member that is wrong or unknown;
 *   those of the policy begin with `/policy`.
 */
export function parseBacktest(value: unknown): BacktestParameters {
  const { policy, from, to, include_unvouched, wait } = parseBacktestRequest(value);
  if (from !== undefined && to !== undefined && to <= from) {
    const detail = "must be after `from`";
    throw invalidRequest([{ pointer: "/to", code: "range", detail }]);
  }
  return {
    fromMs: from,
    toMs: to,
    ...(policy === undefined ? {} : { given: buildPolicy(policy, "/policy") }),
    includesUnvouched: include_unvouched,
    waits: wait,
  };
}
