// Admission of records to the journal by the room in the agent table and by what their keys may add to
// it. Asked before anything is journaled: what is on record must fit. Most commits cost one look at
// the table's header; only one that may not fit, or a key over its limit, is judged by record.
import { AGENT_ID_BYTES_MAX } from "../../contract/limits.ts";
import type { NewEntries, TableCapacity } from "../../engine/reading.ts";
import { FRAME_KINDS, readFrameKind } from "../../journal/format.ts";
import { decodeFoldedOutcome, createFoldedOutcome } from "../../journal/folded-outcome.ts";
import { NEWCOMERS_PER_HOUR, NewcomerLimits, type NewcomersPerHour } from "./newcomer-limits.ts";
import {
  type PendingRecord,
  VERDICT_NEWCOMERS_LIMITED,
  VERDICT_RECORDED,
  VERDICT_TABLE_FULL,
  VERDICT_DISK_FULL,
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
const BYTES_PER_RESERVED_AGENT = 16_384;
const RESERVED_AGENTS_MAX = 4096;
const RESERVED_ID_BYTES = 128;
/** Most that one assessment adds. */
const ASSESSMENT_ENTRIES: NewEntries = { agents: 1, identifierBytes: ID_BYTES_MAX, pairs: 1 };
/** From this share of the room in use on, the operator is warned; then at each further step. */
export const WARNING_SHARE = 0.8;
const WARNING_SHARE_STEP = 0.05;
/** Looks at the fill while the number of agents doubles. */
const FILL_CHECKS_PER_DOUBLING = 256;

/** Fate of newcomers since the start, and the table's fill. */
export interface AdmissionStatus {
  /** Records refused because the table had no room for them. */
  readonly refusedFull: number;
  /** Records refused because their key had brought enough for the hour. */
  readonly refusedLimited: number;
  readonly keysLimited: number;
}

export class AgentTableAdmission {
  readonly #room: TableCapacity;
  readonly #reservedAgents: number;
  readonly #limits: NewcomerLimits;
  readonly #folded = createFoldedOutcome();
  readonly #neededEntries: NewEntries = { agents: 0, identifierBytes: 0, pairs: 0 };
  #refusedFull = 0;
  #refusedLimited = 0;
  /** Entries of the table before the record that is folded next. */
  #agentsBefore = 0;
  #pairsBefore = 0;
  #warnAtShare = WARNING_SHARE;
  /** Number of agents from which on the fill is looked at again. */
  #nextCheckAgents = 0;

  constructor(room: TableCapacity, limits: NewcomersPerHour = NEWCOMERS_PER_HOUR) {
    this.#room = room;
    this.#reservedAgents = Math.min(
      RESERVED_AGENTS_MAX,
      Math.floor(room.bytesMax / BYTES_PER_RESERVED_AGENT),
    );
    this.#limits = new NewcomerLimits(limits);
  }

  get status(): AdmissionStatus {
    return {
      refusedFull: this.#refusedFull,
      refusedLimited: this.#refusedLimited,
      keysLimited: this.#limits.overLimitCount,
    };
  }

  /** Marks the records of a commit that may not be journaled. */
  markRefused(records: readonly PendingRecord[], nowMs: number): void {
    const isTight = !this.#canAllFit(records);
    if (!isTight && this.#limits.overLimitCount === 0) return;
    const sum = this.#neededEntries;
    sum.agents = this.#reservedAgents;
    sum.identifierBytes = this.#reservedAgents * RESERVED_ID_BYTES;
    sum.pairs = 0;
    for (const record of records) {
      if (record.result.verdict !== VERDICT_RECORDED) continue;
      const verdict = this.#judgeRecord(record, isTight, nowMs);
      record.result.verdict = verdict;
      if (verdict === VERDICT_TABLE_FULL) this.#refusedFull++;
      else if (verdict === VERDICT_NEWCOMERS_LIMITED) this.#refusedLimited++;
    }
  }

  /** Call before the first record of a commit is folded: another table may be live since the last. */
  beginCommit(): void {
    this.#agentsBefore = this.#room.agents;
    this.#pairsBefore = this.#room.pairs;
  }

  /** Call after each record: books what it added to its key. */
  chargeRecord({ sender }: PendingRecord, nowMs: number): void {
    const { agents, pairs } = this.#room;
    if (agents === this.#agentsBefore && pairs === this.#pairsBefore) return;
    if (sender !== 0) {
      this.#limits.charge(sender, agents - this.#agentsBefore, pairs - this.#pairsBefore, nowMs);
    }
    this.#agentsBefore = agents;
    this.#pairsBefore = pairs;
  }

  /**
   * A line for the operator when the table's fill has passed a further step from 80 % on; undefined
   * most of the time. Looks at the fill only once enough agents have come to change it.
   */
  takeFillWarning(): string | undefined {
    const { agents } = this.#room;
    if (agents < this.#nextCheckAgents) return undefined;
    const share = this.#room.computeFillShare();
    // A table so full never gets a hundredth fuller in fewer.
    this.#nextCheckAgents = agents + Math.ceil(agents / FILL_CHECKS_PER_DOUBLING) + 1;
    if (share < this.#warnAtShare) return undefined;
    while (this.#warnAtShare <= share) this.#warnAtShare += WARNING_SHARE_STEP;
    return formatFillWarning(share);
  }

  /** Whether all records fit, whatever is new in them. A frame is longer than its identifiers. */
  #canAllFit(records: readonly PendingRecord[]): boolean {
    let count = 0;
    let bytes = 0;
    for (const { at, end, result } of records) {
      if (result.verdict !== VERDICT_RECORDED) continue;
      count++;
      bytes += end - at;
    }
    if (count === 0) return true;
    const sum = this.#neededEntries;
    sum.agents = this.#reservedAgents + count * AGENTS_PER_OUTCOME;
    sum.identifierBytes = this.#reservedAgents * RESERVED_ID_BYTES + bytes;
    sum.pairs = count * PAIRS_PER_OUTCOME;
    return this.#room.hasCapacityFor(sum);
  }

  #judgeRecord({ run, at, sender }: PendingRecord, isTight: boolean, nowMs: number): number {
    const kind = readFrameKind(run.bytes, at);
    if (kind === FRAME_KINDS.assessment) {
      return !isTight || this.#reserveEntries(ASSESSMENT_ENTRIES)
        ? VERDICT_RECORDED
        : VERDICT_TABLE_FULL;
    }
    if (kind !== FRAME_KINDS.outcome) return VERDICT_RECORDED;
    const isLimited = sender !== 0 && this.#limits.isOverLimit(sender, nowMs);
    if (!isTight && !isLimited) return VERDICT_RECORDED;
    // An outcome that is not the agent's fault is kept and not folded.
    if (!decodeFoldedOutcome(run.bytes, at, this.#folded)) return VERDICT_RECORDED;
    const need = this.#room.estimateNewEntries(this.#folded);
    if (need.agents === 0 && need.pairs === 0) return VERDICT_RECORDED;
    if (isLimited) return VERDICT_NEWCOMERS_LIMITED;
    return this.#reserveEntries(need) ? VERDICT_RECORDED : VERDICT_TABLE_FULL;
  }

  /** Whether these entries fit beside those of the records before; they are added to them then. */
  #reserveEntries(need: Readonly<NewEntries>): boolean {
    const sum = this.#neededEntries;
    sum.agents += need.agents;
    sum.identifierBytes += need.identifierBytes;
    sum.pairs += need.pairs;
    if (this.#room.hasCapacityFor(sum)) return true;
    sum.agents -= need.agents;
    sum.identifierBytes -= need.identifierBytes;
    sum.pairs -= need.pairs;
    return false;
  }
}

/** The same words in the log and in `/readyz`. */
export function formatFillWarning(share: number): string {
  return `agent table ${Math.floor(share * 100)} % full: new agents are refused when it is`;
}

/** What can wait for space, or be missed; a revocation or a promotion must not. */
const BULK_KINDS: ReadonlySet<number> = new Set([
  FRAME_KINDS.outcome,
  FRAME_KINDS.evidence,
  FRAME_KINDS.assessment,
  FRAME_KINDS.provenance,
]);

/** Marks what can wait, while the disk is low. */
export function markBulkRefused(records: readonly PendingRecord[]): void {
  for (const { run, at, result } of records) {
    const isBulk = BULK_KINDS.has(readFrameKind(run.bytes, at));
    if (isBulk && result.verdict === VERDICT_RECORDED) result.verdict = VERDICT_DISK_FULL;
  }
}

const SEND_INTERVAL_MS = 500;

export class AdmissionReport {
  readonly #admission: AgentTableAdmission;
  readonly #send: (status: AdmissionStatus) => void;
  #sent: AdmissionStatus = { refusedFull: 0, refusedLimited: 0, keysLimited: 0 };
  #sentAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(admission: AgentTableAdmission, send: (status: AdmissionStatus) => void) {
    this.#admission = admission;
    this.#send = send;
  }

  /** Call after each commit, with its time. */
  sendIfChanged(nowMs: number): void {
    if (isSameAdmissionStatus(this.#admission.status, this.#sent)) return;
    if (nowMs - this.#sentAtMs < SEND_INTERVAL_MS) {
      // Under load the timer never has its turn; the next commit sends then.
      this.#timer ??= setTimeout(() => this.#sendNow(nowMs + SEND_INTERVAL_MS), SEND_INTERVAL_MS);
    } else this.#sendNow(nowMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #sendNow(nowMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAtMs = nowMs;
    this.#sent = this.#admission.status;
    this.#send(this.#sent);
  }
}

function isSameAdmissionStatus(left: AdmissionStatus, right: AdmissionStatus): boolean {
  return (
    left.refusedFull === right.refusedFull &&
    left.refusedLimited === right.refusedLimited &&
    left.keysLimited === right.keysLimited
  );
}
