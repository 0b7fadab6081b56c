// PIVOT without a list of values, as an ordinary statement. DuckDB runs such a text as two statements,
// of which the first makes a type; here the values are asked for first, by a query that is guarded as
// every other, and are written into the text as a list. The guard then judges the text that is run.
import { ServiceFault } from "../../contract/faults.ts";
import { quoteLiteral } from "../view.ts";

/** Values of one pivoted expression: each is a column of the answer. */
const PIVOT_VALUES_MAX = 100;

/** A pivoted expression without values: its place in the text, and the query that gives them. */
interface PivotWithoutValues {
  readonly from: number;
  readonly to: number;
  /** Gives at most PIVOT_VALUES_MAX + 1 texts. */
  readonly sql: string;
}

/** A word outside quotes, comments and brackets. */
interface SqlWord {
  readonly text: string;
  readonly at: number;
}

/** The quotes, comments, words and marks of SQL; everything else is matched character by character. */
const TOKEN =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|[A-Za-z_]\w*|[^]/g;
const OPENS = "([{";
const CLOSES = ")]}";

/** Words and commas at the outermost level. */
function listOuterWords(sql: string): SqlWord[] {
  const words: SqlWord[] = [];
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(TOKEN)) {
    if (OPENS.includes(token)) depth += 1;
    else if (CLOSES.includes(token)) depth -= 1;
    else if (depth === 0 && /^[A-Za-z_,;]/.test(token) && !/^[eE]'/.test(token)) {
      words.push({ text: token.toUpperCase(), at: index });
    }
  }
  return words;
}

const PIVOT_KEYWORDS = new Set(["PIVOT", "PIVOT_WIDER"]);
const PIVOT_END_KEYWORDS = new Set(["USING", "GROUP", "ORDER", "LIMIT", ";"]);

/** The pivoted expressions of a PIVOT statement that name no values, in their order. */
export function findPivotsWithoutValues(sql: string): PivotWithoutValues[] {
  const words = listOuterWords(sql);
  const first = words[0]?.text ?? "";
  const head = words.findIndex(({ text }) => PIVOT_KEYWORDS.has(text));
  if (head < 0 || (head > 0 && first !== "WITH")) return [];
  const on = words.findIndex(({ text }, index) => index > head && text === "ON");
  if (on < 0) return [];
  const end = words.findIndex(({ text }, index) => index > on && PIVOT_END_KEYWORDS.has(text));
  const endAt = words[end]?.at ?? sql.length;
  const within = words.slice(on + 1, end < 0 ? undefined : end);
  const { at, text } = words[head] as SqlWord;
  const prefix = sql.slice(0, at);
  const source = sql.slice(at + text.length, (words[on] as SqlWord).at);
  const commas = within.filter((word) => word.text === ",").map((word) => word.at);
  const starts = [(words[on] as SqlWord).at + "ON".length, ...commas.map((comma) => comma + 1)];
  const stops = [...commas, endAt];
  return starts.flatMap((from, index) => {
    const to = stops[index] as number;
    const isListed = within.some((word) => word.text === "IN" && word.at >= from && word.at < to);
    if (isListed) return [];
    const expression = sql.slice(from, to);
    const values = `SELECT DISTINCT CAST((${expression}\n) AS VARCHAR) FROM ${source}`;
    return [{ from, to, sql: `${prefix}${values}\nORDER BY 1 LIMIT ${PIVOT_VALUES_MAX + 2}` }];
  });
}

/**
 * The text with the values of each open expression written into it.
 * @param readValues runs one of the queries, guarded.
 * @throws ServiceFault `query_rejected` when there are too many values, or none.
 */
export async function fillPivotValues(
  sql: string,
  pivots: readonly PivotWithoutValues[],
  readValues: (sql: string) => Promise<readonly unknown[]>,
): Promise<string> {
  let closed = sql;
  for (const { from, to, sql: values } of pivots.toReversed()) {
    const found = (await readValues(values)).filter((value) => value !== null).map(String);
    if (found.length === 0) throw createPivotRejection("PIVOT finds no values to make columns of");
    if (found.length > PIVOT_VALUES_MAX) {
      const detail = `PIVOT makes more than ${PIVOT_VALUES_MAX} columns: name those you want by IN`;
      throw createPivotRejection(detail);
    }
    const expression = closed.slice(from, to).trim();
    const isName = /^(?:\w+|"(?:[^"]|"")*")$/.test(expression);
    const list = found.map(quoteLiteral).join(", ");
    const pivot = `${isName ? expression : `(${expression}\n)`} IN (${list})`;
    closed = `${closed.slice(0, from)} ${pivot} ${closed.slice(to)}`;
  }
  return closed;
}

/** Its values are read by a query of their own, which has none of the parameters. */
export function createOpenPivotRejection(): ServiceFault {
  return createPivotRejection("PIVOT without IN takes no parameters: name the values by IN");
}

function createPivotRejection(detail: string): ServiceFault {
  return new ServiceFault("query_rejected", detail);
}
