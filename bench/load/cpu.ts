// CPU time of a process as the kernel counts it, by thread and by mode, and the time that the host took
// from this machine. Ticks are 10 ms: a figure per request needs seconds of load.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** Clock ticks per second of /proc/<pid>/stat on every Linux we know. */
const TICKS_PER_SECOND = 100;
const STEAL_FIELD = 8;

/** Seconds. */
export interface CpuTime {
  readonly user: number;
  readonly system: number;
}

/** Of a process, or of one of its threads: `path` is its directory under /proc. */
function timeOf(path: string): CpuTime {
  const fields = readFileSync(`${path}/stat`, "utf8").split(") ")[1]!.split(" ");
  return {
    user: Number(fields[11]) / TICKS_PER_SECOND,
    system: Number(fields[12]) / TICKS_PER_SECOND,
  };
}

/** Seconds of all threads, ended ones included. */
export function cpuOf(pid: number): CpuTime {
  return timeOf(`/proc/${pid}`);
}

/** Seconds by name of thread; threads of one name are added up. The main thread is `main`. */
export function cpuByThread(pid: number): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const path = `/proc/${pid}/task/${thread}`;
    try {
      const name = thread === String(pid) ? "main" : readFileSync(`${path}/comm`, "utf8").trim();
      const { user, system } = timeOf(path);
      seconds.set(name, (seconds.get(name) ?? 0) + user + system);
    } catch {
      // It has ended since.
    }
  }
  return seconds;
}

/** Seconds that the host gave to others while this machine had work, over all cores. */
export function stolenSeconds(): number {
  const [all = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  return Number(all.split(/\s+/)[STEAL_FIELD] ?? 0) / TICKS_PER_SECOND;
}

/** Seconds in a row that all processes together use less than this share of a core. */
const IDLE_SECONDS = 5;
const IDLE_SHARE_MAX = 0.1;

/** Returns when the processes have done the work of their start: not before `secondsMin`, at most twice that later. */
export async function untilIdle(pids: readonly number[], secondsMin: number): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + cpuOf(pid).user + cpuOf(pid).system, 0);
  let idleSeconds = 0;
  for (let second = 0, before = used(); second < 3 * secondsMin; second += 1) {
    await pause(1000);
    const now = used();
    idleSeconds = now - before < IDLE_SHARE_MAX ? idleSeconds + 1 : 0;
    before = now;
    if (second >= secondsMin && idleSeconds >= IDLE_SECONDS) return;
  }
}
