// Schedule of kaizen: weekly runs, one more after a downtime that swallowed a run, a daily
// comparison of what was promoted, and daily start-up calibrations before the first full one.
import { DAY_MS } from "../../contract/units.ts";
import { readFirstRecordedMs } from "../replay/history.ts";
import { RunRowWriter } from "./run-record.ts";
import { ALWAYS_LEADER } from "./options.ts";
import { KaizenService } from "./service.ts";
import type { KaizenOptions } from "./options.ts";
import type { Store } from "../../store/store.ts";
import { scheduleByCron } from "../../platform/schedule.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

const WEEK_MS = 7 * DAY_MS;
/** Mondays at 03:00 UTC; the comparison every day an hour later. */
const WEEKLY_CRON = "0 3 * * 1";
const DAILY_CRON = "0 4 * * *";
/** A Monday, 03:00 UTC: the first of the epoch. */
const FIRST_WEEKLY_MS = 4 * DAY_MS + 3 * 3_600_000;
/** Delay after a start: the service serves first. */
const CATCH_UP_DELAY_MS = 60_000;
/** Longest wait of a shutdown for the store to take the last run. */
const ROWS_WAIT_MS = 2000;

/**
 * Whether a weekly run fell into a downtime. Before the first scheduled run there is one to catch
 * up on once evidence is older than the last such moment.
 * @param firstEvidenceMs recording time of the oldest outcome; undefined without any.
 */
export function isRunMissed(
  lastScheduledMs: number,
  firstEvidenceMs: number | undefined,
  nowMs: number,
): boolean {
  const weeks = Math.floor((nowMs - FIRST_WEEKLY_MS) / WEEK_MS);
  const lastWeeklyMs = FIRST_WEEKLY_MS + weeks * WEEK_MS;
  const sinceMs = lastScheduledMs > 0 ? lastScheduledMs : firstEvidenceMs;
  return sinceMs !== undefined && sinceMs < lastWeeklyMs;
}

/**
 * Starts the schedule; every job is single flight and none keeps the process alive. In a cluster the work is
 * done by the node that leads; the next one to lead catches up on what a former one has left.
 */
function scheduleKaizen(kaizen: KaizenService, options: KaizenOptions): { close(): void } {
  const { leadership = ALWAYS_LEADER } = options;
  const run = async () => {
    const request = { isDryRun: false, isSignedOff: false, startedBy: "schedule" };
    if (leadership.isHeld) await kaizen.start(request)?.done;
    kaizen.nextRunMs = weekly.next();
  };
  const isMissed = () => {
    const firstMs = readFirstRecordedMs(options.journal, options.ledger.position());
    return isRunMissed(kaizen.lastScheduledMs, firstMs, options.clock());
  };
  let catchUp: NodeJS.Timeout | undefined;
  const catchUpSoon = () => {
    clearTimeout(catchUp);
    if (!isMissed()) return;
    catchUp = setTimeout(() => void (isMissed() && run()), CATCH_UP_DELAY_MS).unref();
  };
  const weekly = scheduleByCron(WEEKLY_CRON, run);
  const daily = scheduleByCron(DAILY_CRON, async () => {
    if (leadership.isHeld) await runDaily(kaizen);
  });
  kaizen.nextRunMs = weekly.next();
  catchUpSoon();
  leadership.onTaken(catchUpSoon);
  return {
    close() {
      clearTimeout(catchUp);
      weekly.close();
      daily.close();
    },
  };
}

/** The comparison, and a start-up calibration where one is due: it compares by itself, too. */
export async function runDaily(
  kaizen: Pick<KaizenService, "watch" | "isCalibrationDue" | "start">,
): Promise<void> {
  if (!kaizen.isCalibrationDue) return kaizen.watch();
  const request = { isDryRun: false, isSignedOff: false, startedBy: "schedule" };
  await kaizen.start({ ...request, kind: "calibration" })?.done;
}

export interface OpenKaizen {
  readonly kaizen: KaizenService;
  /** Writes the runs that the store lacks: after its database was made anew. */
  catchUpRows(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Makes the promoted config live, writes missing runs to the store, and starts the schedule when
 * wanted. `store` may be left out: runs are then in their files alone.
 */
export async function openKaizen(
  options: KaizenOptions,
  isScheduled: boolean,
  store?: Pick<Store, "recordRun" | "queryTrusted">,
): Promise<OpenKaizen> {
  const rows = store && new RunRowWriter(store, options.clock, options.log);
  const kaizen = new KaizenService({
    ...options,
    ...(rows && { onRun: (run) => rows.write(run) }),
  });
  await kaizen.open();
  void rows?.catchUp(kaizen);
  const schedule = isScheduled ? scheduleKaizen(kaizen, options) : undefined;
  return {
    kaizen,
    catchUpRows: async () => rows?.catchUp(kaizen),
    async close() {
      schedule?.close();
      await kaizen.close();
      // Rows not written by then are written at the next start.
      if (rows !== undefined) await withDeadline(rows.settled, ROWS_WAIT_MS, () => undefined);
    },
  };
}
