// Synchronous reads in one thread: identifier bytes into this thread's scratch, one call into the
// module, numbers out of the fixed result region. Allocates nothing per call.
import {
  CONFIG_BASE,
  CONFIG_DIGEST,
  CONFIG_NUMBER,
  CONFIG_SLOTS,
  CONFIG_STRIDE,
  HEADER_BASE,
  HEADER_BASE_RATE,
  HEADER_CONFIG_COUNT,
  HEADER_ROW_COUNT,
  HEADER_STANDINGS,
  LEG_CONFIG,
  LEG_DENIED,
  LEG_EFFECTIVE,
  LEG_INPUTS,
  LEG_INPUTS_END,
  LEG_INTERNAL,
  LEG_KNOWN,
  LEG_OPTIMISTIC,
  LEG_OUTCOMES,
  LEG_PESSIMISTIC,
  LEG_PROBABILITY,
  LEG_REASON_COUNT,
  LEG_HUMAN_CATCH,
  LEG_JUDGED,
  LEG_PROVEN,
  LEG_REASONS,
  LEG_RECORD_DENIED,
  LEG_RECORD_OPTIMISTIC,
  LEG_RECORD_PROBABILITY,
  LEG_RECORD_REFUSED,
  LEG_RECORD_THIN,
  LEG_SILENT_DAYS,
  LEG_STAKES_LOGIT,
  LEG_STAKES_NOVELTY,
  LEG_STAKES_REACH,
  LEG_STAKES_UNTESTED,
  LEG_VERIFY_CATCH,
  LEG_REFUSED,
  LEG_REGIME,
  LEG_STAKES_FROM,
  LEG_STAKES_TO,
  LEG_THIN,
  LEG_TIER,
  LEG_WORDS,
  RANGE_ROWS_MAX,
  SCRATCH_BASE,
  SCRATCH_ID_A,
  SCRATCH_ID_B,
  SCRATCH_LEG_A,
  SCRATCH_LEG_B,
  SCRATCH_RANGE,
  SCRATCH_SLOTS,
  SCRATCH_STRIDE,
  WORD_MODEL_CHECK,
  WORD_MODEL_HANDSHAKE,
} from "../../assembly/layout.ts";
import { formatConfigVersion } from "./config.ts";
import { buildAgentScoreDetails } from "./explain.ts";
import { writeIdentifier } from "./identifier.ts";
import { instantiateEngine } from "./memory.ts";
import type { EngineExports } from "./memory.ts";
import type { AgentScoreDetails, EngineReader, LoggedInputs, AgentScore } from "./reading.ts";
import { TableHeader, type TableUse } from "./table-use.ts";
import { WRITER_SLOT } from "./writer.ts";

function createAgentScore(): AgentScore {
  return {
    isKnown: false,
    failureProbability: 0,
    failureOptimistic: 0,
    failurePessimistic: 0,
    scoreInternal: 0,
    scoreEffective: 0,
    tierIndex: 0,
    regimeIndex: -1,
    isThin: false,
    isDenied: false,
    isRefused: false,
    isJudged: false,
    recordProbability: 0,
    recordOptimistic: 0,
    isRecordThin: false,
    isRecordDenied: false,
    isRecordRefused: false,
    stakesLogit: 0,
    stakesNovelty: 0,
    stakesUntested: 0,
    stakesProven: 0,
    stakesReach: 0,
    verifyCatch: 0,
    humanCatch: 0,
    silentDays: -1,
    fixedDecisionIndex: -1,
    stakesFrom: 0,
    stakesTo: 0,
    reasonIndexes: new Uint8Array(4),
    reasonCount: 0,
    configNumber: 0,
  };
}

/** Copies a leg result out of the scratch words. */
function copyLegWords(words: Float64Array, reading: AgentScore): AgentScore {
  reading.isKnown = words[LEG_KNOWN] === 1;
  reading.failureProbability = words[LEG_PROBABILITY]!;
  reading.failureOptimistic = words[LEG_OPTIMISTIC]!;
  reading.failurePessimistic = words[LEG_PESSIMISTIC]!;
  reading.scoreInternal = words[LEG_INTERNAL]!;
  reading.scoreEffective = words[LEG_EFFECTIVE]!;
  reading.tierIndex = words[LEG_TIER]!;
  reading.regimeIndex = words[LEG_REGIME]!;
  reading.isThin = words[LEG_THIN] === 1;
  reading.isDenied = words[LEG_DENIED] === 1;
  reading.isRefused = words[LEG_REFUSED] === 1;
  reading.isJudged = words[LEG_JUDGED] === 1;
  reading.recordProbability = words[LEG_RECORD_PROBABILITY]!;
  reading.recordOptimistic = words[LEG_RECORD_OPTIMISTIC]!;
  reading.isRecordThin = words[LEG_RECORD_THIN] === 1;
  reading.isRecordDenied = words[LEG_RECORD_DENIED] === 1;
  reading.isRecordRefused = words[LEG_RECORD_REFUSED] === 1;
  reading.stakesLogit = words[LEG_STAKES_LOGIT]!;
  reading.stakesNovelty = words[LEG_STAKES_NOVELTY]!;
  reading.stakesUntested = words[LEG_STAKES_UNTESTED]!;
  reading.stakesProven = words[LEG_PROVEN]!;
  reading.stakesReach = words[LEG_STAKES_REACH]!;
  reading.verifyCatch = words[LEG_VERIFY_CATCH]!;
  reading.humanCatch = words[LEG_HUMAN_CATCH]!;
  reading.silentDays = words[LEG_SILENT_DAYS]!;
  reading.stakesFrom = words[LEG_STAKES_FROM]!;
  reading.stakesTo = words[LEG_STAKES_TO]!;
  reading.reasonCount = words[LEG_REASON_COUNT]!;
  for (let i = 0; i < reading.reasonCount; i++) reading.reasonIndexes[i] = words[LEG_REASONS + i]!;
  reading.configNumber = words[LEG_CONFIG]!;
  return reading;
}

class WasmReader implements EngineReader {
  #exports!: EngineExports;
  #memory!: WebAssembly.Memory;
  readonly #slot: number;
  #scratch!: Uint8Array;
  #legA!: Float64Array;
  #legB!: Float64Array;
  readonly #handshakeScores: readonly [AgentScore, AgentScore];
  readonly #score: AgentScore;
  #inputsA!: Float64Array;
  #inputsB!: Float64Array;
  readonly #versions = new Map<number, string>();
  /** The version of the last look-up; 0 numbers no config. */
  #lastNumber = 0;
  #lastVersion = "";

  constructor(memory: WebAssembly.Memory, slot: number) {
    this.#slot = slot;
    this.#score = createAgentScore();
    this.#handshakeScores = [createAgentScore(), createAgentScore()];
    this.rebind(memory);
  }

  /** Switches to another table, as a re-fold makes one. */
  rebind(memory: WebAssembly.Memory): void {
    const slot = this.#slot;
    this.#memory = memory;
    this.#versions.clear();
    this.#lastNumber = 0;
    this.#exports = instantiateEngine(memory);
    const base = SCRATCH_BASE + slot * SCRATCH_STRIDE;
    this.#scratch = new Uint8Array(memory.buffer, base, SCRATCH_STRIDE);
    this.#legA = new Float64Array(memory.buffer, base + SCRATCH_LEG_A, LEG_WORDS);
    this.#legB = new Float64Array(memory.buffer, base + SCRATCH_LEG_B, LEG_WORDS);
    this.#inputsA = this.#legA.subarray(LEG_INPUTS, LEG_INPUTS_END);
    this.#inputsB = this.#legB.subarray(LEG_INPUTS, LEG_INPUTS_END);
  }

  check(subject: string, stakes: number, nowMs: number): AgentScore {
    const length = writeIdentifier(this.#scratch, SCRATCH_ID_A, subject);
    this.#exports.check(this.#slot, length, stakes, nowMs);
    return copyLegWords(this.#legA, this.#score);
  }

  handshake(
    initiator: string,
    counterparty: string,
    stakes: number,
    nowMs: number,
  ): readonly [AgentScore, AgentScore] {
    const a = writeIdentifier(this.#scratch, SCRATCH_ID_A, initiator);
    const b = writeIdentifier(this.#scratch, SCRATCH_ID_B, counterparty);
    this.#exports.handshake(this.#slot, a, b, stakes, nowMs);
    copyLegWords(this.#legA, this.#handshakeScores[0]);
    copyLegWords(this.#legB, this.#handshakeScores[1]);
    return this.#handshakeScores;
  }

  explain(subject: string, nowMs: number): AgentScoreDetails {
    const length = writeIdentifier(this.#scratch, SCRATCH_ID_A, subject);
    const row = this.#exports.check(this.#slot, length, 0, nowMs);
    const reading = copyLegWords(this.#legA, createAgentScore());
    // A check copies only the fields it uses; an explanation shows the whole row.
    if (row >= 0) this.#exports.copy(this.#slot, row);
    return buildAgentScoreDetails(
      this.#memory,
      { slot: this.#slot, hasRow: row >= 0 },
      reading,
      nowMs,
    );
  }

  /**
   * Internal scores of `count` rows from `first`, at most 1,024, as a view valid until the next
   * call.
   */
  scoreRange(first: number, count: number, nowMs: number): Float64Array {
    const wanted = Math.min(count, RANGE_ROWS_MAX);
    const written = this.#exports.scoreRange(this.#slot, first, wanted, nowMs);
    const base = SCRATCH_BASE + this.#slot * SCRATCH_STRIDE + SCRATCH_RANGE;
    return new Float64Array(this.#memory.buffer, base, written);
  }

  /** The words of the last check, or of the last handshake's a_to_b leg (LEG_*). A live view. */
  get legWords(): Float64Array {
    return this.#legA;
  }

  viewLegInputs(leg: 0 | 1): Float64Array {
    return leg === 0 ? this.#inputsA : this.#inputsB;
  }

  rejudge(logged: LoggedInputs, configVersion: string): AgentScore | undefined {
    const number = this.#findConfigNumber(configVersion);
    if (number === undefined) return undefined;
    this.#legA[LEG_KNOWN] = logged.isKnown ? 1 : 0;
    this.#inputsA.set(logged.inputs);
    // An agent with history has outcomes: an older version did not log their number.
    const isUncounted = logged.isKnown && this.#legA[LEG_OUTCOMES] === 0;
    if (isUncounted) this.#legA[LEG_OUTCOMES] = Number.MAX_SAFE_INTEGER;
    const model = logged.isHandshake ? WORD_MODEL_HANDSHAKE : WORD_MODEL_CHECK;
    const isIntact = this.#exports.rejudge(this.#slot, number, model, logged.stakes) === 1;
    return isIntact ? copyLegWords(this.#legA, this.#score) : undefined;
  }

  holdsConfig(configVersion: string): boolean {
    return this.#findConfigNumber(configVersion) !== undefined;
  }

  /** The newest installed config of that name, while its slot is not reused. */
  #findConfigNumber(configVersion: string): number | undefined {
    const count = new Uint32Array(this.#memory.buffer, HEADER_BASE + HEADER_CONFIG_COUNT, 1);
    const newest = Atomics.load(count, 0);
    const oldest = Math.max(1, newest - CONFIG_SLOTS + 1);
    for (let number = newest; number >= oldest; number--) {
      if (this.findConfigVersion(number) === configVersion) return number;
    }
    return undefined;
  }

  /** Current base rate: log-odds of failure of the whole population. */
  get baseRate(): number {
    return new Float64Array(this.#memory.buffer, HEADER_BASE + HEADER_BASE_RATE, 1)[0]!;
  }

  /** Whether reporters' credibility counts in the fold. */
  get areStandingsInForce(): boolean {
    const word = new Uint32Array(this.#memory.buffer, HEADER_BASE + HEADER_STANDINGS, 1);
    return word[0] !== 0;
  }

  findConfigVersion(configNumber: number): string {
    if (configNumber === this.#lastNumber) return this.#lastVersion;
    this.#lastVersion = this.#versions.get(configNumber) ?? this.#readConfigVersion(configNumber);
    this.#lastNumber = configNumber;
    return this.#lastVersion;
  }

  #readConfigVersion(configNumber: number): string {
    const slot = CONFIG_BASE + ((configNumber - 1) % CONFIG_SLOTS) * CONFIG_STRIDE;
    const digest = new Uint8Array(this.#memory.buffer, slot + CONFIG_DIGEST, 32).slice();
    const held = new Uint32Array(this.#memory.buffer, slot + CONFIG_NUMBER, 1)[0];
    const name = held === configNumber ? formatConfigVersion(digest) : `n-${configNumber}`;
    this.#versions.set(configNumber, name);
    return name;
  }

  /** Version of the config that the next read would use. */
  get activeConfigVersion(): string {
    const count = new Uint32Array(this.#memory.buffer, HEADER_BASE + HEADER_CONFIG_COUNT, 1);
    return this.findConfigVersion(Atomics.load(count, 0));
  }

  /** What the table holds and may hold. */
  readTableUse(): TableUse {
    return new TableHeader(this.#memory, this.#exports).readTableUse();
  }

  /** Bytes of the table's whole memory; it grows by doubling and never shrinks. */
  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  get agentCount(): number {
    const count = new Uint32Array(this.#memory.buffer, HEADER_BASE + HEADER_ROW_COUNT, 1);
    return Atomics.load(count, 0);
  }
}

/** Every read of one thread. */
export type TableReader = EngineReader &
  Pick<
    WasmReader,
    | "scoreRange"
    | "rebind"
    | "legWords"
    | "baseRate"
    | "areStandingsInForce"
    | "readTableUse"
    | "memoryBytes"
  >;

/** Opens a reader for this thread. `slot` is 1 to 63, one per thread; slot 0 is the writer's. */
export function openEngineReader(memory: WebAssembly.Memory, slot: number): TableReader {
  if (!(slot > WRITER_SLOT && slot < SCRATCH_SLOTS)) throw new RangeError("slot is 1 to 63");
  return new WasmReader(memory, slot);
}
