// Waiting reviews: the queue beside the evidence on one of them, decided by keys.
import { duration, number, percent } from "../../format.ts";
import { html, useMemo, useRef, useState, type VNode } from "../../html.ts";
import { linkTo, useParameters } from "../../location.ts";
import { AsCurl } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, Figure, Figures, Grid } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, Tag, Text, Time } from "../../parts/words.ts";
import { usePolled } from "../../use-data.ts";
import { Bulk } from "./bulk.ts";
import { type Desk, useDesk } from "./desk.ts";
import { Evidence } from "./evidence.ts";
import { type Entry, inOrder, loadQueue, type Order, ORDERS, Risks } from "./queue.ts";
import { DecisionForm } from "./terms.ts";
import { useWork, type Work } from "./work.ts";

const EVERY_MS = 3000;

export function Waiting(): VNode {
  const [{ kind = "" }] = useParameters();
  // Another kind is another list: nothing of the one before stays marked.
  return html`<${Queue} key=${kind} kind=${kind} />`;
}

function Queue({ kind }: { kind: string }): VNode {
  const [{ order = "risk", id = "" }, set] = useParameters();
  const by: Order = order in ORDERS ? (order as Order) : "risk";
  const [skipped, setSkipped] = useState<ReadonlySet<string>>(new Set());
  const { queue, error, reload } = useQueue(kind);
  const shown = useMemo(() => inOrder(queue ?? [], by, skipped), [queue, by, skipped]);
  if (error !== undefined && queue === undefined) {
    return html`<${Failure} error=${error} onRetry=${reload} />`;
  }
  if (queue === undefined) return html`<${Loading} />`;
  const found = shown.findIndex((entry) => entry.id === id);
  return html`<div>
    <${Sums} entries=${queue} />
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Chosen}
      entries=${shown}
      at=${Math.max(0, found)}
      choose=${(next: string | undefined) => set({ id: next }, true)}
      skip=${(skippedId: string) => setSkipped(new Set([...skipped, skippedId]))}
      reload=${reload}
      filters=${html`<${Filters} kind=${kind} order=${by} set=${set} />`}
      skipped=${skipped}
    />
    <${AsCurl} path=${`/v1/reviews?state=open${kind === "" ? "" : `&kind=${kind}`}`} />
  </div>`;
}

/** The queue, polled; its risks come when they can, and are missing where the key may not ask. */
function useQueue(kind: string) {
  const risks = useRef(new Risks());
  const { value, error, reload } = usePolled(
    async (signal) => {
      const reviews = await loadQueue(kind, signal);
      await risks.current.load(reviews, signal).catch(() => undefined);
      return reviews.map((review): Entry => ({ ...review, risk: risks.current.of(review) }));
    },
    EVERY_MS,
    [kind],
  );
  return { queue: value, error, reload };
}

function Sums({ entries }: { entries: readonly Entry[] }): VNode {
  const callers = entries.reduce((sum, { waiting }) => sum + waiting, 0);
  const oldest = Math.min(...entries.map(({ opened_at: at }) => Date.parse(at)));
  const disputes = entries.filter(({ kind }) => kind === "dispute").length;
  const age = entries.length === 0 ? "–" : duration(Math.max(0, Date.now() - oldest));
  return html`<${Figures}>
    <${Figure}
      label="wait for a person"
      value=${number(entries.length)}
      href=${linkTo("reviews")}
    />
    <${Figure}
      label="callers waiting now"
      value=${number(callers)}
      tone=${callers > 0 ? "warn" : undefined}
      note="told by the decision"
    />
    <${Figure}
      label="disputes"
      value=${number(disputes)}
      href=${linkTo("reviews", { kind: "dispute" })}
    />
    <${Figure} label="oldest" value=${age} href=${linkTo("reviews", { order: "oldest" })} />
  <//>`;
}

interface FiltersProps {
  readonly kind: string;
  readonly order: Order;
  readonly set: (change: Record<string, string | undefined>) => void;
}

function Filters({ kind, order, set }: FiltersProps): VNode {
  const value = (event: Event) => (event.target as HTMLSelectElement).value;
  return html`<div class="tools">
    <label class="small">
      Show${" "}
      <select
        value=${kind}
        onChange=${(event: Event) => set({ kind: value(event), id: undefined })}
      >
        <option value="">all</option>
        <option value="held">held back calls</option>
        <option value="dispute">disputes</option>
      </select>
    </label>
    <label class="small">
      by${" "}
      <select value=${order} onChange=${(event: Event) => set({ order: value(event) })}>
        ${Object.entries(ORDERS).map(([name, label]) => html`<option value=${name}>${label}</option>`)}
      </select>
    </label>
  </div>`;
}

interface ChosenProps {
  readonly entries: readonly Entry[];
  readonly at: number;
  readonly choose: (id: string | undefined) => void;
  readonly skip: (id: string) => void;
  readonly reload: () => void;
  readonly filters: VNode;
  readonly skipped: ReadonlySet<string>;
}

/** The queue with one chosen, and the keys. */
function Chosen(props: ChosenProps): VNode {
  const { filters, skipped } = props;
  const desk = useDesk(props.reload);
  const work = useWork({ ...props, desk });
  const { left, index, marked, mark, forget, terms } = work;
  const many = left.filter(({ id }) => marked.has(id));
  return html`<${Grid}>
    <${Card} title="Waiting" span=${7} tools=${filters}>
      ${
        many.length > 0 &&
        html`<${Bulk} entries=${many} desk=${desk} terms=${terms} onDone=${forget} />`
      }
      <${Table}
        label="reviews that wait"
        columns=${buildWaitingColumns(marked, skipped, mark)}
        rows=${left}
        keyOf=${(row: Entry) => row.id}
        chosen=${index}
        onChoose=${(row: Entry) => props.choose(row.id)}
        empty="Nothing waits. Calls that are held back until a person has looked stand here, and disputes."
      />
      <p class="dim small">
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approve, <kbd>d</kbd> deny, <kbd>c</kbd> claim,
        <kbd>s</kbd> skip, <kbd>n</kbd> note, <kbd>x</kbd> mark, <kbd>u</kbd> undo
      </p>
    <//>
    <${Card} span=${5}>
      ${desk.told !== "" && html`<${Notice} kind="good">${desk.told}<//>`}
      ${desk.error !== undefined && html`<${Failure} error=${desk.error} />`}
      <${One} entry=${left[index]} desk=${desk} work=${work} />
    <//>
  <//>`;
}

interface OneProps {
  readonly entry: Entry | undefined;
  readonly desk: Desk;
  readonly work: Work;
}

/** The chosen one: what to decide, and by what. */
function One({ entry, desk, work }: OneProps): VNode {
  const { acts, terms, setTerms } = work;
  if (entry === undefined) {
    return html`<div>
      <p class="dim">Nothing is chosen.</p>
      <button type="button" disabled=${!desk.canUndo} onClick=${acts.undo}>
        Undo <kbd>u</kbd>
      </button>
    </div>`;
  }
  return html`<div>
    <${DecisionForm} entry=${entry} desk=${desk} terms=${terms} setTerms=${setTerms} acts=${acts} />
    <${Evidence} entry=${entry} />
  </div>`;
}

function buildWaitingColumns(
  marked: ReadonlySet<string>,
  skipped: ReadonlySet<string>,
  mark: (entry: Entry) => void,
): Column<Entry>[] {
  const box = (row: Entry) =>
    html`<input
      type="checkbox"
      aria-label=${`mark ${row.agent} at ${row.level}`}
      checked=${marked.has(row.id)}
      onClick=${(event: Event) => event.stopPropagation()}
      onChange=${(event: Event) => {
        (event.target as HTMLElement).blur();
        mark(row);
      }}
    />`;
  return [
    { label: "mark", cell: box },
    { label: "agent", cell: (row) => html`<${AgentLink} id=${row.agent} />` },
    { label: "what", cell: (row) => html`<${What} row=${row} />` },
    { label: "stakes", isNumber: true, cell: (row) => number(row.stakes_max) },
    { label: "risk", isNumber: true, cell: (row) => percent(row.risk) },
    {
      label: "since",
      cell: (row) => html`<span class="nowrap"><${Time} at=${row.opened_at} as="ago" /></span>`,
    },
    {
      label: "state",
      cell: (row) => html`<${State} row=${row} isSkipped=${skipped.has(row.id)} />`,
    },
  ];
}

function What({ row }: { row: Entry }): VNode {
  const isDispute = row.kind === "dispute";
  const word = isDispute ? `dispute ${row.level}` : row.level;
  return html`<${Tag} word=${word} tone=${isDispute ? "warn" : ""} />`;
}

/** Who waits for it, who is at it. */
function State({ row, isSkipped }: { row: Entry; isSkipped: boolean }): VNode {
  const { waiting, claimed_by: claimedBy } = row;
  return html`<span class="nowrap">
    ${waiting > 0 && html`<span class="warn">${number(waiting)} ${waiting === 1 ? "waits" : "wait"}</span> `}
    ${claimedBy !== null ? html`<${Text} text=${claimedBy} />` : isSkipped && html`<span class="dim">skipped</span>`}
  </span>`;
}
