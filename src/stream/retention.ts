// Retention of the ordered log: kept is what some node has not applied and synced yet, and a margin. What is older
// stands in the journals of all nodes. No node need lead: removing up to the same place twice is harmless.
import { isTick, type OrderedMessage } from "../ledger/ordered/message.ts";
import { listLivingNodes } from "./living-nodes.ts";
import type { LogState, OrderedLog } from "./ordered-log.ts";
import { type ClusterView, compareChains } from "./reports.ts";

/** Nodes that must be there and have the messages: one disk is no second copy. */
const NODES_MIN = 2;
/** Fewest messages that are kept behind the slowest node: each is followed from its last message on. */
export const KEPT_MESSAGES_MIN = 1000;

/** Most ticks that are kept for the sake of the messages before them: four days of three nodes without traffic. */
export const KEPT_TICKS_MAX = 1_000_000;
/** Steps in which messages are counted: what is kept is the margin and at most so many hundredths. */
const STEPS = 100;

/** Places of the log's messages, which its ticks do not count among. Knows those that have passed since the start. */
export class MessagePlaces {
  readonly #step: number;
  #places: number[] = [];
  #counted = 0;
  #newest = 0;

  /** `keep`: messages that are to be counted off behind a place. */
  constructor(keep: number) {
    this.#step = Math.ceil(keep / STEPS);
  }

  /** A message that is no tick; one that has passed before says nothing. */
  add(seq: number): void {
    if (seq <= this.#newest) return;
    this.#newest = seq;
    if (this.#counted++ % this.#step !== 0) return;
    this.#places.push(seq);
    if (this.#places.length > 4 * STEPS) this.#places = this.#places.slice(-2 * STEPS);
  }

  /** The newest place known to have all the margin's messages from it up to `seq`; 0 where none is. */
  findMarginStart(seq: number): number {
    const last = this.#places.findLastIndex((place) => place <= seq);
    return this.#places[last - STEPS] ?? 0;
  }
}

/** Place before which messages may go, or the sentence that says why none may. */
export type TrimDecision =
  | { readonly before: number; readonly slowest: string }
  | { readonly why: string };

export interface TrimOptions {
  /** Messages kept behind the slowest node. */
  readonly keep: number;
  /** Of them, so that ticks do not count; left out: every place counts. */
  readonly places?: MessagePlaces;
  /** Nodes that are gone for good: nobody waits for them. */
  readonly without?: readonly string[];
}

/**
 * By what every node has told in the last seven days, for so long the log keeps reports. One that was away for
 * longer copies the journal of another.
 */
export function computeTrim(
  view: ClusterView,
  { keep, places, without = [] }: TrimOptions,
): TrimDecision {
  const { generation, strangers = [] } = view;
  const stranger = strangers.find((node) => !without.includes(node));
  if (stranger !== undefined)
    return { why: `what node \`${stranger}\` tells is of another release` };
  const reports = view.reports.filter(([node]) => !without.includes(node));
  const former = reports.find(([, report]) => report.generation !== generation);
  if (former !== undefined) {
    const [node, report] = former;
    return { why: `node \`${node}\` follows generation ${report.generation}, not ${generation}` };
  }
  // Of all: a node that is left out may still be right.
  if (compareChains(view.reports, generation).diverged !== undefined) {
    return { why: "journals differ: the log is the evidence" };
  }
  const living = listLivingNodes(view.ages);
  const there = reports.filter(([node]) => living.includes(node));
  if (there.length < NODES_MIN) {
    return { why: `${there.length} of ${NODES_MIN} nodes that must have the messages are there` };
  }
  const [[slowest, { seq }]] = reports.toSorted(([, a], [, b]) => a.seq - b.seq) as [
    (typeof reports)[number],
  ];
  const allBefore = Math.max(0, seq - Math.max(keep, KEPT_MESSAGES_MIN) + 1);
  const marginStart = places?.findMarginStart(seq) ?? allBefore;
  return {
    before: Math.min(allBefore, Math.max(marginStart, allBefore - KEPT_TICKS_MAX)),
    slowest,
  };
}

/** Says what a journal needs that the log no longer has; undefined where it has all of it. */
export function describeMissingMessages(
  { firstSeq, lastSeq }: LogState,
  applied: number,
): string | undefined {
  // A reading begins with the last message applied, where there is a next one to come behind it.
  const isRead = firstSeq > Math.max(1, applied) && lastSeq >= firstSeq;
  const isPast = isRead || firstSeq > applied + 1;
  if (!isPast && lastSeq >= applied) return undefined;
  const advice = isPast
    ? "copy the journal of a node that runs, with `trustrank cluster bootstrap`"
    : "see `trustrank cluster restore`";
  return `the ordered log holds messages ${firstSeq} to ${lastSeq}, and this journal has been applied up to ${applied}: ${advice}`;
}

/** Interval in ms between two looks whether messages may go. */
const CHECK_INTERVAL_MS = 600_000;
/** Share of the margin that is removed at once, and no less: a removal is a message to all servers. */
const TRIM_STEP_SHARE = 0.1;

export interface RetentionOptions {
  readonly log: Pick<OrderedLog, "trim">;
  /** Messages kept behind the slowest node; undefined: none is removed. */
  readonly keep: number | undefined;
  readonly clock: () => number;
  readonly tell: (event: { kind: "note"; event: string; detail: string }) => void;
}

/** A node's part in it: every node does the same. */
export class LogRetention {
  readonly #options: RetentionOptions;
  readonly #places: MessagePlaces;
  #checkedMs: number;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#checkedMs = options.clock();
    this.#places = new MessagePlaces(Math.max(options.keep ?? 0, KEPT_MESSAGES_MIN));
  }

  /** A message has been read from the log. */
  recordMessage(message: OrderedMessage): void {
    if (!isTick(message)) this.#places.add(message.seq);
  }

  /** Removes what may go, by a look at the cluster. @throws StreamUnavailable when no server answers. */
  async trimIfDue(view: ClusterView): Promise<void> {
    const { log, keep, clock, tell } = this.#options;
    const nowMs = clock();
    if (keep === undefined || nowMs - this.#checkedMs < CHECK_INTERVAL_MS) return;
    this.#checkedMs = nowMs;
    const trim = computeTrim(view, { keep, places: this.#places });
    if ("why" in trim || trim.before - view.state.firstSeq < keep * TRIM_STEP_SHARE) return;
    await log.trim(trim.before);
    const detail = `messages before ${trim.before} are removed: every node has them`;
    tell({ kind: "note", event: "stream_trimmed", detail });
  }
}
