// CPU time of counting one request (status, time, verdict), in nanoseconds, with the two
// readings of the clock and without. In turns, medians; CPU time, so that others on the machine count
// little. One JSON object on the last line; `--smoke` runs it once, and measures nothing.
import { parsed } from "./load/parsed.ts";
import { RequestRecorder } from "../src/http/metrics/recorder.ts";

const { values } = parsed(import.meta.filename, {
  options: { smoke: { type: "boolean", default: false } },
});
const ROUNDS = values.smoke ? 2 : 15;
const REQUESTS = values.smoke ? 100_000 : 2_000_000;
const NS_PER_US = 1000;
const ACTION = { verdict: "CHALLENGE", log_reason: "RISK_ABOVE_BOUND" } as const;

const metrics = new RequestRecorder(Array.from({ length: 50 }, (_, index) => `route-${index}`));
let sink = 0;

/** What a verify costs on top of its answer. */
const SIDES: Record<string, (requests: number) => void> = {
  status: (requests) => {
    for (let index = 0; index < requests; index++) metrics.countRequest(index & 31, 200);
  },
  clock: (requests) => {
    for (let index = 0; index < requests; index++) sink += performance.now();
  },
  time: (requests) => {
    for (let index = 0; index < requests; index++) {
      metrics.timeRequest(index & 31, 200, (index & 127) / 1000);
    }
  },
  verdict: (requests) => {
    for (let index = 0; index < requests; index++) metrics.tallies.countVerdict("L2", ACTION);
  },
  request: (requests) => {
    for (let index = 0; index < requests; index++) {
      const startedMs = performance.now();
      metrics.countRequest(index & 31, 200);
      metrics.timeRequest(index & 31, 200, performance.now() - startedMs);
      metrics.tallies.countVerdict("L2", ACTION);
    }
  },
};

function nanoseconds(side: (requests: number) => void): number {
  const before = process.cpuUsage();
  side(REQUESTS);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * NS_PER_US) / REQUESTS;
}

const measured = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, side] of Object.entries(SIDES)) {
    const taken = nanoseconds(side);
    // The first is the compiler's.
    if (round > 0) measured.set(name, [...(measured.get(name) ?? []), taken]);
  }
}
const median = (taken: number[]) => taken.toSorted((a, b) => a - b)[taken.length >> 1]!;
const figures = [...measured].map(([name, taken]) => [
  `${name}_ns`,
  Math.round(median(taken) * 10) / 10,
]);
process.stdout.write(
  `${JSON.stringify({ ...Object.fromEntries(figures), requests: REQUESTS, sink: sink > 0 })}\n`,
);
