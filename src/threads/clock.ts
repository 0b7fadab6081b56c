// The service's clock on each of its threads: made by the main thread, found by the others in the data
// that a thread inherits. A thread of a command without a service has the system's clock.
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import {
  type ClockEvent,
  SteadyClockWriter,
  createClockMemory,
  SteadyClock,
  type ClockSources,
} from "../platform/steady-clock.ts";
import { readMonotonicMs } from "../platform/moment.ts";

const CLOCK_DATA_KEY = "trustrank.clock";

const processClockSources: ClockSources = {
  wall: Date.now,
  monotonic: readMonotonicMs,
};

/** Makes the clock of this process; threads started from now on have the same. */
export function createProcessClock(
  tell: (event: ClockEvent, leadMs: number) => void,
): SteadyClockWriter {
  const memory = createClockMemory();
  setEnvironmentData(CLOCK_DATA_KEY, memory);
  return new SteadyClockWriter(memory, processClockSources, tell);
}

/** The clock that this thread was started with. */
export function openThreadClock(): Pick<SteadyClock, "now" | "isConfirmed"> {
  const memory = getEnvironmentData(CLOCK_DATA_KEY) as SharedArrayBuffer | undefined;
  if (memory === undefined) return { now: Date.now, isConfirmed: true };
  return new SteadyClock(memory, processClockSources);
}
