// Tables: a head, rows with an optional choice among them, and what an empty one says.
import { type Children, html, type VNode } from "../html.ts";
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
}

export interface TableProps<Row> {
  /** Names it for those who do not see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf?: (row: Row, at: number) => string | number;
  /** What an empty one says, and what would fill it. */
  readonly empty?: Children;
  /** Index of the chosen row, and what is called when another is clicked. */
  readonly chosen?: number | undefined;
  readonly onChoose?: (row: Row, at: number) => void;
}

export function Table<Row>(props: TableProps<Row>): VNode {
  const { label, columns, rows, keyOf = (_, at) => at, empty = "Nothing yet.", chosen } = props;
  const { onChoose } = props;
  if (rows.length === 0) return html`<${Empty}>${empty}<//>`;
  const drawn = rows.slice(0, ROWS_DRAWN_MAX);
  const rest = rows.length - drawn.length;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" class=${selectCellClass(column)}>${column.label}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${drawn.map(
          (row, at) =>
            html`<tr
              key=${keyOf(row, at)}
              class=${`${at === chosen ? "chosen" : ""} ${onChoose ? "pick" : ""}`}
              aria-current=${at === chosen ? "true" : undefined}
              tabindex=${onChoose && "0"}
              onClick=${onChoose && (() => onChoose(row, at))}
              onKeyDown=${onChoose && ((event: KeyboardEvent) => chooseByKey(event, () => onChoose(row, at)))}
            >
              ${columns.map((column) => html`<td class=${selectCellClass(column)}>${column.cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
    ${rest > 0 && html`<p class="dim">${formatNumber(rest)} more rows are not drawn.</p>`}
  </div>`;
}

function selectCellClass<Row>({ isNumber, isLong }: Column<Row>): string {
  return `${isNumber === true ? "n" : ""} ${isLong === true ? "long" : ""}`;
}

/** Enter and space on the row itself; what stands in it keeps its own keys. */
function chooseByKey(event: KeyboardEvent, choose: () => void): void {
  if (event.target !== event.currentTarget || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  choose();
}
