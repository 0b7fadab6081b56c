// Jobs at fixed times of the day, UTC. The only user of the cron library.
import { Cron } from "croner";

export interface CronSchedule {
  /** Epoch ms of the next run. */
  next(): number | undefined;
  close(): void;
}

/** Calls `job` by a cron pattern; single flight, and it does not keep the process alive. */
export function scheduleByCron(pattern: string, job: () => Promise<unknown>): CronSchedule {
  const cron = new Cron(pattern, { timezone: "UTC", protect: true, unref: true }, async () => {
    await job();
  });
  return { next: () => cron.nextRun()?.getTime(), close: () => cron.stop() };
}

/** Calls `job` at the start of every hour. */
export const scheduleHourly = (job: () => Promise<unknown>): CronSchedule =>
  scheduleByCron("0 * * * *", job);
