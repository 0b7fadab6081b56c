// Budget of text that calls such as `lpad` may ask for: the length of their result is an argument, and
// DuckDB 1.5 neither counts what they make against its memory limit nor can interrupt them while they
// make it. The length has to stand in the query as a number, and all of a query's together are bounded.
import { ServiceFault } from "../../contract/faults.ts";

/** Characters that all such calls of one query may ask for together, for each row. */
export const SIZED_LENGTH_MAX = 10_000;
/** Places in one format text: each can repeat an argument, however long. */
const FORMAT_FIELDS_MAX = 100;
/** Length of a `bar` that names none. */
const BAR_LENGTH = 80;

type CallArguments = readonly unknown[];

/** Characters that a call asks for, or undefined when its arguments do not say. */
type LengthMeasure = (given: CallArguments) => number | undefined;

const LENGTH_MEASURES: Readonly<Record<string, LengthMeasure>> = {
  lpad: (given) => readNumberConstant(given[1]),
  rpad: (given) => readNumberConstant(given[1]),
  bar: (given) => (given.length < 4 ? BAR_LENGTH : readNumberConstant(given[3])),
  format: (given) => sumFormatWidths(given[0], /\{/g, (text) => text.replaceAll(/\{\{|\}\}/g, "")),
  printf: (given) => sumFormatWidths(given[0], /%/g, (text) => text.replaceAll("%%", "")),
};

/** Adds up what the calls of one query ask for. */
export class ResultLengthBudget {
  #left = SIZED_LENGTH_MAX;

  /** @throws ServiceFault `query_rejected` for a call that asks for too much, or does not say. */
  spend(name: string, given: CallArguments): void {
    if (!Object.hasOwn(LENGTH_MEASURES, name)) return;
    const length = (LENGTH_MEASURES[name] as LengthMeasure)(given);
    if (length === undefined) {
      const what = name === "format" || name === "printf" ? "format text" : "length";
      const detail = `the ${what} of \`${name}\` must stand in the query as it is`;
      throw new ServiceFault("query_rejected", detail);
    }
    this.#left -= length;
    if (this.#left >= 0) return;
    const detail = `\`${name}\` asks for too much: at most ${SIZED_LENGTH_MAX} characters a query`;
    throw new ServiceFault("query_rejected", detail);
  }
}

interface ConstantNode {
  class?: string;
  value?: { value?: unknown };
}

/** A constant of a serialised query; undefined for every other expression. */
function readConstant(node: unknown): unknown {
  const { class: kind, value } = (node ?? {}) as ConstantNode;
  // An empty text is left out of the serialised tree.
  return kind === "CONSTANT" ? (value?.value ?? "") : undefined;
}

function readNumberConstant(node: unknown): number | undefined {
  const value = readConstant(node);
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/**
 * Widths and precisions that a format text names. One that comes from an argument (`*`, or a field in
 * a field) is unknown.
 */
function sumFormatWidths(
  node: unknown,
  field: RegExp,
  unescaped: (text: string) => string,
): number | undefined {
  const constant = readConstant(node);
  if (typeof constant !== "string") return undefined;
  const text = unescaped(constant);
  if (/%[^%a-zA-Z]*\*/.test(text) || /\{[^}]*\{/.test(text)) return undefined;
  const fields = text.match(field)?.length ?? 0;
  if (fields > FORMAT_FIELDS_MAX) return Number.POSITIVE_INFINITY;
  // Every number counts, whatever it means: those outside fields are few and small.
  return (text.match(/\d+/g) ?? []).reduce((sum, digits) => sum + Number(digits), 0);
}
