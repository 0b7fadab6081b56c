// Writing end of the decision log: a ring of bytes in shared memory, one writer and one reader, no
// locks and no allocation. Beyond the budget, and while the ring fills, a sample is kept with its
// weight; denials are not sampled for want of room: they wait in this thread's memory, then push back.
import { randomFillSync } from "node:crypto";
import { NOT_APPLICABLE } from "../../contract/decisions.ts";
import type { DecisionEntry, DecisionLog } from "../../contract/decisions.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { RandomDraws } from "../../platform/random.ts";
import { computeLadderExponent, DecisionBudget, SAMPLE_EXPONENT_MAX } from "./budget.ts";
import { DecisionCounter } from "./count-slots.ts";
import {
  ACTION_INPUT,
  CONTROL_BYTES,
  DROPPED,
  FLAG_ENFORCED,
  FLAG_FLAGGED,
  FLAG_KNOWN,
  FLAG_ALLOWED,
  FLAG_RESERVED,
  FLAG_SESSION,
  FLAG_TRACED,
  HEAD,
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_COUNTS,
  OFFSET_INDEXES,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_SESSION,
  OFFSET_TEXTS,
  RECORDED,
  RING_BYTES,
  SESSION_SECONDS_MAX,
  TAIL,
  TRACE_BYTES,
} from "./ring-layout.ts";
import { AnswerTextCache, CallerTextCache, writeText } from "./ring-texts.ts";

/** Denials that did not fit, waiting in the writer's own memory. */
const QUEUED_DENIALS_MAX = 16_384;
/** Shares of free room in the ring between which allowed decisions are sampled: those kept first, and others. */
const ROOM_LADDER_OF_FIRST = [1 / 4, 1 / 8] as const;
const ROOM_LADDER_OF_OTHERS = [1 / 2, 1 / 4] as const;
/** Smallest probability for want of room, 1 in 1,024: a ring that fills for a moment leaves a sample of it. */
const ROOM_EXPONENT_MAX = 10;
const REFILL_INTERVAL_MS = 20;

/** Powers of two: in place of one computed for every decision. */
const WEIGHT_BY_EXPONENT = Array.from({ length: SAMPLE_EXPONENT_MAX + 1 }, (_, k) => 2 ** k);

/** Texts that are kept from record to record. */
interface RecordTextCaches {
  readonly caller: CallerTextCache;
  readonly answer: AnswerTextCache;
}

/** Views over the bytes that a record is written to. */
interface RecordTarget {
  bytes: Uint8Array;
  lengths: Uint16Array;
  words: Uint32Array;
  numbers: Float64Array;
}

function createRecordTarget(buffer: ArrayBufferLike, offset: number, length: number): RecordTarget {
  return {
    bytes: new Uint8Array(buffer, offset, length),
    lengths: new Uint16Array(buffer, offset, length / 2),
    words: new Uint32Array(buffer, offset, length / 4),
    numbers: new Float64Array(buffer, offset, length / 8),
  };
}

interface DecisionRingWriterOptions {
  /** Shared by all threads (budget.ts); left out: without limit. */
  budget?: SharedArrayBuffer;
  /**
   * Milliseconds that a denial may block the thread when the ring is full. 0 for a thread that
   * serves: there it waits in memory instead. A pool thread has no turns of an event loop to wait
   * with.
   */
  waitMs: number;
  /** Draws from [0, 1): which decisions are in the sample. Left out: the system's. */
  random?: () => number;
}

/** The writing end; one per thread that decides. */
export class DecisionRingWriter implements DecisionLog {
  readonly #control: Uint32Array;
  readonly #waitableControl: Int32Array;
  readonly #ring: RecordTarget;
  readonly #waitMs: number;
  readonly #budget: DecisionBudget | undefined;
  readonly #counter: DecisionCounter;
  readonly #texts: RecordTextCaches = {
    caller: new CallerTextCache(),
    answer: new AnswerTextCache(),
  };
  /** The last decision asked about: both legs of a handshake share its sample. */
  #requestId = "";
  #exponent = 0;
  #isInSample = true;
  readonly #random: () => number;
  #queuedDenials: Uint8Array[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(ring: SharedArrayBuffer, options: DecisionRingWriterOptions) {
    this.#control = new Uint32Array(ring, 0, 4);
    this.#waitableControl = new Int32Array(ring, 0, 4);
    this.#ring = createRecordTarget(ring, CONTROL_BYTES, RING_BYTES);
    this.#waitMs = options.waitMs;
    const draws = new RandomDraws(randomFillSync);
    this.#random = options.random ?? (() => draws.next());
    this.#budget = options.budget && new DecisionBudget(options.budget);
    this.#counter = new DecisionCounter(ring, OFFSET_COUNTS);
  }

  admit(entry: DecisionEntry): boolean {
    if (entry.legIndex === 0 || entry.requestId !== this.#requestId) {
      this.#requestId = entry.requestId;
      this.#exponent = this.#selectExponent(entry);
      this.#isInSample =
        this.#exponent === 0 || this.#random() * WEIGHT_BY_EXPONENT[this.#exponent]! < 1;
    }
    entry.weight = WEIGHT_BY_EXPONENT[this.#exponent]!;
    if (this.#isInSample) return true;
    this.#control[DROPPED]! += 1;
    this.#counter.count(entry, false);
    return false;
  }

  record(entry: DecisionEntry): void {
    const bytesMax = computeEntryBytesMax(entry);
    const at = this.#reserve(bytesMax);
    let length: number;
    if (at < 0) length = this.#queueOrBlock(entry, bytesMax);
    else this.#publish(at, (length = writeEntry(this.#ring, at, entry, this.#texts)));
    this.#budget?.charge(length);
    this.#counter.count(entry, true);
  }

  /** Denials are sampled by the budget alone: a full ring pushes back instead. */
  #selectExponent(entry: DecisionEntry): number {
    const { isKeptFirst, isAllowed, isFlagged, evaluatedAtMs } = entry;
    const exponent = this.#budget?.selectExponent(isKeptFirst, evaluatedAtMs) ?? 0;
    if (!isAllowed || isFlagged) return exponent;
    const used = (this.#control[HEAD]! - Atomics.load(this.#control, TAIL)) >>> 0;
    // Both ladders begin below.
    if (used <= RING_BYTES / 2) return exponent;
    const ladder = isKeptFirst ? ROOM_LADDER_OF_FIRST : ROOM_LADDER_OF_OTHERS;
    const ofRoom = computeLadderExponent(1 - used / RING_BYTES, ladder, ROOM_EXPONENT_MAX);
    return Math.max(exponent, ofRoom);
  }

  /** Resolves once nothing waits outside the ring; the reader must be at work. */
  async flush(): Promise<void> {
    while (this.#queuedDenials.length > 0) {
      this.#refill();
      if (this.#queuedDenials.length > 0) {
        await new Promise((resolve) => setTimeout(resolve, REFILL_INTERVAL_MS));
      }
    }
  }

  /** Offset of `length` contiguous free bytes, or -1. */
  #reserve(length: number): number {
    const head = this.#control[HEAD]!;
    const used = (head - Atomics.load(this.#control, TAIL)) >>> 0;
    const at = head & (RING_BYTES - 1);
    const rest = RING_BYTES - at;
    if (length <= rest) return used + length <= RING_BYTES ? at : -1;
    if (used + rest + length > RING_BYTES) return -1;
    this.#ring.words[at / 4] = 0;
    Atomics.store(this.#control, HEAD, (head + rest) >>> 0);
    return 0;
  }

  #publish(at: number, length: number): void {
    const head = this.#control[HEAD]!;
    this.#ring.words[at / 4] = length;
    // This store makes the bytes before it visible to the reader.
    Atomics.store(this.#control, HEAD, (head + length) >>> 0);
    // Only this thread writes it: a torn read of a counter does no harm.
    this.#control[RECORDED]! += 1;
  }

  /** Back-pressure: a denial that cannot be kept is not given. @returns the bytes of its record. */
  #queueOrBlock(entry: DecisionEntry, bytesMax: number): number {
    if (this.#waitMs > 0) return this.#blockAndWrite(entry, bytesMax);
    if (this.#queuedDenials.length >= QUEUED_DENIALS_MAX) throw createSaturatedFault();
    const aside = createRecordTarget(new ArrayBuffer(bytesMax), 0, bytesMax);
    const length = writeEntry(aside, 0, entry, this.#texts);
    aside.words[0] = length;
    this.#queuedDenials.push(aside.bytes.subarray(0, length));
    this.#timer ??= setTimeout(() => this.#refill(), REFILL_INTERVAL_MS).unref();
    return length;
  }

  #refill(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let count = 0;
    for (const bytes of this.#queuedDenials) {
      const at = this.#reserve(bytes.length);
      if (at < 0) break;
      this.#ring.bytes.set(bytes, at);
      this.#publish(at, bytes.length);
      count++;
    }
    this.#queuedDenials = this.#queuedDenials.slice(count);
    if (this.#queuedDenials.length > 0) {
      this.#timer = setTimeout(() => this.#refill(), REFILL_INTERVAL_MS).unref();
    }
  }

  #blockAndWrite(entry: DecisionEntry, bytesMax: number): number {
    const tail = this.#waitableControl[TAIL]!;
    Atomics.wait(this.#waitableControl, TAIL, tail, this.#waitMs);
    const at = this.#reserve(bytesMax);
    if (at < 0) throw createSaturatedFault();
    const length = writeEntry(this.#ring, at, entry, this.#texts);
    this.#publish(at, length);
    return length;
  }
}

function createSaturatedFault(): ServiceFault {
  return new ServiceFault("overloaded", "the decision log cannot keep up");
}

/** Bytes an entry takes at most: every UTF-16 unit is up to three bytes. */
function computeEntryBytesMax(entry: DecisionEntry): number {
  let units = entry.requestId.length + entry.subject.length + entry.viewer.length;
  units += entry.action.length + entry.logReason.length + entry.failureCode.length;
  units += entry.configVersion.length + entry.policyVersion.length;
  units += entry.principal.tenant.length;
  units += entry.principal.keyId.length;
  const { reasonCodes } = entry;
  for (let index = 0; index < reasonCodes.length; index += 1) {
    units += reasonCodes[index]!.length + 1;
  }
  const traceBytes = entry.traceId === "" ? 0 : TRACE_BYTES;
  return ((OFFSET_TEXTS + 3 * units + 7) & ~7) + traceBytes;
}

/** Writes all but the length at `at` of `target`; returns it, a multiple of 8. */
function writeEntry(
  target: RecordTarget,
  at: number,
  entry: DecisionEntry,
  texts: RecordTextCaches,
): number {
  const { bytes, lengths } = target;
  writeIndexes(bytes, at + OFFSET_INDEXES, entry);
  if (entry.sessionSeconds >= 0) writeSession(bytes, at + OFFSET_SESSION, entry.sessionSeconds);
  writeNumbers(target.numbers, (at + OFFSET_NUMBERS) / 8, entry);
  const slot = (at + OFFSET_LENGTHS) / 2;
  let to = at + OFFSET_TEXTS;
  to += lengths[slot] = writeText(bytes, to, entry.requestId);
  to += texts.caller.write(target, to, slot + 1, entry.principal);
  to += lengths[slot + 3] = writeText(bytes, to, entry.subject);
  to += lengths[slot + 4] = writeText(bytes, to, entry.viewer);
  to += lengths[slot + 5] = writeText(bytes, to, entry.action);
  to += texts.answer.write(target, to, slot + 6, entry);
  const length = (to - at + 7) & ~7;
  if (entry.traceId === "") return length;
  writeTraceId(bytes, at + length, entry.traceId);
  return length + TRACE_BYTES;
}

/** 32 hexadecimal digits in lower case as 16 bytes. */
function writeTraceId(bytes: Uint8Array, at: number, traceId: string): void {
  for (let index = 0; index < TRACE_BYTES; index += 1) {
    bytes[at + index] =
      (parseHexDigitAt(traceId, 2 * index) << 4) | parseHexDigitAt(traceId, 2 * index + 1);
  }
}

function parseHexDigitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < ASCII_LOWER_A ? code - ASCII_ZERO : code - ASCII_LOWER_A + 10;
}

const ASCII_ZERO = 0x30;
const ASCII_LOWER_A = 0x61;

function writeIndexes(bytes: Uint8Array, at: number, entry: DecisionEntry): void {
  bytes[at] = entry.kindIndex;
  bytes[at + 1] = entry.legIndex;
  bytes[at + 2] = entry.toolLevelIndex;
  bytes[at + 3] = entry.verdictIndex;
  bytes[at + 4] = entry.decisionIndex;
  bytes[at + 5] = entry.legDecisionIndex;
  bytes[at + 6] = entry.tierIndex;
  bytes[at + 7] = entry.regimeIndex < 0 ? NOT_APPLICABLE : entry.regimeIndex;
  bytes[at + 8] =
    (entry.isAllowed ? FLAG_ALLOWED : 0) |
    (entry.isFlagged ? FLAG_FLAGGED : 0) |
    (entry.isKnown ? FLAG_KNOWN : 0) |
    (entry.isReserved ? FLAG_RESERVED : 0) |
    (entry.sessionSeconds >= 0 ? FLAG_SESSION : 0) |
    (entry.isEnforced ? FLAG_ENFORCED : 0) |
    (entry.traceId === "" ? 0 : FLAG_TRACED);
}

function writeSession(bytes: Uint8Array, at: number, seconds: number): void {
  const kept = Math.min(seconds, SESSION_SECONDS_MAX);
  bytes[at] = kept;
  bytes[at + 1] = kept >> 8;
  bytes[at + 2] = kept >> 16;
}

function writeNumbers(numbers: Float64Array, at: number, entry: DecisionEntry): void {
  numbers[at] = entry.evaluatedAtMs;
  numbers[at + 1] = entry.stakes;
  numbers[at + 2] = entry.failureProbability;
  numbers[at + 3] = entry.failureOptimistic;
  numbers[at + 4] = entry.failurePessimistic;
  numbers[at + 5] = entry.scoreInternal;
  numbers[at + 6] = entry.scoreEffective;
  numbers[at + 7] = entry.stakesMax;
  numbers[at + 8] = entry.scoreMinimum;
  numbers[at + 9] = entry.weight;
  const { inputs } = entry;
  const from = at + NUMBER_COUNT;
  for (let index = 0; index < INPUT_COUNT; index += 1) numbers[from + index] = inputs[index]!;
  if (entry.actionEntry >= 0) numbers[from + ACTION_INPUT] = -1 - entry.actionEntry;
}
