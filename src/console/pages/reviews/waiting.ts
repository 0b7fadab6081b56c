// Waiting reviews: the queue beside the evidence on one of them, decided by keys. On narrow screens one of both is
// shown, with the buttons at the bottom edge.
import { formatDuration, formatNumber, formatPercent } from "../../format.ts";
import { html, readInputValue, useMemo, useRef, useState, type VNode } from "../../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Grid } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, Tag, UntrustedText, Time } from "../../parts/words.ts";
import { usePolledData } from "../../use-data.ts";
import { BulkDecision, DecisionBar, DecisionTermsForm } from "./decision-form.ts";
import { type ReviewActions, useReviewActions } from "./review-actions.ts";
import { ReviewEvidence } from "./evidence.ts";
import {
  QUEUE_PAGE_ROWS,
  type QueuedReviewWithRisk,
  sortQueue,
  loadQueue,
  type QueueOrder,
  QUEUE_ORDER_LABELS,
  ReviewRisks,
  useQueueSelection,
  type QueueSelection,
} from "./queue.ts";

const EVERY_MS = 3000;
/** The same for a queue of several pages. */
const EVERY_MS_LONG = 15_000;
/** Screens on which the queue and a review do not fit side by side, as in the style sheet. */
const NARROW = "(max-width: 1000px)";

export function WaitingReviews(): VNode {
  const [{ kind = "" }] = usePageParameters();
  // Another kind is another list: nothing of the one before stays marked.
  return html`<${ReviewQueueView} key=${kind} kind=${kind} />`;
}

function ReviewQueueView({ kind }: { kind: string }): VNode {
  const [{ order = "risk", id = "" }, set] = usePageParameters();
  const by: QueueOrder = order in QUEUE_ORDER_LABELS ? (order as QueueOrder) : "risk";
  const [skipped, setSkipped] = useState<ReadonlySet<string>>(new Set());
  const { queue, error, reload } = usePolledQueue(kind);
  const shown = useMemo(() => sortQueue(queue ?? [], by, skipped), [queue, by, skipped]);
  if (error !== undefined && queue === undefined) {
    return html`<${Failure} error=${error} onRetry=${reload} />`;
  }
  if (queue === undefined) return html`<${Loading} />`;
  const isOpen = id !== "";
  return html`<div class=${`queue ${isOpen ? "is-open" : ""}`}>
    <${QueueMetrics} entries=${queue} />
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${QueueAndSelection}
      entries=${shown}
      named=${id}
      choose=${(next: string | undefined) => set({ id: next }, true)}
      open=${(next: string) => set({ id: next }, isOpen || !matchMedia(NARROW).matches)}
      skip=${(skippedId: string) => setSkipped(new Set([...skipped, skippedId]))}
      reload=${reload}
      filters=${html`<${QueueFilters} kind=${kind} order=${by} set=${set} />`}
      skipped=${skipped}
    />
    <${CurlCommand} path=${`/v1/reviews?state=open${kind === "" ? "" : `&kind=${kind}`}`} />
  </div>`;
}

/** The queue, polled; its risks come when they can, and are missing where the key may not ask. */
function usePolledQueue(kind: string) {
  const risks = useRef(new ReviewRisks());
  const [isLong, setIsLong] = useState(false);
  const { value, error, reload } = usePolledData(
    async (signal) => {
      const reviews = await loadQueue(kind, signal);
      setIsLong(reviews.length > QUEUE_PAGE_ROWS);
      await risks.current.load(reviews, signal).catch(() => undefined);
      return reviews.map((review): QueuedReviewWithRisk => ({
        ...review,
        risk: risks.current.find(review),
      }));
    },
    isLong ? EVERY_MS_LONG : EVERY_MS,
    [kind],
  );
  return { queue: value, error, reload };
}

function QueueMetrics({ entries }: { entries: readonly QueuedReviewWithRisk[] }): VNode {
  const callers = entries.reduce((sum, { waiting }) => sum + waiting, 0);
  const oldest = Math.min(...entries.map(({ opened_at: at }) => Date.parse(at)));
  const disputes = entries.filter(({ kind }) => kind === "dispute").length;
  const age = entries.length === 0 ? "–" : formatDuration(Math.max(0, Date.now() - oldest));
  return html`<${MetricTiles}>
    <${MetricTile}
      label="wait for a person"
      value=${formatNumber(entries.length)}
      href=${linkTo("reviews")}
    />
    <${MetricTile}
      label="callers waiting now"
      value=${formatNumber(callers)}
      tone=${callers > 0 ? "warn" : undefined}
      note="told by the decision"
    />
    <${MetricTile}
      label="disputes"
      value=${formatNumber(disputes)}
      href=${linkTo("reviews", { kind: "dispute" })}
    />
    <${MetricTile} label="oldest" value=${age} href=${linkTo("reviews", { order: "oldest" })} />
  <//>`;
}

interface QueueFiltersProps {
  readonly kind: string;
  readonly order: QueueOrder;
  readonly set: (change: Record<string, string | undefined>) => void;
}

function QueueFilters({ kind, order, set }: QueueFiltersProps): VNode {
  const value = (event: Event) => readInputValue(event);
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
        ${Object.entries(QUEUE_ORDER_LABELS).map(([name, label]) => html`<option value=${name}>${label}</option>`)}
      </select>
    </label>
  </div>`;
}

interface QueueAndSelectionProps {
  readonly entries: readonly QueuedReviewWithRisk[];
  readonly named: string;
  readonly choose: (id: string | undefined) => void;
  /** Chooses a row that was clicked; on a narrow screen the way back leads to the queue. */
  readonly open: (id: string) => void;
  readonly skip: (id: string) => void;
  readonly reload: () => void;
  readonly filters: VNode;
  readonly skipped: ReadonlySet<string>;
}

/** The queue with one chosen, and the keys. */
function QueueAndSelection(props: QueueAndSelectionProps): VNode {
  const { filters, skipped } = props;
  const [parameters] = usePageParameters();
  const actions = useReviewActions(props.reload);
  const selection = useQueueSelection({ ...props, actions });
  const { left, index, marked, mark, forget, terms } = selection;
  const many = left.filter(({ id }) => marked.has(id));
  return html`<${Grid}>
    <div class="span-7 queue-list">
      <${Card} title="Waiting" tools=${filters}>
        ${
          many.length > 0 &&
          html`<${BulkDecision}
            entries=${many}
            actions=${actions}
            terms=${terms}
            onDone=${forget}
          />`
        }
        <${Table}
          label="reviews that wait"
          columns=${buildWaitingColumns({ marked, skipped, mark, parameters })}
          rows=${left}
          keyOf=${(row: QueuedReviewWithRisk) => row.id}
          chosen=${index}
          onChoose=${(row: QueuedReviewWithRisk) => props.open(row.id)}
          empty=${EMPTY}
        />
        <p class="dim small keys-hint">
          <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approve, <kbd>d</kbd> deny,
          <kbd>c</kbd> claim, <kbd>s</kbd> skip, <kbd>n</kbd> note, <kbd>x</kbd> mark,
          <kbd>u</kbd> undo
        </p>
      <//>
    </div>
    <div class="span-5 queue-detail">
      <${SelectedReview}
        entry=${left[index]}
        isGone=${index < 0}
        actions=${actions}
        selection=${selection}
      />
    </div>
  <//>`;
}

const EMPTY =
  "Nothing waits. Calls held for a person and disputes show here; agent://test/escalate opens one to try it with.";

interface SelectedReviewProps {
  readonly entry: QueuedReviewWithRisk | undefined;
  /** The review that the address names is not in the queue. */
  readonly isGone: boolean;
  readonly actions: ReviewActions;
  readonly selection: QueueSelection;
}

/** The chosen one: what to decide, and by what. */
function SelectedReview({ entry, isGone, actions, selection }: SelectedReviewProps): VNode {
  const { handlers, terms, setTerms } = selection;
  const [parameters] = usePageParameters();
  return html`<a class="button back" href=${linkTo("reviews", { ...parameters, id: undefined })}>
      ← All reviews
    </a>
    <${DecisionBar} entry=${entry} actions=${actions} handlers=${handlers} />
    ${isGone && html`<${Notice}>This review is not open any more: choose another one.<//>`}
    ${
      entry !== undefined &&
      html`<${Card}>
        <${DecisionTermsForm}
          entry=${entry}
          actions=${actions}
          terms=${terms}
          setTerms=${setTerms}
        />
        <${ReviewEvidence} entry=${entry} />
      <//>`
    }`;
}

interface WaitingColumnsOptions {
  readonly marked: ReadonlySet<string>;
  readonly skipped: ReadonlySet<string>;
  readonly mark: (entry: QueuedReviewWithRisk) => void;
  readonly parameters: PageParameters;
}

function buildWaitingColumns({
  marked,
  skipped,
  mark,
  parameters,
}: WaitingColumnsOptions): Column<QueuedReviewWithRisk>[] {
  const box = (row: QueuedReviewWithRisk) =>
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
    { label: "mark", isExtra: true, cell: box },
    {
      label: "agent",
      cell: (row) => {
        const href = linkTo("reviews", { ...parameters, id: row.id });
        return html`<${AgentLink} id=${row.agent} href=${href} />`;
      },
    },
    { label: "what", cell: (row) => html`<${KindTag} row=${row} />` },
    { label: "stakes", isNumber: true, cell: (row) => formatNumber(row.stakes_max) },
    { label: "risk", isNumber: true, cell: (row) => formatPercent(row.risk) },
    {
      label: "since",
      isExtra: true,
      cell: (row) => html`<span class="nowrap"><${Time} at=${row.opened_at} as="ago" /></span>`,
    },
    {
      label: "state",
      cell: (row) => html`<${ReviewStateCell} row=${row} isSkipped=${skipped.has(row.id)} />`,
    },
  ];
}

function KindTag({ row }: { row: QueuedReviewWithRisk }): VNode {
  const isDispute = row.kind === "dispute";
  const word = isDispute ? `dispute ${row.level}` : row.level;
  return html`<${Tag} word=${word} tone=${isDispute ? "warn" : ""} />`;
}

/** Who waits for it, who is at it. */
function ReviewStateCell({
  row,
  isSkipped,
}: {
  row: QueuedReviewWithRisk;
  isSkipped: boolean;
}): VNode {
  const { waiting, claimed_by: claimedBy } = row;
  return html`<span class="nowrap">
    ${waiting > 0 && html`<span class="warn">${formatNumber(waiting)} ${waiting === 1 ? "waits" : "wait"}</span> `}
    ${claimedBy !== null ? html`<${UntrustedText} text=${claimedBy} />` : isSkipped && html`<span class="dim">skipped</span>`}
  </span>`;
}
