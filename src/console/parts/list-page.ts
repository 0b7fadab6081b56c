// Page with one list: filters, the loaded rows, buttons to the next rows, and the request as curl.
import { formatNumber } from "../format.ts";
import { type Children, html, type VNode } from "../html.ts";
import { usePageParameters } from "../location.ts";
import type { LoadedData } from "../use-data.ts";
import { CurlCommand, type CurlCommandProps } from "./actions.ts";
import { renderLoaded } from "./notices.ts";
import { Card, Page } from "./page.ts";
import { Table, type TableProps } from "./table.ts";

interface ListPageProps<Value> {
  readonly title: string;
  readonly lead: string;
  readonly tools?: Children;
  readonly filters: Children;
  readonly data: LoadedData<Value>;
  readonly draw: (value: Value) => Children;
  readonly curl: CurlCommandProps;
  /** Dialogs. */
  readonly children?: Children;
}

export function ListPage<Value>(props: ListPageProps<Value>): VNode {
  const { title, lead, tools, filters, data, draw, curl, children } = props;
  return html`<${Page} title=${title} lead=${lead} tools=${tools}>
    ${filters} ${renderLoaded(data, draw)}
    <${CurlCommand} ...${curl} />
    ${children}
  <//>`;
}

interface ListCardProps<Row> extends TableProps<Row> {
  /** What a row is, in the singular. */
  readonly noun: string;
  /** Rows in all; the drawn ones unless given. */
  readonly count?: number;
  readonly tools?: Children;
  /** Below the table: the pager. */
  readonly children?: Children;
}

/** Card with a table, titled by the number of rows. */
export function ListCard<Row>(props: ListCardProps<Row>): VNode {
  const { noun, count = props.rows.length, tools, children } = props;
  const title = `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
  return html`<${Card} title=${title} tools=${tools}><${Table} ...${props} />${children}<//>`;
}

interface PagerProps {
  /** Parameter of the address with the position in the list. */
  readonly parameter: string;
  /** Position of the next page; none on the last one. */
  readonly next: string | number | null | undefined;
  readonly labels?: readonly [first: string, next: string];
  readonly children?: Children;
}

/** Buttons to the first and to the next page of a list. */
export function Pager(props: PagerProps): VNode {
  const { parameter, next, labels: [first, further] = ["Newest", "Older"], children } = props;
  const [parameters, change] = usePageParameters();
  const go = (position: string | undefined) => change({ [parameter]: position, at: undefined });
  return html`<div class="tools">
    ${parameters[parameter] !== undefined && html`<button type="button" onClick=${() => go(undefined)}>${first}</button>`}
    ${next != null && html`<button type="button" onClick=${() => go(String(next))}>${further}</button>`}
    ${children}
  </div>`;
}
