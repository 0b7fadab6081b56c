// Row of a back-test in the store's `backtests`: what was tried beside what, and how much would change.
import type { Backtest } from "../../contract/schemas/backtest.ts";
import type { NoteEvents } from "../../contract/notes.ts";

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
