// The service's clock: made before anything that needs the time, looked after every second.
import type { Log } from "../platform/log.ts";
import type { ClockEvent, SteadyClockWriter } from "../platform/steady-clock.ts";
import { createProcessClock } from "../threads/clock.ts";

const CLOCK_CHECK_INTERVAL_MS = 1000;

/** What an operator is told of each event; `seconds` is the system clock's lead. */
const CLOCK_EVENT_LOGGERS: Readonly<Record<ClockEvent, (log: Log, seconds: number) => void>> = {
  clock_jumped: (log, seconds) => {
    const detail = "the system's clock was set; it is not followed unless it stands for an hour";
    log.error("clock_jumped", { detail, seconds });
  },
  clock_returned: (log, seconds) => {
    log.warn("clock_returned", { detail: "the system's clock is right again", seconds });
  },
  clock_followed: (log, seconds) => {
    const detail = "the clock that was set has stood for an hour and is followed";
    log.warn("clock_followed", { detail, seconds });
  },
  clock_after_long_stop: (log, seconds) => {
    const detail = "off for long, or the clock was set: nothing is deleted by age for an hour";
    log.warn("clock_after_long_stop", { detail, seconds });
  },
};

/** Makes the clock, and puts its end on `closers`. It is in doubt until `begin`. */
export function openClock(
  log: Log,
  closers: { push(close: () => void): unknown },
): SteadyClockWriter {
  const keeper = createProcessClock((event, leadMs) =>
    CLOCK_EVENT_LOGGERS[event](log, Math.round(leadMs / 1000)),
  );
  const timer = setInterval(() => keeper.look(), CLOCK_CHECK_INTERVAL_MS).unref();
  closers.push(() => clearInterval(timer));
  return keeper;
}
