// The service's clock on each of its threads: made by the main thread, found by the others in the data
// that a thread inherits. A thread of a command without a service has the system's clock.
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import {
  type ClockEvent,
  ClockKeeper,
  createClockMemory,
  SteadyClock,
  type TimeSources,
} from "../platform/steady-clock.ts";

const NAME = "trustrank.clock";

/** The origin of `performance.now` is another one on every thread; that of `hrtime` is not. */
function monotonicOfProcess(): () => number {
  const [seconds, nanoseconds] = process.hrtime();
  const originMs = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  return () => originMs + performance.now();
}

const sources: TimeSources = { wall: Date.now, monotonic: monotonicOfProcess() };

/** Makes the clock of this process; threads started from now on have the same. */
export function keepClock(tell: (event: ClockEvent, leadMs: number) => void): ClockKeeper {
  const memory = createClockMemory();
  setEnvironmentData(NAME, memory);
  return new ClockKeeper(memory, sources, tell);
}

/** The clock that this thread was started with. */
export function clockOfThread(): Pick<SteadyClock, "now" | "isConfirmed"> {
  const memory = getEnvironmentData(NAME) as SharedArrayBuffer | undefined;
  if (memory === undefined) return { now: Date.now, isConfirmed: true };
  return new SteadyClock(memory, sources);
}
