// A back-test that is asked for and followed until it is done.
import { getDocument, buildPathWithQuery, sendDocument } from "../api.ts";
import type { Backtest, BacktestList } from "../../contract/schemas/backtest.ts";
import { useEffect, useState } from "../html.ts";

const LOOK_MS = 400;

export interface BacktestProgress {
  readonly backtest?: Backtest;
  /** Of the history, 0 to 1, while it is under way. */
  readonly share?: number | undefined;
  readonly error?: Error;
}

export interface BacktestHistoryWindow {
  /** Days of history; undefined for all. */
  readonly days: number | undefined;
  readonly includesUnvouched: boolean;
}

export function buildBacktestBody(
  policy: unknown,
  { days, includesUnvouched }: BacktestHistoryWindow,
) {
  return {
    ...(policy === undefined ? {} : { policy }),
    ...(days === undefined ? {} : { from: new Date(Date.now() - days * 86_400_000).toISOString() }),
    include_unvouched: includesUnvouched,
    wait: false,
  };
}

/** Starts one, and returns its id. @throws ApiError */
export async function startBacktest(tenant: string, body: object): Promise<string> {
  const path = buildPathWithQuery("/v1/policy/backtest", { tenant });
  const { backtest_id: id } = await sendDocument<Backtest>("POST", path, body);
  return id;
}

/** Follows the back-test by that id; nothing without one. */
export function useBacktest(id: string | undefined): BacktestProgress {
  const [followed, setFollowed] = useState<BacktestProgress>({});
  useEffect(() => {
    setFollowed({});
    if (id === undefined) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const backtest = await getDocument<Backtest>(`/v1/policy/backtests/${id}`, {}, signal);
        if (signal.aborted) return;
        if (backtest.state !== "running") return setFollowed({ backtest });
        const { running } = await getDocument<BacktestList>("/v1/policy/backtests", {}, signal);
        if (signal.aborted) return;
        setFollowed({ backtest, share: running?.share });
        timer = setTimeout(() => void look(), LOOK_MS);
      } catch (error) {
        if (!signal.aborted) setFollowed({ error: error as Error });
      }
    };
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return followed;
}
