// Results as the suites print them, as far as they are drawn. A file is told by its member `bench`.
import type { Spread } from "../load/spread.ts";
import type { PartGrowth } from "../soak/parts.ts";

export interface TailResult {
  readonly bench: "tail";
  readonly machine: string;
  readonly meanwhile: readonly string[];
  readonly bar?: { readonly per_second: number; readonly bar_ms: number };
  readonly rates: readonly TailRow[];
  readonly beside?: Readonly<Record<string, TailRow>>;
}

export interface TailRow {
  readonly offered_per_second: number;
  readonly answered_per_second: Spread;
  readonly p50_ms: Spread;
  readonly p99_ms: Spread;
  readonly p99_9_ms: Spread;
}

export interface HttpResult {
  readonly bench: "http";
  readonly machine: string;
  readonly sides: Readonly<
    Record<string, { readonly user_us: Spread; readonly system_us: Spread }>
  >;
}

export interface GrowthResult {
  readonly bench: "growth";
  readonly machine: string;
  readonly tables: readonly {
    readonly agents: number;
    readonly lookup_ns: Spread;
    readonly fold_ns: Spread;
    readonly bytes_an_agent_with_pairs: number;
  }[];
  readonly histories: readonly {
    readonly outcomes: number;
    readonly start_seconds: number;
    readonly replay_seconds: number;
    readonly store_seconds: number;
    readonly kaizen_seconds: number | null;
    readonly queries: Readonly<Record<string, number | null>>;
  }[];
}

export interface CoresResult {
  readonly bench: "cores";
  readonly machine: string;
  readonly rows: readonly {
    readonly threads: number;
    readonly per_second: Spread;
    readonly cpu_us: Spread;
  }[];
}

export interface SoakResult {
  readonly bench: "soak";
  readonly machine: string;
  readonly minutes: number;
  readonly requests: number;
  readonly parts: Readonly<Record<string, Pick<PartGrowth, "bytes_per_request" | "points">>>;
}

export type Result = TailResult | HttpResult | GrowthResult | CoresResult | SoakResult;

const DRAWN = new Set(["tail", "http", "growth", "cores", "soak"]);

/** Of a file's text; undefined for a suite that has no drawing. @throws Error for no result at all. */
export function resultOf(name: string, text: string): Result | undefined {
  const line = text.trimEnd().split("\n").at(-1)!;
  let value: { bench?: unknown };
  try {
    value = JSON.parse(line) as { bench?: unknown };
  } catch {
    throw new Error(`${name} does not end with a JSON object`);
  }
  return DRAWN.has(String(value.bench)) ? (value as Result) : undefined;
}
