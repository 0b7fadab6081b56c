// Preload of a server under load: one line for each pause of garbage collection, with the thread that
// paused, appended to the file that TRUSTRANK_BENCH_GC_LOG names. Threads that the server starts load it
// as well.
import { appendFileSync } from "node:fs";
import { basename } from "node:path";
import { constants, PerformanceObserver, performance } from "node:perf_hooks";
import { threadId } from "node:worker_threads";

/** A thread by the file that it runs, and its number: there may be several of one kind. */
const thread = threadId === 0 ? "main" : `${basename(process.argv[1] ?? "", ".ts")} ${threadId}`;
const file = process.env["TRUSTRANK_BENCH_GC_LOG"];
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak_callbacks",
};

/** The types of Node leave the detail out. */
interface GcEntry {
  readonly startTime: number;
  readonly duration: number;
  readonly detail: { readonly kind: number };
}

if (file !== undefined) {
  const observer = new PerformanceObserver((list) => {
    const lines = (list.getEntries() as unknown as GcEntry[]).map(
      ({ startTime, duration, detail }) => {
        const { kind } = detail;
        const at = performance.timeOrigin + startTime;
        return JSON.stringify({ thread, kind: KINDS[kind] ?? "other", at, ms: duration });
      },
    );
    appendFileSync(file, `${lines.join("\n")}\n`);
  });
  observer.observe({ entryTypes: ["gc"] });
}
