// State of kaizen as it is told: the live weights, the newest comparison, and what is under way.
import type { KaizenStatus, WatchRecord } from "../kaizen.ts";
import type { Champion } from "./champion.ts";
import { KAIZEN_STAGES } from "./task.ts";

export interface KaizenActivity {
  readonly watch: WatchRecord | undefined;
  readonly running: KaizenStatus["running"];
  /** Epoch ms. */
  readonly nextRunMs: number | undefined;
}

/** `stage` and `share`, in thousandths, as the run's thread writes them. */
export function describeProgress(stage: number, share: number) {
  return { stage: KAIZEN_STAGES[stage] ?? "waiting", share: share / 1000 };
}

export function buildKaizenStatus(
  champion: Pick<Champion, "live" | "version" | "state">,
  { watch, running, nextRunMs }: KaizenActivity,
): KaizenStatus {
  const last = champion.live();
  return {
    config_version: champion.version,
    ...(last && { promoted_by: last.run_id, promoted_at: new Date(last.at_ms).toISOString() }),
    ...(watch && { watch }),
    ...(running && { running }),
    cool_down_runs: champion.state.cool_down_runs,
    ...(nextRunMs === undefined ? {} : { next_run_at: new Date(nextRunMs).toISOString() }),
  };
}
