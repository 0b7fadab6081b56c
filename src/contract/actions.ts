// Entries of a policy's `actions`: which tool level an action gets, and where the request says what is at
// stake. Also the parts of a request that entries read, in the form of an AuthZEN evaluation.
import type { ToolLevel } from "./vocabulary.ts";

/** A value that a condition compares with. */
export type ConditionValue = string | number | boolean;

/** One entry; the first that matches a request decides. */
export interface ActionEntry {
  /** An action, `domain.*` for all below it, or `*`. */
  match: string;
  /** The same for `resource.id` of the request; left out: any request, also one that names no resource. */
  resource?: string;
  /** Values by JSON pointer into the request; all must be equal. Left out: no condition. */
  when?: Record<string, ConditionValue>;
  level: ToolLevel;
  /** JSON pointer to the number in the request that is at stake. */
  stakes?: string;
}

/** Members of a request that pointers begin with. */
export const FACT_SECTIONS = [
  "/resource/",
  "/context/",
  "/action/properties/",
  "/subject/properties/",
] as const;

/** The parts of a request that entries read; as received, so that nothing about them is certain. */
export interface RequestFacts {
  readonly subject?: unknown;
  readonly action?: unknown;
  readonly resource?: unknown;
  readonly context?: unknown;
}

/** Characters after which a segment of an action or a resource begins. */
const SEPARATORS = "./:";

/**
 * Whether a pattern is plain text, `*` alone, or ends with `*` as a whole segment: after `.`, `/` or `:`, and
 * nowhere else.
 */
export function isSegmentPattern(pattern: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0 || pattern === "*") return true;
  return star === pattern.length - 1 && star > 1 && SEPARATORS.includes(pattern[star - 1]!);
}

/**
 * The names that a JSON pointer (RFC 6901) walks; undefined for a text that is none or begins with no
 * member that entries may read.
 */
export function parseFactPointer(pointer: string): string[] | undefined {
  const section = FACT_SECTIONS.find((each) => pointer.startsWith(each));
  if (section === undefined || pointer.length === section.length) return undefined;
  const names = pointer.slice(1).split("/");
  if (names.some((name) => name.replaceAll("~0", "").replaceAll("~1", "").includes("~"))) {
    return undefined;
  }
  return names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}
