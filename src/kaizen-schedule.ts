// When kaizen runs by itself: weekly, once more after a downtime that swallowed a run, and a daily
// look at a fresh promotion. The only user of the cron library.
import { Cron } from "croner";
import { KaizenService } from "./kaizen-service.ts";
import type { KaizenOptions } from "./kaizen-service.ts";

const WEEK_MS = 7 * 86_400_000;
/** Mondays at 03:00 UTC; the watch every day an hour later. */
const WEEKLY = "0 3 * * 1";
const DAILY = "0 4 * * *";
/** After a start the service first serves. */
const CATCH_UP_DELAY_MS = 60_000;

interface Schedule {
  close(): void;
}

/** Starts the schedule; every job is single flight and none keeps the process alive. */
function scheduleKaizen(kaizen: KaizenService, clock: () => number): Schedule {
  const options = { timezone: "UTC", protect: true, unref: true };
  const run = async () => {
    const request = { isDryRun: false, isSignedOff: false, startedBy: "schedule" };
    await kaizen.start(request)?.done;
    kaizen.nextRunMs = weekly.nextRun()?.getTime();
  };
  const weekly = new Cron(WEEKLY, options, run);
  const daily = new Cron(DAILY, options, () => kaizen.watch());
  kaizen.nextRunMs = weekly.nextRun()?.getTime();
  const isMissed = kaizen.lastScheduledMs > 0 && clock() - kaizen.lastScheduledMs > WEEK_MS;
  const catchUp = isMissed ? setTimeout(() => void run(), CATCH_UP_DELAY_MS) : undefined;
  catchUp?.unref();
  return {
    close() {
      clearTimeout(catchUp);
      weekly.stop();
      daily.stop();
    },
  };
}

export interface OpenKaizen {
  readonly kaizen: KaizenService;
  close(): Promise<void>;
}

/** The promoted config made live, and the schedule started when wanted. */
export async function openKaizen(
  options: KaizenOptions,
  isScheduled: boolean,
): Promise<OpenKaizen> {
  const kaizen = new KaizenService(options);
  await kaizen.open();
  const schedule = isScheduled ? scheduleKaizen(kaizen, options.clock) : undefined;
  return {
    kaizen,
    async close() {
      schedule?.close();
      await kaizen.close();
    },
  };
}
