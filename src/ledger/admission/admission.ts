// Admission of records to the journal by the room in the agent table and by what their keys may add to
// it. Asked before anything is journaled: what is on record must fit. Most commits cost one look at
// the table's header; only one that may not fit, or a key over its limit, is judged by record.
import { AGENT_ID_BYTES_MAX } from "../../contract/limits.ts";
import type { NewEntries, TableRoom } from "../../engine/reading.ts";
import { FRAME_KINDS, frameKind } from "../../journal/format.ts";
import { decodeFold, emptyFold } from "../../journal/folded-outcome.ts";
import { NEWCOMERS_PER_HOUR, NewcomerLimits, type NewcomersPerHour } from "./newcomer-limits.ts";
import {
  type Pending,
  VERDICT_NEWCOMERS,
  VERDICT_RECORDED,
  VERDICT_TABLE_FULL,
  VERDICT_UNAVAILABLE,
} from "../replay-guard.ts";

/** Bytes of the longest identifier, and of the mark before plain text. */
const ID_BYTES_MAX = AGENT_ID_BYTES_MAX + 6;
/** Most that one outcome adds to the table. */
const AGENTS_PER_OUTCOME = 2;
const PAIRS_PER_OUTCOME = 3;
/**
 * Agents that are kept room for: marks of revoked keys and standings are never refused. One in so
 * many bytes of the table, up to a bound.
 */
const RESERVED_PER_BYTES = 16_384;
const RESERVED_MAX = 4096;
const RESERVED_ID_BYTES = 128;
/** Most that one assessment adds. */
const ASSESSED: NewEntries = { agents: 1, identifierBytes: ID_BYTES_MAX, pairs: 1 };
/** From this share of the room in use on, the operator is warned; then at each further step. */
export const WARNING_FROM = 0.8;
const WARNING_STEP = 0.05;
/** Looks at the fill while the number of agents doubles. */
const LOOKS = 256;

/** Fate of newcomers since the start, and the table's fill. */
export interface AdmissionStatus {
  /** Records refused because the table had no room for them. */
  readonly refusedFull: number;
  /** Records refused because their key had brought enough for the hour. */
  readonly refusedLimited: number;
  readonly keysLimited: number;
}

export class Admission {
  readonly #room: TableRoom;
  readonly #reserved: number;
  readonly #limits: NewcomerLimits;
  readonly #folded = emptyFold();
  readonly #sum: NewEntries = { agents: 0, identifierBytes: 0, pairs: 0 };
  #refusedFull = 0;
  #refusedLimited = 0;
  /** Entries of the table before the record that is folded next. */
  #agents = 0;
  #pairs = 0;
  #warnAt = WARNING_FROM;
  /** Number of agents from which on the fill is looked at again. */
  #lookAt = 0;

  constructor(room: TableRoom, limits: NewcomersPerHour = NEWCOMERS_PER_HOUR) {
    this.#room = room;
    this.#reserved = Math.min(RESERVED_MAX, Math.floor(room.bytesMax / RESERVED_PER_BYTES));
    this.#limits = new NewcomerLimits(limits);
  }

  get status(): AdmissionStatus {
    return {
      refusedFull: this.#refusedFull,
      refusedLimited: this.#refusedLimited,
      keysLimited: this.#limits.overCount,
    };
  }

  /** Marks the records of a commit that may not be journaled. */
  refuse(records: readonly Pending[], nowMs: number): void {
    const isTight = !this.#mayAllFit(records);
    if (!isTight && this.#limits.overCount === 0) return;
    const sum = this.#sum;
    sum.agents = this.#reserved;
    sum.identifierBytes = this.#reserved * RESERVED_ID_BYTES;
    sum.pairs = 0;
    for (const record of records) {
      if (record.result.verdict !== VERDICT_RECORDED) continue;
      const verdict = this.#verdictOn(record, isTight, nowMs);
      record.result.verdict = verdict;
      if (verdict === VERDICT_TABLE_FULL) this.#refusedFull++;
      else if (verdict === VERDICT_NEWCOMERS) this.#refusedLimited++;
    }
  }

  /** Call before the first record of a commit is folded: another table may be live since the last. */
  begin(): void {
    this.#agents = this.#room.agents;
    this.#pairs = this.#room.pairs;
  }

  /** Call after each record: books what it added to its key. */
  book({ sender }: Pending, nowMs: number): void {
    const { agents, pairs } = this.#room;
    if (agents === this.#agents && pairs === this.#pairs) return;
    if (sender !== 0) {
      this.#limits.charge(sender, agents - this.#agents, pairs - this.#pairs, nowMs);
    }
    this.#agents = agents;
    this.#pairs = pairs;
  }

  /**
   * A line for the operator when the table's fill has passed a further step from 80 % on; undefined
   * most of the time. Looks at the fill only once enough agents have come to change it.
   */
  warning(): string | undefined {
    const { agents } = this.#room;
    if (agents < this.#lookAt) return undefined;
    const share = this.#room.share();
    // A table so full never gets a hundredth fuller in fewer.
    this.#lookAt = agents + Math.ceil(agents / LOOKS) + 1;
    if (share < this.#warnAt) return undefined;
    while (this.#warnAt <= share) this.#warnAt += WARNING_STEP;
    return fillWarning(share);
  }

  /** Whether all records fit, whatever is new in them. A frame is longer than its identifiers. */
  #mayAllFit(records: readonly Pending[]): boolean {
    let count = 0;
    let bytes = 0;
    for (const { at, end, result } of records) {
      if (result.verdict !== VERDICT_RECORDED) continue;
      count++;
      bytes += end - at;
    }
    if (count === 0) return true;
    const sum = this.#sum;
    sum.agents = this.#reserved + count * AGENTS_PER_OUTCOME;
    sum.identifierBytes = this.#reserved * RESERVED_ID_BYTES + bytes;
    sum.pairs = count * PAIRS_PER_OUTCOME;
    return this.#room.hasRoomFor(sum);
  }

  #verdictOn({ run, at, sender }: Pending, isTight: boolean, nowMs: number): number {
    const kind = frameKind(run.bytes, at);
    if (kind === FRAME_KINDS.assessment) {
      return !isTight || this.#takes(ASSESSED) ? VERDICT_RECORDED : VERDICT_TABLE_FULL;
    }
    if (kind !== FRAME_KINDS.outcome) return VERDICT_RECORDED;
    const isLimited = sender !== 0 && this.#limits.isOver(sender, nowMs);
    if (!isTight && !isLimited) return VERDICT_RECORDED;
    // An outcome that is not the agent's fault is kept and not folded.
    if (!decodeFold(run.bytes, at, this.#folded)) return VERDICT_RECORDED;
    const need = this.#room.needOf(this.#folded);
    if (need.agents === 0 && need.pairs === 0) return VERDICT_RECORDED;
    if (isLimited) return VERDICT_NEWCOMERS;
    return this.#takes(need) ? VERDICT_RECORDED : VERDICT_TABLE_FULL;
  }

  /** Whether these entries fit beside those of the records before; they are added to them then. */
  #takes(need: Readonly<NewEntries>): boolean {
    const sum = this.#sum;
    sum.agents += need.agents;
    sum.identifierBytes += need.identifierBytes;
    sum.pairs += need.pairs;
    if (this.#room.hasRoomFor(sum)) return true;
    sum.agents -= need.agents;
    sum.identifierBytes -= need.identifierBytes;
    sum.pairs -= need.pairs;
    return false;
  }
}

/** The same words in the log and in `/readyz`. */
export function fillWarning(share: number): string {
  return `agent table ${Math.floor(share * 100)} % full: new agents are refused when it is`;
}

/** What can wait for space, or be missed; a revocation or a promotion must not. */
const BULK_KINDS: ReadonlySet<number> = new Set([
  FRAME_KINDS.outcome,
  FRAME_KINDS.evidence,
  FRAME_KINDS.assessment,
]);

/** Marks what can wait, while the disk is low. */
export function refuseBulk(records: readonly Pending[]): void {
  for (const { run, at, result } of records) {
    const isBulk = BULK_KINDS.has(frameKind(run.bytes, at));
    if (isBulk && result.verdict === VERDICT_RECORDED) result.verdict = VERDICT_UNAVAILABLE;
  }
}
