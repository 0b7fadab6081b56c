// Memory by part over a soak: starts the probe with the service, reads its samples and fits a line to each part.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const MIB = 1024 * 1024;
/** Fewer samples fit no line. */
const SAMPLES_MIN = 3;
const POINTS_DRAWN_MAX = 60;

interface ProbeSample {
  readonly at: number;
  readonly isolates: readonly {
    readonly name: string;
    readonly heap: number;
    readonly external: number;
    readonly arrayBuffers: number;
    readonly database?: number;
  }[];
  readonly arenas?: readonly number[];
  readonly mappings: Readonly<Record<string, number>>;
}

/** One part: its slope over the judged time with twice its standard error, and points for a plot. */
export interface PartGrowth {
  readonly bytes_per_request: number;
  readonly error: number;
  readonly samples: number;
  readonly first_mib: number;
  readonly last_mib: number;
  /** Minutes since the start and MiB. */
  readonly points: readonly (readonly [number, number])[];
}

/** One reading of one part. */
interface PartReading {
  readonly atMs: number;
  readonly requests: number;
  readonly bytes: number;
}

/** Samples every `everyMs` of each process that is started with `env`. */
export class MemoryProbe {
  readonly env: Readonly<Record<string, string>>;
  readonly #directory = mkdtempSync(path.join(tmpdir(), "trustrank-probe-"));

  constructor(everyMs: number) {
    this.env = {
      NODE_OPTIONS: `--import=${new URL("probe.mjs", import.meta.url).href}`,
      TRUSTRANK_PROBE_DIR: this.#directory,
      TRUSTRANK_PROBE_EVERY_MS: String(everyMs),
      TRUSTRANK_PROBE_ADDON: compileAddon(this.#directory),
    };
  }

  /**
   * Growth by part of the time after the first third of `progress`: times of the wall clock in milliseconds, and the
   * requests answered until then. `pid`: the service. The process for callers' SQL has an environment of its own and is
   * not probed.
   */
  measureGrowth(
    pid: number,
    progress: readonly (readonly [number, number])[],
  ): Record<string, PartGrowth> {
    const [startedAtMs, endedAtMs] = [progress[0]![0], progress.at(-1)![0]];
    const requestsAt = (atMs: number) => progress.findLast(([when]) => when <= atMs)?.[1] ?? 0;
    const readings = new Map<string, PartReading[]>();
    const lines = readFileSync(path.join(this.#directory, `${pid}.jsonl`), "utf8")
      .trim()
      .split("\n");
    for (const sample of lines.map((line) => JSON.parse(line) as ProbeSample)) {
      if (sample.at < startedAtMs || sample.at > endedAtMs) continue;
      for (const [part, bytes] of listParts(sample)) {
        const known = readings.get(part) ?? [];
        known.push({ atMs: sample.at - startedAtMs, requests: requestsAt(sample.at), bytes });
        readings.set(part, known);
      }
    }
    const judged = [...readings].flatMap(([part, all]) => {
      const growth = fitGrowth(all, (endedAtMs - startedAtMs) / 3);
      return growth === undefined ? [] : [[part, growth] as const];
    });
    return Object.fromEntries(judged.toSorted(([left], [right]) => (left < right ? -1 : 1)));
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Empty where there is no compiler: then nothing is known of the allocator's arenas. */
function compileAddon(directory: string): string {
  const source = fileURLToPath(new URL("malloc-info.c", import.meta.url));
  const file = path.join(directory, "malloc-info.node");
  try {
    execFileSync("cc", ["-O1", "-shared", "-fPIC", "-o", file, source], { stdio: "ignore" });
    return file;
  } catch {
    return "";
  }
}

function listParts({ isolates, arenas, mappings }: ProbeSample): [string, number][] {
  const parts: [string, number][] = [];
  // Shared array buffers are told by each isolate that has one: the main one's are enough.
  for (const { name, heap, external, arrayBuffers, database } of isolates) {
    parts.push([`heap ${name}`, heap]);
    parts.push([`external ${name}`, external], [`array buffers ${name}`, arrayBuffers]);
    if (database !== undefined) parts.push(["duckdb", database]);
  }
  if (arenas !== undefined) {
    for (const [at, bytes] of arenas.slice(0, -1).entries())
      parts.push([`malloc arena ${at}`, bytes]);
    parts.push(["malloc mapped", arenas.at(-1) ?? 0]);
    parts.push(["malloc", arenas.reduce((sum, bytes) => sum + bytes, 0)]);
  }
  for (const [kind, bytes] of Object.entries(mappings)) parts.push([`resident ${kind}`, bytes]);
  return parts;
}

/** Least-squares line of bytes by requests; undefined for a part with too few readings from `fromMs` on. */
export function fitGrowth(all: readonly PartReading[], fromMs: number): PartGrowth | undefined {
  const judged = all.filter(({ atMs }) => atMs >= fromMs);
  if (judged.length < SAMPLES_MIN) return undefined;
  const mean = (pick: (reading: PartReading) => number) =>
    judged.reduce((sum, reading) => sum + pick(reading), 0) / judged.length;
  const [x, y] = [mean(({ requests }) => requests), mean(({ bytes }) => bytes)];
  const spread = judged.reduce((sum, { requests }) => sum + (requests - x) ** 2, 0);
  if (spread === 0) return undefined;
  const slope =
    judged.reduce((sum, { requests, bytes }) => sum + (requests - x) * (bytes - y), 0) / spread;
  const rest = judged.reduce(
    (sum, { requests, bytes }) => sum + (bytes - y - slope * (requests - x)) ** 2,
    0,
  );
  const error = 2 * Math.sqrt(rest / (judged.length - 2) / spread);
  const step = Math.ceil(all.length / POINTS_DRAWN_MAX);
  return {
    bytes_per_request: round(slope),
    error: round(error),
    samples: judged.length,
    first_mib: round(judged[0]!.bytes / MIB),
    last_mib: round(judged.at(-1)!.bytes / MIB),
    points: all
      .filter((_, at) => at % step === 0)
      .map(({ atMs, bytes }) => [round(atMs / 60_000), round(bytes / MIB)] as const),
  };
}

const round = (value: number) => Math.round(value * 100) / 100;
