// Form that starts a back-test of the draft over a chosen history, and polls it until it is done.
import { getDocument, buildPathWithQuery, sendDocument } from "../../api.ts";
import type { Backtest, BacktestList } from "../../../contract/schemas/backtest.ts";
import { useEffect, useState, html, type VNode } from "../../html.ts";
import { formatPercent } from "../../format.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { SelectField } from "../../parts/fields.ts";
import { Empty, Failure, Notice } from "../../parts/notices.ts";
import type { DraftCheck } from "./draft.ts";

const LOOK_MS = 400;

export interface BacktestProgress {
  readonly backtest?: Backtest;
  /** Share of the history that is processed, 0 to 1, while the back-test runs. */
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

const DAYS = [7, 30, 90, 365];

interface BacktestStarterProps {
  readonly tenant: string;
  readonly check: DraftCheck;
  readonly followed: BacktestProgress;
  readonly onStarted: (id: string) => void;
}

export function BacktestStarter({
  tenant,
  check,
  followed,
  onStarted,
}: BacktestStarterProps): VNode {
  const [window, setWindow] = useState<BacktestHistoryWindow>({
    days: undefined,
    includesUnvouched: false,
  });
  const [error, setError] = useState<Error | undefined>(undefined);
  const { backtest } = followed;
  const isRunning = backtest?.state === "running";
  const body = buildBacktestBody(check.made?.policy, window);
  const start = async () => {
    setError(undefined);
    try {
      onStarted(await startBacktest(tenant, body));
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  const isReady = !isRunning && !check.isAsking && check.made !== undefined;
  return html`
    <div class="filters">
      <${WindowFields} window=${window} onWindow=${setWindow} />
      <button type="button" class="primary" disabled=${!isReady} onClick=${start}>
        Back-test the draft
      </button>
    </div>
    ${error !== undefined && html`<${Failure} error=${error} />`}
    ${followed.error !== undefined && html`<${Failure} error=${followed.error} />`}
    ${
      isRunning &&
      html`<p role="status">
        Judging history again… ${followed.share !== undefined && formatPercent(followed.share, 0)}
        <progress
          max="1"
          value=${followed.share ?? 0}
          aria-label="progress of the back-test"
        ></progress>
      </p>`
    }
    ${backtest?.state === "failed" && html`<${Notice} kind="bad">It failed: ${backtest.reason}<//>`}
    ${backtest?.state === "done" && html`<${ComparedVersions} followed=${followed} check=${check} />`}
    ${
      backtest === undefined &&
      followed.error === undefined &&
      html`<${Empty}>
        Judges the recorded outcomes once more by the draft and by the policy in force: who would be
        let through, what it would have cost. Nothing changes by it.
      <//>`
    }
    <${CurlCommand} method="POST" path=${`/v1/policy/backtest?tenant=${tenant}`} body=${body} />
  `;
}

interface WindowFieldsProps {
  readonly window: BacktestHistoryWindow;
  readonly onWindow: (window: BacktestHistoryWindow) => void;
}

/** Over which outcomes. */
function WindowFields({ window, onWindow }: WindowFieldsProps): VNode {
  return html`
    <${SelectField}
      id="days"
      label="Outcomes of"
      value=${window.days ?? ""}
      options=${[["", "all history"], ...DAYS.map((days) => [days, `the last ${days} days`])]}
      onValue=${(days: string) => onWindow({ ...window, days: days === "" ? undefined : Number(days) })}
    />
    <label>
      <input
        type="checkbox"
        checked=${window.includesUnvouched}
        onChange=${(event: Event) =>
          onWindow({ ...window, includesUnvouched: (event.target as HTMLInputElement).checked })}
      />
      ${" "}count keys that nobody vouches for
    </label>
  `;
}

/** Which version the figures are of, and whether the draft has moved on. */
function ComparedVersions({
  followed,
  check,
}: {
  followed: BacktestProgress;
  check: DraftCheck;
}): VNode | null {
  const { backtest } = followed;
  if (backtest === undefined) return null;
  const tried = backtest.given_version ?? backtest.live_version;
  const isCurrent = tried === check.made?.version;
  return html`<${Notice} kind=${isCurrent ? "good" : "warn"}>
    Figures of <code>${tried}</code> beside <code>${backtest.live_version}</code>.${" "}
    ${isCurrent ? "This is the draft." : "The draft has changed since: back-test it again."}
  <//>`;
}
