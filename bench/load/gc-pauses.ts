// Pauses of garbage collection in a server that gc-log.ts watches: how many, how long, on which thread,
// within a stretch of time.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { rounded } from "./spread.ts";

/** One pause; `at` is when it began, in ms of the epoch. */
export interface Pause {
  readonly thread: string;
  readonly kind: string;
  readonly at: number;
  readonly ms: number;
}

export interface Pauses {
  readonly count: number;
  readonly total_ms: number;
  readonly longest_ms: number;
}

export interface PauseLog {
  /** For the server's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Those that began in between, by `thread kind`: `main minor`. */
  between(fromMs: number, toMs: number): Record<string, Pauses>;
  close(): void;
}

const PRELOAD = fileURLToPath(new URL("gc-log.ts", import.meta.url));

export function openPauseLog(): PauseLog {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-gc-"));
  const file = path.join(directory, "pauses");
  return {
    env: {
      TRUSTRANK_BENCH_GC_LOG: file,
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${PRELOAD}`.trim(),
    },
    between: (from, to) => byThread(existsSync(file) ? readPauses(file) : [], from, to),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function readPauses(file: string): Pause[] {
  const lines = readFileSync(file, "utf8").split("\n");
  // The last line may be half written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Pause);
}

/** Of these, what began from `fromMs` to `toMs`. */
export function byThread(
  pauses: readonly Pause[],
  fromMs: number,
  toMs: number,
): Record<string, Pauses> {
  const found: Record<string, Pauses> = {};
  for (const { thread, kind, at, ms } of pauses) {
    if (at < fromMs || at >= toMs) continue;
    const name = `${thread} ${kind}`;
    const { count, total_ms, longest_ms } = found[name] ?? { count: 0, total_ms: 0, longest_ms: 0 };
    found[name] = {
      count: count + 1,
      total_ms: rounded(total_ms + ms),
      longest_ms: Math.max(longest_ms, rounded(ms)),
    };
  }
  return found;
}
