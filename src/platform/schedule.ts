// Jobs at fixed times of the day, UTC. The only user of the cron library.
import { Cron } from "croner";

export interface Schedule {
  /** Epoch ms of the next run. */
  next(): number | undefined;
  close(): void;
}

/** Calls `job` by a cron pattern; single flight, and it does not keep the process alive. */
export function every(pattern: string, job: () => Promise<unknown>): Schedule {
  const cron = new Cron(pattern, { timezone: "UTC", protect: true, unref: true }, async () => {
    await job();
  });
  return { next: () => cron.nextRun()?.getTime(), close: () => cron.stop() };
}

/** Calls `job` at the start of every hour. */
export const everyHour = (job: () => Promise<unknown>): Schedule => every("0 * * * *", job);
