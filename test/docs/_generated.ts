// Parts of docs/ that are made from tables of the code. `npm run docs:reference` writes them; the
// test of the reference pages compares.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ATTACKS } from "../attack/attacks.ts";
import { METRICS } from "../../src/http/metrics/metric-values.ts";
import type { MetricDescription } from "../../src/http/metrics/metric.ts";
import { ROUTES } from "../../src/http/routes/table.ts";
import type { RouteAccess } from "../../src/http/route-description.ts";
import { renderRailTable } from "../client/adapters/_rail-table.ts";
import { listSections, renderLines } from "../spec/_lines.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BEGIN = "made by npm run docs:reference -->\n";
const END = "<!-- end -->";

/** A made part of a page, between its marks. */
export interface GeneratedPage {
  /** From the root of the tree. */
  readonly path: string;
  /** Named in its first mark, where the page has several: `<!-- 2.3: made by ... -->`. */
  readonly part?: string;
  readonly made: () => string;
}

export const GENERATED: readonly GeneratedPage[] = [
  ...listSections().map((part) => ({
    path: "docs/contract.md",
    part,
    made: () => renderLines(part),
  })),
  { path: "docs/reference/api.md", made: routesTable },
  { path: "docs/operate/attacks.md", made: attacksTable },
  { path: "docs/reference/metrics.md", made: metricsTable },
  { path: "docs/reference/rail.md", made: renderRailTable },
];

/** Text of a page of the tree. */
export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The page as it should be. Throws when the marks are missing. */
export function withMadePart({ path, part, made }: GeneratedPage): string {
  const page = readPage(path);
  const mark = `<!-- ${part === undefined ? "" : `${part}: `}${BEGIN}`;
  const begin = page.indexOf(mark);
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`${path} has no place for its made part ${part ?? ""}`);
  return `${page.slice(0, begin + mark.length)}\n${made()}\n${page.slice(end)}`;
}

const ACCESS_NAMES: Readonly<Partial<Record<RouteAccess, string>>> = {
  none: "none",
  key: "any key",
};

/** One row per path and answer; methods that do the same share one. */
function routesTable(): string {
  const rows = new Map<string, { methods: string[]; cells: string }>();
  for (const { method, path, access, summary } of ROUTES) {
    const scope = ACCESS_NAMES[access] ?? `\`${access}\``;
    const cells = `\`${path}\` | ${scope} | ${summary}`;
    const row = rows.get(cells) ?? { methods: [], cells };
    row.methods.push(method);
    rows.set(cells, row);
  }
  const lines = [...rows.values()].map(
    ({ methods, cells }) => `| ${methods.join(", ")} | ${cells} |`,
  );
  return ["| method | path | scope | what it does |", "|---|---|---|---|", ...lines, ""].join("\n");
}

/** One row per attack, in the order in which they are played. */
function attacksTable(): string {
  const lines = ATTACKS.map(({ name, what }) => `| \`${name}\` | ${what} |`);
  return ["| attack | what is attempted |", "|---|---|", ...lines, ""].join("\n");
}

/** One row per metric, in the order in which `/metrics` tells them. */
function metricsTable(): string {
  const lines = Object.entries<MetricDescription>(METRICS).map(
    ([name, { type, help, watch, labels }]) => {
      const named = labels.map((label) => `\`${label}\``).join(", ");
      return `| \`trustrank_${name}\` | ${type} | ${named} | ${help} | ${watch} |`;
    },
  );
  const head = ["| metric | type | labels | meaning | watch |", "|---|---|---|---|---|"];
  return [...head, ...lines, ""].join("\n");
}
