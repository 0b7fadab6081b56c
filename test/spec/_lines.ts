// Statements of the specification, numbered by section: each with its state here and the tests that show it.
// `lines.test.ts` runs the tests; `npm run docs:reference` writes the tables of docs/contract.md from this list.
import { CALLS } from "./_lines-calls.ts";
import { FIELDS } from "./_lines-fields.ts";
import { LIMITS } from "./_lines-limits.ts";
import { SERVICE } from "./_lines-service.ts";

/**
 * `met`; `in part`: `here` says what is missing; `open`: the specification names it as a gap, and `here` says what
 * this service chose.
 */
export const LINE_STATES = ["met", "in part", "open"] as const;
export type LineState = (typeof LINE_STATES)[number];

/**
 * Where the check of `lines.test.ts` runs: `all` is direct call, HTTP and client at each HTTP thread; `figures` reads
 * bench/RESULTS.md.
 */
export const REACHES = ["all", "HTTP", "client", "figures"] as const;
export type Reach = (typeof REACHES)[number];

/** A test of another file: its path from the root, and its title. */
export type OtherTest = readonly [path: string, title: string];

/** One statement. */
export interface SpecificationLine {
  /** Section and a word: `2.3-score`. */
  readonly id: string;
  /** The statement in other words. */
  readonly says: string;
  readonly state: LineState;
  /** At least one test. */
  readonly by: readonly (Reach | OtherTest)[];
  /** What this service does where the specification is silent, or what is missing. */
  readonly here?: string;
}

export const LINES: readonly SpecificationLine[] = [...SERVICE, ...FIELDS, ...CALLS, ...LIMITS];

/** `2.3` of `2.3-score`. */
export function readSection(id: string): string {
  return id.slice(0, id.indexOf("-"));
}

/** Sections that have lines, in order. */
export function listSections(): string[] {
  return [...new Set(LINES.map(({ id }) => readSection(id)))];
}

const REACH_NAMES: Readonly<Record<Reach, string>> = {
  all: "each entry point",
  HTTP: "HTTP",
  client: "client",
  figures: "`bench/RESULTS.md`",
};

/** Markdown table of one section. */
export function renderLines(section: string): string {
  const rows = LINES.filter(({ id }) => readSection(id) === section).map(
    ({ id, says, state, here = "", by }) =>
      `| \`${id}\` | ${says} | ${state} | ${here} | ${by.map(nameTest).join("; ")} |`,
  );
  return [
    "| line | statement | state | here | shown by |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function nameTest(by: Reach | OtherTest): string {
  if (typeof by === "string") return REACH_NAMES[by];
  const [path, title] = by;
  return `\`${path}\`: ${title.replaceAll("|", "\\|")}`;
}
