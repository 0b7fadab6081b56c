// Tables: a head, rows with an optional choice among them, which is kept in view, and what an empty one says.
import { type Children, html, useEffect, useRef, type VNode } from "../html.ts";
import { formatNumber } from "../format.ts";
import { Empty } from "./notices.ts";

/** Rows drawn at most: more would make the page slow to use. */
export const ROWS_DRAWN_MAX = 500;

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => Children;
  /** Right-aligned, in figures of one width. */
  readonly isNumber?: boolean;
  /** May be cut off with an ellipsis where there is little room. */
  readonly isLong?: boolean;
  /** Left out on narrow screens. */
  readonly isExtra?: boolean;
}

export interface TableProps<Row> {
  /** Names it for those who do not see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf?: (row: Row, at: number) => string | number;
  /** What an empty one says, and what would fill it. */
  readonly empty?: Children;
  /** Index of the chosen row, -1 for none of them, and what is called when another is clicked. */
  readonly chosen?: number | undefined;
  readonly onChoose?: (row: Row, at: number) => void;
}

export function Table<Row>(props: TableProps<Row>): VNode {
  const { label, columns, rows, keyOf = (_, at) => at, empty = "Nothing yet.", chosen } = props;
  const { onChoose } = props;
  // The chosen row is among those that are drawn.
  const first = Math.floor(Math.max(0, chosen ?? 0) / ROWS_DRAWN_MAX) * ROWS_DRAWN_MAX;
  const drawn = rows.slice(first, first + ROWS_DRAWN_MAX);
  const place = useRef<HTMLDivElement>(null);
  const row = chosen === undefined ? undefined : rows[chosen];
  useChosenInView(place, row === undefined ? undefined : keyOf(row, chosen!), chosen);
  if (rows.length === 0) return html`<${Empty}>${empty}<//>`;
  return html`<div ref=${place} class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" class=${selectCellClass(column)}>${column.label}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${drawn.map((each, index) => {
          const at = first + index;
          const choose = onChoose && (() => onChoose(each, at));
          return html`<tr
            key=${keyOf(each, at)}
            class=${`${at === chosen ? "chosen" : ""} ${choose ? "pick" : ""}`}
            aria-current=${at === chosen ? "true" : undefined}
            tabindex=${choose && "0"}
            onClick=${choose}
            onKeyDown=${choose && ((event: KeyboardEvent) => chooseByKey(event, choose))}
          >
            ${columns.map((column) => html`<td class=${selectCellClass(column)}>${column.cell(each)}</td>`)}
          </tr>`;
        })}
      </tbody>
    </table>
    ${
      drawn.length < rows.length &&
      html`<p class="dim">
        Rows ${formatNumber(first + 1)} to ${formatNumber(first + drawn.length)} of${" "}
        ${formatNumber(rows.length)} are drawn.
      </p>`
    }
  </div>`;
}

/** Scrolls to the chosen row when another is chosen, not when the rows around it change. */
function useChosenInView(
  place: { readonly current: HTMLElement | null },
  key: string | number | undefined,
  at: number | undefined,
): void {
  const seen = useRef<string | number | undefined>(undefined);
  useEffect(() => {
    const isInitial = seen.current === undefined && at === 0;
    seen.current = key;
    if (key === undefined || isInitial) return;
    place.current?.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
  }, [key]);
}

function selectCellClass<Row>({ isNumber, isLong, isExtra }: Column<Row>): string {
  return `${isNumber === true ? "n" : ""} ${isLong === true ? "long" : ""} ${isExtra === true ? "extra" : ""}`;
}

/** Enter and space on the row itself; what stands in it keeps its own keys. */
function chooseByKey(event: KeyboardEvent, choose: () => void): void {
  if (event.target !== event.currentTarget || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  choose();
}
