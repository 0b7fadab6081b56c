// The newest changes as one HTTP thread knows them, serialized once. The main thread announces them to every
// thread in the same order; positions before the oldest kept change are gone.
import {
  formatChangePosition,
  parseChangePosition,
} from "../../contract/parse/change-positions.ts";
import { ServiceFault } from "../../contract/faults.ts";

/** Changes kept for followers that resume. */
export const CHANGES_KEPT_MAX = 4096;

/** A change in force on this node. */
export interface AnnouncedChange {
  /** Journal position. */
  readonly position: number;
  /** Null: every tenant reads it. */
  readonly tenant: string | null;
  /** The message `Change` as JSON. */
  readonly json: string;
}

/** What the main thread sends to every HTTP thread: new changes, or none each second. */
export interface ChangeNews {
  /** Name of the journal in positions, 8 hexadecimal digits. */
  readonly journal: string;
  /** In order of position; may be older than changes announced before. */
  readonly changes: readonly AnnouncedChange[];
  /** All changes up to this position are announced. */
  readonly head: number;
  /** Of the first news: the position after which all changes are in it. */
  readonly from?: number;
}

export class ChangeLog {
  #journal = "";
  #head = 0;
  /** Followers may resume from this position on. */
  #oldest = 0;
  #kept: AnnouncedChange[] = [];
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves with the first news. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Applies news; returns the changes in it. */
  apply({ journal, changes, head, from }: ChangeNews): readonly AnnouncedChange[] {
    this.#journal = journal;
    this.#head = Math.max(this.#head, head);
    if (from !== undefined) this.#oldest = from;
    for (const change of changes) this.#keep(change);
    const excess = this.#kept.length - CHANGES_KEPT_MAX;
    if (excess > 0) this.#oldest = this.#kept.splice(0, excess).at(-1)!.position;
    if (from !== undefined) this.#opened.resolve();
    return changes;
  }

  /** Position up to which all changes are announced. */
  get head(): number {
    return this.#head;
  }

  /** Text of a position. */
  formatPosition(position: number): string {
    return formatChangePosition(this.#journal, position);
  }

  /**
   * The position that a follower resumes from; the newest where it names none.
   * @throws ServiceFault `invalid_parameter`, `change_position_gone`.
   */
  resolvePosition(since: string | null): number {
    if (since === null) return this.#head;
    const { journal, position } = parseChangePosition(since);
    if (journal === this.#journal && position >= this.#oldest && position <= this.#head)
      return position;
    const detail = "drop all cached verdicts, then follow again without `since`";
    throw new ServiceFault("change_position_gone", detail);
  }

  /** Changes after a position that a tenant reads, in order of position; at most `countMax`. */
  read(
    after: number,
    tenant: string,
    countMax: number,
  ): { changes: AnnouncedChange[]; end: number } {
    const changes: AnnouncedChange[] = [];
    let end = this.#head;
    for (const change of this.#kept) {
      if (change.position <= after) continue;
      if (change.tenant !== null && change.tenant !== tenant) continue;
      if (changes.length === countMax) {
        end = Math.min(end, changes.at(-1)!.position);
        break;
      }
      changes.push(change);
    }
    return { changes, end };
  }

  #keep(change: AnnouncedChange): void {
    const last = this.#kept.at(-1);
    this.#kept.push(change);
    if (last === undefined || last.position <= change.position) return;
    // Its effect came after that of a later one.
    this.#kept.sort((left, right) => left.position - right.position);
  }
}
