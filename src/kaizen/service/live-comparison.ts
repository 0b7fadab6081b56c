// The watch over what is live: each scorecard is compared with the weights that its own newest change
// replaced. A promotion of the other one neither ends nor renews that.
import type { WatchRecord } from "../kaizen.ts";
import { findNewestChange } from "../lineage.ts";
import type { SideWatch, WatchedChanges } from "../monitor.ts";
import { SCORECARD_SIDES } from "../model/scorecard.ts";
import type { Champion } from "./champion.ts";
import type { KaizenFiles } from "./files.ts";

/** The newest change of each scorecard that rests on one whose configs can be read. */
export function listWatchedChanges(champion: Champion): WatchedChanges {
  const steps = champion.steps();
  const live = champion.config();
  const changes: WatchedChanges = {};
  for (const side of SCORECARD_SIDES) {
    const change = findNewestChange(steps, live, side);
    if (change === undefined) continue;
    const { run_id: runId, at_ms: sinceMs, kind } = change.promotion;
    changes[side] = {
      runId,
      sinceMs,
      parent: change.before,
      isCalibration: kind === "calibration",
    };
  }
  return changes;
}

/** Stores the comparisons with the runs they judge; returns the runs that are due, newest first. */
export function saveWatches(
  files: KaizenFiles,
  changes: WatchedChanges,
  found: readonly SideWatch[],
  nowMs: number,
): { runId: string; reason: string }[] {
  const at = new Date(nowMs).toISOString();
  const runIds = found.flatMap(({ side }) => changes[side]?.runId ?? []);
  const due = [...new Set(runIds)].map((runId) => {
    const own = found.filter(({ side }) => changes[side]?.runId === runId);
    const sides = own.map(({ isRollbackDue, ...each }) => ({
      ...each,
      rollback_due: isRollbackDue,
    }));
    files.saveWatch(runId, { at, sides });
    const harmful = own.filter(({ isRollbackDue }) => isRollbackDue);
    const sinceMs = changes[own[0]!.side]!.sinceMs;
    return {
      runId,
      sinceMs,
      reason: harmful.map((each) => `${each.side}: ${each.sentence}`).join("; "),
    };
  });
  return due.filter(({ reason }) => reason !== "").toSorted((a, b) => b.sinceMs - a.sinceMs);
}

/** The newest comparison of each scorecard; undefined before the first. */
export function loadNewestWatch(
  files: KaizenFiles,
  changes: WatchedChanges,
): WatchRecord | undefined {
  const found = SCORECARD_SIDES.flatMap((side) => {
    const runId = changes[side]?.runId;
    const record = runId === undefined ? undefined : files.loadWatch(runId);
    const own = record?.sides.find((each) => each.side === side);
    return own === undefined ? [] : [{ at: record!.at, own }];
  });
  const at = found
    .map((each) => each.at)
    .toSorted()
    .at(-1);
  return at === undefined ? undefined : { at, sides: found.map(({ own }) => own) };
}
