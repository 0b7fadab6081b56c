// docs/reference/bounds.md against the code: every row's constant has the value that stands there, every
// named maximum of the rooms that serve has a row, and settings and metrics that a row names exist.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SETTINGS } from "../../src/service/settings/settings.ts";
import { readPage } from "./_generated.ts";
import { plain, rowsUnder } from "./_tables.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const page = readPage("docs/reference/bounds.md");
const headings = [...page.matchAll(/^## .+$/gm)].map(([heading]) => heading);

interface Bound {
  readonly what: string;
  readonly bound: string;
  readonly setting: string;
  readonly gauges: string[];
  /** Constant and file; both empty where a bound has none of its own. */
  readonly name: string;
  readonly path: string;
}

const rows: Bound[] = headings
  .flatMap((heading) => rowsUnder(page, heading))
  .map(([what = "", bound = "", setting = "", , gauge = "", constant = ""]) => {
    const [name = "", path = ""] = constant.split(" ").map(plain);
    const gauges = gauge.match(/\btrustrank_[a-z_]+\b/g) ?? [];
    return { what, bound, setting: plain(setting), gauges, name, path };
  });
const named = rows.filter(({ name }) => name !== "");

/** Rooms whose queues, caches and bodies callers can fill. */
const ROOMS = [
  "http",
  "ledger",
  "store",
  "vault",
  "bureau",
  "webhooks",
  "threads",
  "platform",
  "service",
];

/** Named maxima that bound no caller: ends of scales, places in a list, digits that fit a number. */
const OTHERS = new Set([
  "src/service/health/readiness.ts UNVOUCHED_NAMED_MAX",
  "src/http/codec/verify-writer.ts SCORE_MAX",
  "src/http/access/key-format.ts ENVIRONMENT_LENGTH_MAX",
  "src/http/codec/verdict-reply.ts AGE_SEC_MAX",
  "src/store/duckdb.ts DECIMAL_DIGITS_MAX",
  "src/store/decisions/ring-reader.ts TIME_MS_MAX",
  "src/ledger/admission/admission.ts ID_BYTES_MAX",
  "src/vault/grounding/flatten.ts JOINED_LENGTH_MAX",
  "src/vault/grounding/citation-markers.ts GAP_MAX",
  "src/bureau/decisions/leg.ts LAST_OPEN_DECISION_INDEX",
  "src/bureau/decisions/log-entry.ts LAST_OPEN_DECISION_INDEX",
  "src/bureau/decisions/level-ruling.ts REASONS_MAX",
  "src/bureau/decisions/verify.ts FULL_PENALTY_POINTS",
]);

const UNITS: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: 1024 ** 2,
  Mi: 1024 ** 2,
  GiB: 1024 ** 3,
  s: 1000,
  min: 60_000,
  days: 86_400_000,
};

/** The number in `64 MiB`, `20,000`, `30 days`; units that say what is counted are ignored. */
function numberIn(bound: string): number {
  const [number = "", unit = ""] = bound.replaceAll(",", "").split(" ");
  return Number(number) * (UNITS[unit] ?? 1);
}

/** The value of a constant or of a member of an object, from its expression of numbers and names. */
function valueOf(name: string, text: string): number {
  const found = new RegExp(`\\b${name}(?: =|:)\\s([^;,]*[\\w)])`).exec(
    text.replaceAll(/^.*: number;$/gm, ""),
  );
  if (found === null) return Number.NaN;
  const shift = /^1 << (\d+)$/.exec(found[1]!);
  if (shift !== null) return 2 ** Number(shift[1]);
  const parts = found[1]!.split(/\s*([*+-])\s*/);
  const numbers = parts.map((part) =>
    /^[A-Z_]+$/.test(part) ? valueOf(part, text) : Number(part.replaceAll("_", "")),
  );
  let value = numbers[0]!;
  for (let at = 1; at < parts.length; at += 2) {
    const next = numbers[at + 1]!;
    value = parts[at] === "*" ? value * next : parts[at] === "+" ? value + next : value - next;
  }
  return value;
}

const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");
/** Constants of other files that expressions name. */
const UNITS_TEXT = textOf("src/contract/units.ts");

describe("docs/reference/bounds.md", () => {
  it("has a bound in every row", () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ what, bound }) => what === "" || bound === "")).toEqual([]);
  });

  it("has the value of every constant", () => {
    const found = named.map(({ name, path }) => [
      `${path} ${name}`,
      valueOf(name, textOf(path) + UNITS_TEXT),
    ]);
    expect(found.filter(([, value]) => !(Number(value) > 0))).toEqual([]);
    expect(named.map(({ name, path, bound }) => [`${path} ${name}`, numberIn(bound)])).toEqual(
      found,
    );
  });

  it("has every named maximum of the rooms that serve, and of the limits of messages", () => {
    const paths = ROOMS.flatMap((room) =>
      readdirSync(join(ROOT, "src", room), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .map((path) => `src/${room}/${path}`),
    );
    const maxima = [...paths, "src/contract/limits.ts"].flatMap((path) =>
      [...textOf(path).matchAll(/^(?:export )?const ([A-Z_]+_MAX) = /gm)].map(
        ([, name]) => `${path} ${name}`,
      ),
    );
    const stated = new Set(named.map(({ name, path }) => `${path} ${name}`));
    expect(maxima.length).toBeGreaterThan(60);
    expect(maxima.filter((each) => !stated.has(each) && !OTHERS.has(each))).toEqual([]);
  });

  it("names settings and gauges that exist", () => {
    const variables = new Set<string>(Object.values(SETTINGS).flatMap((each) => each.variables));
    const settings = rows.map(({ setting }) => setting).filter((each) => /^[A-Z_]+$/.test(each));
    expect(settings.length).toBeGreaterThan(4);
    expect(settings.filter((name) => !variables.has(name))).toEqual([]);
    const metrics = readPage("docs/reference/metrics.md");
    const gauges = rows.flatMap((row) => row.gauges);
    expect(gauges.length).toBeGreaterThan(10);
    expect(gauges.filter((name) => !metrics.includes(`\`${name}\``))).toEqual([]);
  });
});
