// Exact counts of one thread's decisions in shared memory, by minute and by what a decision was: written where the
// decision is made, collected by the store thread at any time. A slot holds one minute of one key. The writer opens
// and closes slots, the reader frees closed ones once their counts are on disk; no locks, nothing is dropped.
import { DECISION_KINDS, NOT_APPLICABLE, type DecisionEntry } from "../../contract/decisions.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import { MINUTE_MS } from "../../contract/units.ts";
import type { DecisionCount } from "./counts.ts";

//    0 | state u32 | code u32 | bytes of the text u32 | decisions u32 | not recorded u32 |
//   20 | decisions u32, not recorded u32: as far as they are on disk |
//   28 | of the first slot: 1 when few slots are free u32 |
//   32 | sum of stakes f64 | the same as far as it is on disk f64 | minute f64, epoch ms |
//   56 | JSON: tenant, rule, config, policy |
const SLOT_BYTES = 320;
/** Slots of a thread; keys beyond them share the first slot, which names nothing. */
export const COUNT_SLOTS_MAX = 4096;
/** Below so many free slots the reader is asked to collect at once. */
const FREE_SLOTS_LOW = (COUNT_SLOTS_MAX * 3) / 4;
/** A minute begins only while so many slots are free: counts that wait for the disk share one until then. */
const FREE_SLOTS_MIN = COUNT_SLOTS_MAX / 4;
export const COUNT_SLOTS_BYTES = SLOT_BYTES * COUNT_SLOTS_MAX;

const FREE = 0;
const OPEN = 1;
const CLOSED = 2;

const CODE = 1;
const TEXT_BYTES = 2;
const DECISION_COUNT = 3;
const NOT_RECORDED = 4;
const STORED_DECISIONS = 5;
const STORED_NOT_RECORDED = 6;
const ARE_FEW_FREE = 7;
const STAKES_SUM = 4;
const STORED_STAKES = 5;
const MINUTE_AT = 6;
const OFFSET_TEXT = 56;

const WORDS = SLOT_BYTES / 4;
const DOUBLES = SLOT_BYTES / 8;

interface CountViews {
  readonly words: Uint32Array;
  readonly doubles: Float64Array;
  readonly bytes: Buffer;
}

function createCountViews(memory: SharedArrayBuffer, offset: number): CountViews {
  return {
    words: new Uint32Array(memory, offset, COUNT_SLOTS_BYTES / 4),
    doubles: new Float64Array(memory, offset, COUNT_SLOTS_BYTES / 8),
    bytes: Buffer.from(memory as unknown as ArrayBuffer, offset, COUNT_SLOTS_BYTES),
  };
}

/** A slot as its writer finds it again. */
interface OpenSlot {
  readonly slot: number;
  readonly logReason: string;
  readonly configVersion: string;
  readonly policyVersion: string;
  readonly next: OpenSlot | undefined;
}

/** Kind, level, result and marks in one number. */
function encodeCountCode(entry: DecisionEntry): number {
  const result = entry.verdictIndex === NOT_APPLICABLE ? entry.decisionIndex : entry.verdictIndex;
  return (
    entry.kindIndex |
    ((entry.toolLevelIndex & 7) << 2) |
    (result << 5) |
    (entry.isAllowed ? 256 : 0) |
    (entry.isEnforced ? 512 : 0)
  );
}

function isOfSlot(open: OpenSlot, entry: DecisionEntry): boolean {
  return (
    open.logReason === entry.logReason &&
    open.configVersion === entry.configVersion &&
    open.policyVersion === entry.policyVersion
  );
}

/** The writing end; one per thread. */
export class DecisionCounter {
  readonly #views: CountViews;
  #minute = Number.NEGATIVE_INFINITY;
  #triedMinute = Number.NEGATIVE_INFINITY;
  readonly #slotsByTenant = new Map<string, Map<number, OpenSlot>>();
  readonly #openSlots: number[] = [];
  #nextSlot = 1;
  /** Of the last decision counted, where it has a slot of its own. */
  #last: OpenSlot | undefined;
  #lastCode = 0;
  #lastTenant = "";
  /** Whether no slot was free in this minute: it is not looked again until the next. */
  #areAllTaken = false;

  constructor(memory: SharedArrayBuffer, offset: number) {
    this.#views = createCountViews(memory, offset);
    // Those of a thread that died and whose memory this one takes over.
    for (let slot = 1; slot < COUNT_SLOTS_MAX; slot += 1) {
      const at = slot * WORDS;
      if (Atomics.load(this.#views.words, at) === OPEN)
        Atomics.store(this.#views.words, at, CLOSED);
    }
    Atomics.store(this.#views.words, 0, OPEN);
  }

  /** Counts a decision: of a handshake its first leg. */
  count(entry: DecisionEntry, isRecorded: boolean): void {
    if (entry.legIndex !== 0) return;
    const minute = Math.floor(entry.evaluatedAtMs / MINUTE_MS);
    if (minute !== this.#minute) this.#beginMinute(minute);
    const slot = this.#findSlot(entry);
    const { words, doubles } = this.#views;
    // Only this thread writes them.
    doubles[slot * DOUBLES + STAKES_SUM]! += entry.stakes;
    words[slot * WORDS + DECISION_COUNT]! += 1;
    if (!isRecorded) words[slot * WORDS + NOT_RECORDED]! += 1;
  }

  #findSlot(entry: DecisionEntry): number {
    const code = encodeCountCode(entry);
    const { tenant } = entry.principal;
    const last = this.#last;
    // Most decisions are like the one before.
    if (last !== undefined && code === this.#lastCode && tenant === this.#lastTenant) {
      if (isOfSlot(last, entry)) return last.slot;
    }
    const first = this.#slotsByTenant.get(tenant)?.get(code);
    for (let each = first; each !== undefined; each = each.next) {
      if (!isOfSlot(each, entry)) continue;
      this.#last = each;
      this.#lastCode = code;
      this.#lastTenant = tenant;
      return each.slot;
    }
    return this.#openSlot(entry, code, first);
  }

  #openSlot(entry: DecisionEntry, code: number, next: OpenSlot | undefined): number {
    const { logReason, configVersion, policyVersion } = entry;
    const { tenant } = entry.principal;
    const slot = this.#claimSlot(code, [tenant, logReason, configVersion, policyVersion]);
    const slots = this.#slotsByTenant.get(tenant) ?? new Map<number, OpenSlot>();
    this.#slotsByTenant.set(tenant, slots);
    if (slot !== 0) {
      slots.set(code, { slot, logReason, configVersion, policyVersion, next });
      this.#openSlots.push(slot);
    }
    return slot;
  }

  /** 0, the slot that names nothing, where none is free or the texts are too long. */
  #claimSlot(code: number, texts: readonly string[]): number {
    const { words, doubles, bytes } = this.#views;
    const text = Buffer.from(JSON.stringify(texts));
    if (this.#areAllTaken || text.byteLength > SLOT_BYTES - OFFSET_TEXT) return 0;
    for (let tried = 1; tried < COUNT_SLOTS_MAX; tried += 1) {
      const slot = this.#nextSlot;
      this.#nextSlot = slot + 1 < COUNT_SLOTS_MAX ? slot + 1 : 1;
      const at = slot * WORDS;
      if (Atomics.load(words, at) !== FREE) continue;
      words.fill(0, at, at + WORDS);
      words[at + CODE] = code;
      words[at + TEXT_BYTES] = text.byteLength;
      doubles[slot * DOUBLES + MINUTE_AT] = this.#minute * MINUTE_MS;
      text.copy(bytes, slot * SLOT_BYTES + OFFSET_TEXT);
      Atomics.store(words, at, OPEN);
      return slot;
    }
    this.#areAllTaken = true;
    return 0;
  }

  /** Closes all slots, unless too many wait for the disk: then counts go on in the minute before. */
  #beginMinute(minute: number): void {
    if (minute === this.#triedMinute) return;
    this.#triedMinute = minute;
    this.#areAllTaken = false;
    const { words } = this.#views;
    let freeCount = 0;
    for (let slot = 1; slot < COUNT_SLOTS_MAX; slot += 1) {
      if (Atomics.load(words, slot * WORDS) === FREE) freeCount += 1;
    }
    if (freeCount < FREE_SLOTS_LOW) Atomics.store(words, ARE_FEW_FREE, 1);
    if (freeCount < FREE_SLOTS_MIN && this.#openSlots.length > 0) return;
    for (const slot of this.#openSlots) Atomics.store(words, slot * WORDS, CLOSED);
    this.#openSlots.length = 0;
    this.#slotsByTenant.clear();
    this.#last = undefined;
    this.#minute = minute;
  }
}

/** Counts that were collected; `commit` is called once they are on disk. */
interface CollectedCounts {
  readonly counts: DecisionCount[];
  readonly commit: () => void;
}

/** The reading end. */
export class DecisionCountReader {
  readonly #views: CountViews;

  constructor(memory: SharedArrayBuffer, offset: number) {
    this.#views = createCountViews(memory, offset);
  }

  /** Whether the writer is short of slots. */
  get isUrgent(): boolean {
    return Atomics.load(this.#views.words, ARE_FEW_FREE) === 1;
  }

  /** Whether something was counted that is not on disk. */
  hasCounts(): boolean {
    const { words } = this.#views;
    for (let at = 0; at < words.length; at += WORDS) {
      const isUsed = Atomics.load(words, at) !== FREE;
      if (isUsed && Atomics.load(words, at + DECISION_COUNT) !== words[at + STORED_DECISIONS]!)
        return true;
    }
    return false;
  }

  /** What was counted and is not on disk. `nowMs` (epoch ms) dates the counts that name nothing. */
  collect(nowMs: number): CollectedCounts {
    const { words } = this.#views;
    const counts: DecisionCount[] = [];
    const commits: (() => void)[] = [];
    for (let slot = 0; slot < COUNT_SLOTS_MAX; slot += 1) {
      const at = slot * WORDS;
      // The state first: a closed slot's counts are final.
      const state = Atomics.load(words, at);
      if (state === FREE) continue;
      const decisions = Atomics.load(words, at + DECISION_COUNT);
      if (decisions !== words[at + STORED_DECISIONS]!) {
        commits.push(this.#collectSlot(slot, decisions, counts, nowMs));
      }
      if (state === CLOSED) commits.push(() => Atomics.store(words, at, FREE));
    }
    const commit = () => {
      Atomics.store(words, ARE_FEW_FREE, 0);
      for (const each of commits) each();
    };
    return { counts, commit };
  }

  #collectSlot(slot: number, decisions: number, counts: DecisionCount[], nowMs: number) {
    const { words, doubles } = this.#views;
    const at = slot * WORDS;
    const stakesAt = slot * DOUBLES;
    const notRecorded = Atomics.load(words, at + NOT_RECORDED);
    const stakes = doubles[stakesAt + STAKES_SUM]!;
    counts.push({
      ...this.#readKey(slot, nowMs),
      decisions: (decisions - words[at + STORED_DECISIONS]!) >>> 0,
      notRecorded: (notRecorded - words[at + STORED_NOT_RECORDED]!) >>> 0,
      stakesTotal: stakes - doubles[stakesAt + STORED_STAKES]!,
    });
    return () => {
      words[at + STORED_DECISIONS] = decisions;
      words[at + STORED_NOT_RECORDED] = notRecorded;
      doubles[stakesAt + STORED_STAKES] = stakes;
    };
  }

  #readKey(slot: number, nowMs: number) {
    if (slot === 0) {
      const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
      return { minuteMs, ...UNNAMED };
    }
    const { words, doubles, bytes } = this.#views;
    const code = words[slot * WORDS + CODE]!;
    const textAt = slot * SLOT_BYTES + OFFSET_TEXT;
    const text = bytes.toString("utf8", textAt, textAt + words[slot * WORDS + TEXT_BYTES]!);
    const [tenant, logReason, configVersion, policyVersion] = JSON.parse(text) as string[];
    const kind = DECISION_KINDS[code & 3] ?? "";
    const result = (code >>> 5) & 7;
    const isEnforced = (code & 512) !== 0;
    return {
      minuteMs: doubles[slot * DOUBLES + MINUTE_AT]!,
      tenant: tenant!,
      kind,
      toolLevel: TOOL_LEVELS[(code >>> 2) & 7] ?? "",
      result: (kind === "verify" ? VERDICTS[result] : DECISIONS[result]) ?? "",
      effective: (code & 256) !== 0 || !isEnforced ? "allow" : "deny",
      logReason: logReason!,
      configVersion: configVersion!,
      policyVersion: policyVersion!,
      isEnforced,
    };
  }
}

/** Key of the counts beyond the slots. */
const UNNAMED = {
  tenant: "",
  kind: "",
  toolLevel: "",
  result: "",
  effective: "",
  logReason: "",
  configVersion: "",
  policyVersion: "",
  isEnforced: true,
};
