// One step of bench:tail: a rate offered for some seconds, and what its requests, the service's CPU and
// its garbage collection were meanwhile.
import { cpuOf } from "../load/cpu.ts";
import { merged, msAt, type Generator } from "../load/open-loop-client.ts";
import type { Offered, Plan } from "../load/open-loop.ts";
import type { Pauses, PauseLog } from "../load/gc-pauses.ts";
import { rounded, type Spread, spreadOf } from "../load/spread.ts";

/** One step; `gc` by thread and kind. */
export interface Step {
  readonly offered: Offered;
  readonly cpuUs: number;
  readonly gc: Readonly<Record<string, Pauses>>;
}

/** All rounds of a step. Spreads are over the rounds, `all` is over all their requests. */
export interface Row {
  readonly rounds: number;
  readonly offered_per_second: number;
  readonly answered_per_second: Spread;
  readonly p50_ms: Spread;
  readonly p99_ms: Spread;
  readonly p99_9_ms: Spread;
  readonly max_ms: number;
  /** Percentile and milliseconds, for a plot. */
  readonly all: readonly (readonly [number, number])[];
  /** From the write of the request, not from when it was due. */
  readonly service_p99_9_ms: number;
  /** How late the generator itself wrote what it could have written. */
  readonly generator_late_p99_9_ms: number;
  readonly generator_busy: number;
  readonly answered: number;
  readonly turned_away: number;
  readonly unsent: number;
  readonly errors: Readonly<Record<string, number>>;
  /** User and system time of the service, all threads, for an answer, company included. */
  readonly service_cpu_us: Spread;
  readonly gc: Readonly<Record<string, Pauses>>;
  readonly is_saturated: boolean;
}

/** Of what is offered: less is answered when the service, or the generator, can do no more. */
const KEPT_UP_SHARE = 0.97;
const PERCENTILES = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100];

export async function stepOf(
  generator: Generator,
  plan: Plan,
  pid: number,
  pauses: PauseLog | undefined,
): Promise<Step> {
  const before = cpuOf(pid);
  const from = Date.now();
  const offered = await generator.run(plan);
  const after = cpuOf(pid);
  const spent = after.user + after.system - before.user - before.system;
  const cpuUs = (spent / Math.max(1, offered.answered)) * 1e6;
  return { offered, cpuUs, gc: pauses?.between(from, Date.now()) ?? {} };
}

/** The service, or the generator, could do no more. */
export function isSaturated({ offered }: Step): boolean {
  const { answered, unsent, turnedAway } = offered;
  return unsent > 0 || turnedAway > 0 || answered < offered.offered * KEPT_UP_SHARE;
}

export function rowOf(perSecond: number, steps: readonly Step[]): Row {
  const each = steps.map(({ offered }) => merged([offered.corrected]));
  const all = merged(steps.map(({ offered }) => offered.corrected));
  const spread = (percent: number) => spreadOf(each.map((values) => msAt(values, percent)));
  const late = merged(steps.map(({ offered }) => offered.lateness));
  const service = merged(steps.map(({ offered }) => offered.service));
  const sum = (pick: (offered: Offered) => number) =>
    steps.reduce((total, { offered }) => total + pick(offered), 0);
  return {
    rounds: steps.length,
    offered_per_second: perSecond,
    answered_per_second: spreadOf(steps.map(({ offered }) => offered.answered / offered.seconds)),
    p50_ms: spread(50),
    p99_ms: spread(99),
    p99_9_ms: spread(99.9),
    max_ms: msAt(all, 100),
    all: PERCENTILES.map((percent) => [percent, msAt(all, percent)]),
    service_p99_9_ms: msAt(service, 99.9),
    generator_late_p99_9_ms: msAt(late, 99.9),
    generator_busy: rounded(sum(({ busy }) => busy) / steps.length),
    answered: sum(({ answered }) => answered),
    turned_away: sum(({ turnedAway }) => turnedAway),
    unsent: sum(({ unsent }) => unsent),
    errors: addedUp(steps.map(({ offered }) => offered.errors)),
    service_cpu_us: spreadOf(steps.map(({ cpuUs }) => cpuUs)),
    gc: pausesOf(steps),
    is_saturated: steps.some(isSaturated),
  };
}

function addedUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((each) => Object.entries(each))) {
    total[name] = (total[name] ?? 0) + count;
  }
  return total;
}

function pausesOf(steps: readonly Step[]): Record<string, Pauses> {
  const total: Record<string, Pauses> = {};
  for (const [name, pauses] of steps.flatMap(({ gc }) => Object.entries(gc))) {
    const sofar = total[name] ?? { count: 0, total_ms: 0, longest_ms: 0 };
    total[name] = {
      count: sofar.count + pauses.count,
      total_ms: rounded(sofar.total_ms + pauses.total_ms),
      longest_ms: Math.max(sofar.longest_ms, pauses.longest_ms),
    };
  }
  return total;
}
