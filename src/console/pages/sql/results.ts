// Result of a query: a table, and a chart where the first column is a time or has few distinct values.
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import type { QueryResult } from "../../../contract/schemas/service.ts";
import { formatNumber } from "../../format.ts";
import { html, useMemo, type Children, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Bars } from "../../parts/bars.ts";
import { Chart, type ChartLine } from "../../parts/chart.ts";
import { Notice } from "../../parts/notices.ts";
import { ROWS_DRAWN_MAX, Table } from "../../parts/table.ts";
import { AgentLink, UntrustedText, Time } from "../../parts/words.ts";

export type SqlAnswer = MessageOf<typeof QueryResult>;

const NUMERIC_TYPE = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL\b.*)$/;
const TEMPORAL_TYPE = /^(?:DATE|TIMESTAMP\b.*)$/;
/** More are no longer told apart. */
const LINES_MAX = 4;
const BARS_MAX = 25;
const POINTS_MIN = 2;
const COLORS: readonly ChartLine["color"][] = ["accent", "deny", "second", "warn"];

export function SqlResult({ answer }: { answer: SqlAnswer }): VNode {
  const { columns, rows, is_truncated: isTruncated } = answer;
  const shown = useMemo(
    () =>
      columns.map(({ name, type }, at) => ({
        label: name,
        isNumber: NUMERIC_TYPE.test(type),
        isLong: hasLongText(rows, at),
        cell: (row: readonly unknown[]) => renderSqlCell(name, type, row[at]),
      })),
    [answer],
  );
  return html`
    <${ResultChart} answer=${answer} />
    <p class="dim small" role="status">
      ${formatNumber(rows.length)} rows, ${formatNumber(answer.elapsed_ms)} ms, as of${" "}
      <${Time} at=${answer.as_of.time} /> at position ${formatNumber(answer.as_of.position)}
      ${rows.length > ROWS_DRAWN_MAX ? `; the first ${ROWS_DRAWN_MAX} are drawn, CSV has all` : ""}
    </p>
    ${
      isTruncated &&
      html`<${Notice} kind="warn">
        There are more than ${formatNumber(rows.length)} rows: the rest is left out. Ask for less,
        group, or export the view as Parquet.
      <//>`
    }
    <${Table}
      label="answer"
      columns=${shown}
      rows=${rows}
      empty="No row answers this question. The views fill with outcomes, decisions and changes of keys."
    />
  `;
}

/** Whether some text of a column is too long for a cell. */
function hasLongText(rows: SqlAnswer["rows"], at: number): boolean {
  return rows.slice(0, 50).some((row) => formatSqlValue(row[at]).length > 48);
}

function formatSqlValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function renderSqlCell(name: string, type: string, value: unknown): Children {
  if (value === null || value === undefined) return html`<span class="dim">null</span>`;
  if (typeof value === "number") return formatNumber(value, 6);
  if (typeof value === "boolean") return String(value);
  const text = formatSqlValue(value);
  if (type.startsWith("TIMESTAMP") && type !== "TIMESTAMP WITH TIME ZONE") {
    return html`<${Time} at=${text} as="full" />`;
  }
  if (/^agent:\/\/\S+$/.test(text)) return html`<${AgentLink} id=${text} />`;
  if (name === "request_id") {
    return html`<a href=${linkTo("decision", { id: text })}><${UntrustedText} text=${text} /></a>`;
  }
  return html`<span title=${text.length > 48 ? text : undefined}
    ><${UntrustedText} text=${text}
  /></span>`;
}

function ResultChart({ answer }: { answer: SqlAnswer }): VNode | null {
  const { columns, rows } = answer;
  const [first] = columns;
  const numeric = columns.flatMap(({ type }, at) =>
    at > 0 && NUMERIC_TYPE.test(type) ? [at] : [],
  );
  if (first === undefined || numeric.length === 0 || rows.length < POINTS_MIN) return null;
  if (TEMPORAL_TYPE.test(first.type))
    return html`<${TimeChart} answer=${answer} numeric=${numeric} />`;
  const [value] = numeric as [number];
  if (first.type !== "VARCHAR" || rows.length > BARS_MAX) return null;
  if (new Set(rows.map((row) => row[0])).size < rows.length) return null;
  const bars = rows.map((row) => ({
    label: renderSqlCell(first.name, first.type, row[0]),
    value: Math.max(0, Number(row[value] ?? 0)),
  }));
  return html`<figure class="chart sql-picture">
    <figcaption class="dim small">${columns[value]!.name} by ${first.name}</figcaption>
    <${Bars} bars=${bars} say=${(each: number) => formatNumber(each, 3)} />
  </figure>`;
}

function TimeChart({ answer, numeric }: { answer: SqlAnswer; numeric: readonly number[] }): VNode {
  const { columns, rows } = answer;
  const drawn = useMemo(() => {
    const points = rows
      .map((row) => ({ at: parseEpochSeconds(row[0]), row }))
      .filter(({ at }) => Number.isFinite(at))
      .toSorted((one, other) => one.at - other.at);
    const lines = numeric.slice(0, LINES_MAX).map((column, index) => ({
      label: columns[column]!.name,
      color: COLORS[index]!,
      values: points.map(({ row }) => (row[column] === null ? null : Number(row[column]))),
    }));
    return { at: points.map(({ at }) => at), lines };
  }, [answer]);
  const unit = drawn.lines.map(({ label }) => label).join(", ");
  return html`<${Chart} title=${`Answer by ${columns[0]!.name}`} unit=${unit} ...${drawn} />`;
}

/** Epoch seconds of a day or an instant, which are UTC where they name no zone. */
function parseEpochSeconds(value: unknown): number {
  const text = String(value).replace(" ", "T");
  const hasZone = /(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(text.slice(10));
  return Date.parse(text.length > 10 && !hasZone ? `${text}Z` : text) / 1000;
}
