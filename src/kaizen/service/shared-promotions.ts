// Changes of kaizen's state in a cluster: promotions, rollbacks, evidence that a run has spent. Each goes through
// the log, and holds if the weights that it was made of are live where it stands there, and nothing was changed
// since. Every node comes to the same state, whoever asked first.
import { formatCanonicalJson } from "../../contract/canonical-json.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { KaizenState } from "./files.ts";

export interface SharedChange {
  /** Live with the change; the same as before where a run has kept it. */
  readonly config: ScoringConfig;
  /** Version of the config that must be live. */
  readonly parent: string;
  /** Kaizen's state with the change made. */
  readonly state: KaizenState;
}

export function encodeSharedChange(change: SharedChange): Buffer {
  return Buffer.from(formatCanonicalJson(change));
}

/** The change in a payload of kind `config`; undefined for the config of a service that is alone. */
export function decodeSharedChange(payload: Uint8Array): SharedChange | undefined {
  const document = JSON.parse(Buffer.from(payload).toString()) as Partial<SharedChange>;
  const isChange = document.parent !== undefined && document.state !== undefined;
  return isChange ? (document as SharedChange) : undefined;
}

/**
 * Whether a change was made of that state: it replaces the live weights, is the next of the changes that
 * held, and knows of every promotion and of every one that was taken back. Weights that were live twice do
 * not bring back what was meant for the first time. Records of releases that did not count changes are
 * judged by the rest.
 */
export function isValidAfter(
  { champion, promotions, changes = 0 }: Pick<KaizenState, "champion" | "promotions" | "changes">,
  { parent, state }: Pick<SharedChange, "parent" | "state">,
): boolean {
  if (parent !== champion) return false;
  if (state.changes !== undefined && state.changes !== changes + 1) return false;
  return promotions.every((before, at) => {
    const after = state.promotions[at];
    if (after === undefined) return false;
    const { rolled_back: back, ...promotion } = after;
    // What stood may have been taken back by the change itself.
    const isKnown =
      before.rolled_back === undefined ? promotion : { ...promotion, rolled_back: back };
    return formatCanonicalJson(before) === formatCanonicalJson(isKnown);
  });
}

/** Changes on record that hold, in order. The first one does: releases differ in what they ship. */
export function selectValidChanges(payloads: readonly Uint8Array[]): SharedChange[] {
  const holding: SharedChange[] = [];
  for (const payload of payloads) {
    const change = decodeSharedChange(payload);
    const last = holding.at(-1);
    const isHolding = change && (last === undefined || isValidAfter(last.state, change));
    if (isHolding) holding.push(change);
  }
  return holding;
}

/** Nodes may run different releases for a while. */
export function pickShippedVersion({ shipped }: KaizenState): Pick<KaizenState, "shipped"> {
  return shipped === undefined ? {} : { shipped };
}

/** Changes of other nodes that have arrived and are not made yet. */
export class SharedPromotions {
  /** Payloads of kind `config` at the start, in order. */
  readonly recorded: readonly Uint8Array[];
  #arrived: { readonly lsn: number; readonly change: SharedChange }[] = [];
  /** Called after each arrival. */
  onArrival: () => void = () => undefined;

  constructor(recorded: readonly Uint8Array[]) {
    this.recorded = recorded;
  }

  learn(payload: Uint8Array, lsn: number): void {
    const change = decodeSharedChange(payload);
    if (change === undefined) return;
    this.#arrived.push({ lsn, change });
    this.onArrival();
  }

  /** Takes those before a position of the journal. */
  before(lsn: number): SharedChange[] {
    const due = this.#arrived.filter((each) => each.lsn < lsn);
    this.#arrived = this.#arrived.filter((each) => each.lsn >= lsn);
    return due.map(({ change }) => change);
  }
}
