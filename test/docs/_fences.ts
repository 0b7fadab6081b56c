// The fenced blocks of the pages that users read, with the comment above each that says how it is
// tested. A block of a language that can be run is run, or says why not.
import { readdirSync, readFileSync } from "node:fs";
import { ROOT } from "../examples/_sample-service.ts";

/** A fenced block; the marker is one line of HTML comment directly above it. */
export interface Fence {
  readonly page: string;
  /** Number of the line that opens it, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** Path below examples/, of `<!-- example: PATH -->`. */
  readonly example: string | undefined;
  /** A name, of `<!-- runs: NAME -->`. */
  readonly runs: string | undefined;
  /** A reason, of `<!-- not run: REASON -->`. */
  readonly notRun: string | undefined;
  /** The block of language `text` that follows directly. */
  readonly output: string | undefined;
}

export const GUIDES = readdirSync(`${ROOT}docs/guide`)
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/guide/${name}`);

const FENCE =
  /(?:^<!-- (example|runs|not run): (.+) -->\n)?^```(\w*)\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm;

/** Every fenced block of a page, in order. */
export function fencesOf(page: string): Fence[] {
  const text = readPage(page);
  return [...text.matchAll(FENCE)].map((match) => {
    const [, kind, value, language = "", body = "", output] = match;
    return {
      page,
      line: text.slice(0, match.index).split("\n").length + (kind === undefined ? 0 : 1),
      language,
      text: body.trimEnd(),
      example: kind === "example" ? value : undefined,
      runs: kind === "runs" ? value : undefined,
      notRun: kind === "not run" ? value : undefined,
      output: output?.trimEnd(),
    };
  });
}

export function readPage(page: string): string {
  return readFileSync(ROOT + page, "utf8");
}

/** An example without the comment that opens it. */
export function exampleBody(name: string): string {
  const text = readFileSync(`${ROOT}examples/${name}`, "utf8");
  return text.replace(/^(?:\/\/.*\n)+|^\/\*[^]*?\*\/\n/, "").trimEnd();
}

/** For the title of a test. */
export function placeOf({ page, line }: Fence): string {
  return `${page}:${line}`;
}
