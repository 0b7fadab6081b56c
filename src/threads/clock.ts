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

const CLOCK_DATA_KEY = "trustrank.clock";

/** The origin of `performance.now` is another one on every thread; that of `hrtime` is not. */
function createProcessMonotonicClock(): () => number {
  const [seconds, nanoseconds] = process.hrtime();
  const originMs = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  return () => originMs + performance.now();
}

const processClockSources: ClockSources = {
  wall: Date.now,
  monotonic: createProcessMonotonicClock(),
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
