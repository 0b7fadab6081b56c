// CPU that other processes took while a bench ran: on a machine that is shared, figures are of what was
// left. Own is the bench and all that descends from it, ended children included.
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { rounded } from "./spread.ts";

const TICKS_PER_SECOND = 100;
/** Of the first line of /proc/stat: user, nice, system, irq, softirq. Idle and stolen time is nobody's. */
const BUSY_FIELDS = [1, 2, 3, 6, 7];
/** Of /proc/<pid>/stat behind the name: user and system, its own and of children that it has awaited. */
const OWN_FIELDS = [11, 12, 13, 14];
const WORTH_SAYING = 0.05;

interface Mark {
  readonly atMs: number;
  readonly busySec: number;
  readonly ownSec: number;
}

/** Seconds of a process and its descendants. */
export function treeCpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    const own = OWN_FIELDS.reduce((sum, at) => sum + Number(fields[at]), 0) / TICKS_PER_SECOND;
    return childrenOf(pid).reduce((sum, child) => sum + treeCpuSeconds(child), own);
  } catch {
    // It has ended since: what it used is with whoever awaited it.
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const list = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return list.split(" ").filter(Boolean).map(Number);
  });
}

function mark(): Mark {
  const [all = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const ticks = all.split(/\s+/).map(Number);
  return {
    atMs: performance.now(),
    busySec: BUSY_FIELDS.reduce((sum, at) => sum + (ticks[at] ?? 0), 0) / TICKS_PER_SECOND,
    ownSec: treeCpuSeconds(process.pid),
  };
}

/** Share of all cores between two marks; never below 0, which rounding of ticks would give. */
export function shareOfOthers(before: Mark, after: Mark, cores: number): number {
  const others = after.busySec - before.busySec - (after.ownSec - before.ownSec);
  return rounded(Math.max(0, others / (((after.atMs - before.atMs) / 1000) * cores)));
}

/** Begins now; what it returns ends it, and says on stderr when the machine was shared. */
export function watchOthers(): () => number {
  const before = mark();
  return () => {
    const share = shareOfOthers(before, mark(), availableParallelism());
    if (share > WORTH_SAYING) {
      const percent = Math.round(share * 100);
      process.stderr.write(`\nother processes took ${percent} % of the machine: not a quiet run\n`);
    }
    return share;
  };
}
