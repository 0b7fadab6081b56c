// Figures of the suites as tables of Markdown, with the machine and the rounds that they are from.
import { rounded, type Spread } from "../load/spread.ts";

/** A suite's last line; what is read of it is checked where it is used. */
export type Report = Readonly<Record<string, unknown>> & { readonly bench: string };
type Rows = Readonly<Record<string, Readonly<Record<string, Spread>>>>;

const number = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 3 });
const spread = ({ median, p10, p90 }: Spread): string =>
  `${number(median)} (${number(p10)} to ${number(p90)})`;

/** A table of Markdown; the first column to the left. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Where and when: what every figure needs. */
function origin(report: Report, date: string): string {
  const { machine, rounds, seconds, stolen_seconds: stolen } = report;
  const told = [String(machine), date];
  if (typeof rounds === "number")
    told.push(`${rounds} rounds of ${String(seconds)} s a side by turns`);
  if (typeof stolen === "number") told.push(`${stolen} s stolen by the host`);
  return `${told.join("; ")}. Median (10th to 90th percentile).`;
}

function http(report: Report): string {
  const rows = Object.entries(report["sides"] as Rows).map(([side, row]) => [
    side,
    spread(row["per_second"]!),
    number(row["throughput_ratio"]!.median),
    spread(row["cpu_us"]!),
    spread(row["cpu_ratio"]!),
    number(row["user_us"]!.median),
    number(row["system_us"]!.median),
    number(row["p99_ms"]!.median),
  ]);
  const head = ["", "requests/s", "of uws", "CPU us", "of uws", "user us", "system us", "p99 ms"];
  return markdown(head, rows);
}

function steps(report: Report): string {
  const rows = Object.entries(report["steps"] as Rows).map(([step, row]) => [
    step,
    spread(row["cpu_us"]!),
    spread(row["user_us"]!),
    spread(row["system_us"]!),
    spread(row["ratio"]!),
  ]);
  const table = markdown(["step", "CPU us", "user us", "system us", "of the echo"], rows);
  const parts = report["parts"] as Record<string, Record<string, number>>;
  const kinds = Object.keys(parts);
  const names = Object.keys(parts[kinds[0]!] ?? {});
  const cells = (name: string) => kinds.map((kind) => number(parts[kind]?.[name] ?? 0));
  const shares = names.map((name) => [name, ...cells(name)]);
  return `${table}\n\n${markdown(["part, CPU us of a request", ...kinds], shares)}`;
}

function pool(report: Report): string {
  const rows = Object.entries(report["rows"] as Rows).map(([name, row]) => [
    name,
    spread(row["cpu_us"]!),
    spread(row["ratio"]!),
    spread(row["per_second"]!),
    number(row["p99_ms"]!.median),
  ]);
  const head = ["one item", "CPU us", "of in place", "items/s", "p99 ms of a request"];
  return markdown(head, rows);
}

const TAIL = ["p50_ms", "p99_ms", "p99_9_ms"] as const;

interface TailRow {
  readonly offered_per_second: number;
  readonly answered_per_second: Spread;
  readonly p50_ms: Spread;
  readonly p99_ms: Spread;
  readonly p99_9_ms: Spread;
  readonly max_ms: number;
  readonly generator_late_p99_9_ms: number;
  readonly turned_away: number;
  readonly errors: Readonly<Record<string, number>>;
}

function tail(report: Report): string {
  const cells = (row: TailRow) => [
    number(row.offered_per_second),
    number(row.answered_per_second.median),
    ...TAIL.map((name) => number(row[name].median)),
    number(row.max_ms),
    number(row.generator_late_p99_9_ms),
    number(row.turned_away),
    number(Object.values(row.errors).reduce((sum, count) => sum + count, 0)),
  ];
  const head = ["offered/s", "answered/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms"];
  head.push("generator late, p99.9 ms", "turned away", "errors");
  const table = markdown(head, (report["rates"] as TailRow[]).map(cells));
  const beside = Object.entries((report["beside"] ?? {}) as Record<string, TailRow>);
  if (beside.length === 0) return table;
  const apart = beside.map(([name, row]) => [name, ...cells(row)]);
  return `${table}\n\n${markdown(["beside", ...head], apart)}`;
}

function cores(report: Report): string {
  type CoreRow = Readonly<Record<string, Spread>> & { threads: number };
  const rows = (report["rows"] as CoreRow[]).map((row) => [
    String(row.threads),
    spread(row["per_second"]!),
    spread(row["cpu_us"]!),
  ]);
  const table = markdown(["HTTP threads", "requests/s", "CPU us"], rows);
  const torn = report["torn_reads"] as Record<string, number> | undefined;
  if (torn === undefined) return table;
  const { readings = 0, folds = 0, torn: mixed = 0, backwards = 0 } = torn;
  const found = `${number(mixed)} torn, ${number(backwards)} backwards`;
  return `${table}\n\n${number(readings)} readings beside ${number(folds)} folds: ${found}.`;
}

function growth(report: Report): string {
  type Size = Readonly<Record<string, number | Spread | null | Record<string, number | null>>>;
  const told = (value: Size[string] | undefined): string => {
    if (typeof value === "number") return number(rounded(value));
    return value === null || value === undefined ? "" : number((value as Spread).median);
  };
  const tables = (report["tables"] as Size[]).map((row) =>
    [
      "agents",
      "bytes_an_agent",
      "bytes_an_agent_with_pairs",
      "lookup_ns",
      "fold_ns",
      "build_seconds",
    ].map((name) => told(row[name])),
  );
  const head = ["agents", "bytes an agent", "with pairs", "lookup ns", "fold ns", "build s"];
  const sizes = report["histories"] as Size[];
  if (sizes.length === 0) return markdown(head, tables);
  const queries = Object.keys((sizes[0]!["queries"] ?? {}) as object);
  const names = ["outcomes", "start_seconds", "replay_seconds", "store_seconds", "kaizen_seconds"];
  const amount = (size: Size, name: string, unit: number) =>
    told(Number(size[name] ?? Number.NaN) / unit);
  const histories = sizes.map((size) => [
    ...names.map((name) => told(size[name])),
    amount(size, "kaizen_peak_bytes", 1e9),
    amount(size, "resident_bytes", 1e9),
    amount(size, "journal_bytes", Number(size["outcomes"])),
    amount(size, "store_bytes", Number(size["outcomes"])),
    ...queries.map((name) => told((size["queries"] as Record<string, number | null>)[name])),
  ]);
  const labels = ["outcomes", "start s", "replay s", "store s", "kaizen s"];
  labels.push("kaizen's peak GB", "idle GB", "journal B an outcome", "store B");
  const second = markdown([...labels, ...queries.map((name) => `${name} s`)], histories);
  return `${markdown(head, tables)}\n\n${second}`;
}

const TABLES: Readonly<Record<string, (report: Report) => string>> = {
  http,
  path: steps,
  pool,
  tail,
  cores,
  growth,
};

/** Figures of a suite for the page; undefined for one without a table. */
export function figuresOf(report: Report, date: string): string | undefined {
  const table = TABLES[report.bench];
  return table === undefined ? undefined : `${origin(report, date)}\n\n${table(report)}`;
}
