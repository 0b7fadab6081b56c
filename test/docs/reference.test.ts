// The reference pages against the code: what is missing there, or stands there and does not exist,
// fails. Made parts are made again and compared.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FAULTS } from "../../src/contract/faults.ts";
import {
  DECISIONS,
  FINDING_CODES,
  GRADES,
  POLICY_LABELS,
  REASON_CODES,
  REGIMES,
  RISK_LEVELS,
  SIGNATURES,
  TIERS,
  TOOL_LEVELS,
  VERDICTS,
} from "../../src/contract/vocabulary.ts";
import { REASONS } from "../../src/contract/reasons.ts";
import { GENERATED, readPage, withMadePart } from "./_generated.ts";
import { namesUnder, plain, rowsUnder } from "./_tables.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const sorted = (names: Iterable<string>) => [...new Set(names)].toSorted();

function sourcesOf(folder: string): { path: string; text: string }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({ path, text: readFileSync(join(ROOT, folder, path), "utf8") }));
}

describe("made parts", () => {
  it.each(GENERATED)("$path $part is up to date (npm run docs:reference)", (page) => {
    expect(readPage(page.path)).toBe(withMadePart(page));
  });
});

describe("docs/reference/errors.md", () => {
  const page = readPage("docs/reference/errors.md");
  const headings = [
    "The request",
    "Who asks",
    "Outcomes",
    "Signatures and keys",
    "Sources",
    "The service",
  ];
  const rows = headings.flatMap((heading) => rowsUnder(page, `## ${heading}`));

  it("has every fault code once, with its status", () => {
    const statuses = Object.entries(FAULTS).map(([code, { status }]) => `${code} ${status}`);
    const stated = rows.map(([code, status]) => `${plain(code!)} ${status}`);
    expect(stated.toSorted()).toEqual(statuses.toSorted());
  });
});

describe("docs/reference/reason-codes.md", () => {
  const page = readPage("docs/reference/reason-codes.md");
  const reasons = rowsUnder(page, "## Reasons that speak of the agent");

  it("has every reason code in order", () => {
    expect(reasons.map(([code]) => plain(code!))).toEqual([...REASON_CODES]);
  });

  it("has their sentences", () => {
    const stated = reasons.map(([, sentence]) => sentence!.split(" / "));
    expect(stated.map((sentences) => sentences.map(filledIn))).toEqual(
      stated.map((sentences, index) =>
        sentences.map((_, at) => sentenceOf(index, sentences.length > 1 && at === 0)),
      ),
    );
  });

  it("has every finding and label of verify, and no other", () => {
    const findings = namesUnder(page, "## Findings about content and sources");
    const labels = namesUnder(page, "## Labels of the policy");
    // In decisions that older versions logged.
    const former = ["SOME_SOURCES_UNKNOWN"];
    expect(sorted(findings)).toEqual(sorted([...FINDING_CODES, ...former]));
    expect(sorted(labels)).toEqual(sorted(POLICY_LABELS));
  });
});

const STAKES = 4321;
const PASSING = 1234;

function filledIn(sentence: string): string {
  return sentence
    .replace("`<stakes>`", String(STAKES))
    .replace("`<passing>`", String(PASSING))
    .replace("`<days>`", "300")
    .replace("`<expected>`", "25 %")
    .replace("`<pessimistic>`", "50 %");
}

function sentenceOf(reasonIndex: number, isUnknown: boolean): string {
  const reading = {
    isKnown: !isUnknown,
    failureProbability: 0.25,
    failurePessimistic: 0.5,
    silentDays: 300.4,
  };
  const at = { stakes: STAKES, counted: STAKES, passing: PASSING, isPassingVerified: false };
  return REASONS[REASON_CODES[reasonIndex]!].sentence(reading, at);
}

describe("docs/reference/metrics.md", () => {
  const page = readPage("docs/reference/metrics.md");

  it("has every log event, and no other", () => {
    const found = sourcesOf("src").flatMap(({ text }) => eventsIn(text));
    expect(sorted(namesUnder(page, "## Log events"))).toEqual(sorted(found));
  });

  it("has the level that each event is logged at", () => {
    const stated = new Map(
      rowsUnder(page, "## Log events").map(([event, level]) => [plain(event!), level]),
    );
    const logged = sourcesOf("src").flatMap(({ text }) => [...text.matchAll(LEVELLED_CALL)]);
    expect(logged.length).toBeGreaterThan(40);
    for (const [, level, event] of logged)
      expect([event, stated.get(event!)]).toEqual([event, level]);
  });

  it("has every audit event that the view names", () => {
    const rows = readFileSync(join(ROOT, "src/store/rows/journal.ts"), "utf8");
    const [, columns] = /\n {6}\[\n {8}"event",\n([^]*?)\n {6}\]/.exec(rows)!;
    const [, stated] = page.split("## Audit events");
    const names = (text: string) => text.match(/\b[a-z_]+\.[a-z]+\b/g) ?? [];
    expect(sorted(names(stated!))).toEqual(sorted(names(columns!)));
  });
});

/** Calls of a log, messages that become one, and audit events that are logged as they are. */
const LOG_CALLS = [
  /(?:\blog|[lL]ogger)(?:\(\))?(?:\?\.)?\.?(?:debug|info|warn|error)(?:\?\.)?\(\s*"([^"]+)"/g,
  /(?:\blog|#log|#logOnce)\(\s*"([a-z_ ]+)"/g,
  /kind: "(?:note|log)",\s*event: "([^"]+)"/g,
  /#report\(\s*"([a-z]+_[a-z_]+)"/g,
  /event: "(access\.denied)"/g,
];

const LEVELLED_CALL =
  /(?:\blog|[lL]ogger)(?:\(\))?\.(debug|info|warn|error)(?:\?\.)?\(\s*"([^"]+)"/g;

function eventsIn(text: string): string[] {
  return LOG_CALLS.flatMap((call) => [...text.matchAll(call)].map(([, event]) => event!));
}

describe("docs/reference/glossary.md", () => {
  const terms = rowsUnder(readPage("docs/reference/glossary.md"), "# Glossary").map(([term]) =>
    term!.replaceAll("*", ""),
  );

  it("has each word once, in order", () => {
    expect(new Set(terms).size).toBe(terms.length);
    const order = new Intl.Collator("en");
    expect(terms).toEqual(terms.toSorted((left, right) => order.compare(left, right)));
  });

  it("has every word of the value sets", () => {
    const words = [
      DECISIONS,
      VERDICTS,
      RISK_LEVELS,
      TOOL_LEVELS,
      TIERS,
      REGIMES,
      GRADES,
      SIGNATURES,
    ];
    const known = new Set(terms.flatMap((term) => term.split(", ")));
    expect(words.flat().filter((word) => !known.has(word))).toEqual([]);
  });
});
