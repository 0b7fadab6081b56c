// Single writer of the agent table. Lives in the ledger thread (or in-process for imports and
// tests); two writers over one memory would corrupt it.
import assert from "node:assert/strict";
import { STATUS_FULL, STATUS_OK } from "../../assembly/codes.ts";
import {
  FLAG_KEY_REVOKED,
  HEADER_BASE,
  HEADER_BYTES_ARENA,
  HEADER_BYTES_INDEX,
  HEADER_BYTES_PAIRS,
  HEADER_MAGIC,
  HEADER_PAIR_COUNT,
  HEADER_ROW_COUNT,
  HEADER_SEED,
  HEAP_BASE,
  LAYOUT_MAGIC,
  ROW_STRIDE,
  SCRATCH_BASE,
  SCRATCH_ID_A,
  SCRATCH_ID_B,
  SCRATCH_STRIDE,
} from "../../assembly/layout.ts";
import { VOICE_REPORTER } from "../contract/voices.ts";
import type { ScoringConfig } from "./config.ts";
import { packConfig } from "./config-layout.ts";
import { writeIdentifier } from "./identifier.ts";
import { instantiateEngine } from "./memory.ts";
import type { EngineExports } from "./memory.ts";
import type {
  EngineWriter,
  FoldAssessment,
  FoldOutcome,
  NewEntries,
  StandingsPart,
  TableCapacity,
} from "./reading.ts";
import { computeHeapEnd, TableHeader } from "./table-use.ts";

/** The writer's scratch slot; readers take the others. */
export const WRITER_SLOT = 0;

/** Live bytes of the parts of the agent table. */
export interface TableByteCounts {
  agents: number;
  pairs: number;
  rowBytes: number;
  indexBytes: number;
  identifierBytes: number;
  pairBytes: number;
}

class WasmWriter implements EngineWriter {
  readonly #exports: EngineExports;
  readonly #memory: WebAssembly.Memory;
  readonly #scratch: Uint8Array;
  readonly header: TableHeader;
  readonly #newEntries: NewEntries = { agents: 0, identifierBytes: 0, pairs: 0 };

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#exports = instantiateEngine(memory);
    this.header = new TableHeader(memory, this.#exports);
    const base = SCRATCH_BASE + WRITER_SLOT * SCRATCH_STRIDE;
    this.#scratch = new Uint8Array(memory.buffer, base, SCRATCH_STRIDE);
  }

  initialise(seed: bigint): void {
    if (this.#exports.initialise(seed) !== STATUS_OK) {
      throw new Error("the engine memory already has a writer");
    }
  }

  installConfig(config: ScoringConfig, fold: ScoringConfig = config): number {
    const slot = this.#exports.beginConfig();
    packConfig(this.#memory.buffer, slot, config, fold);
    return this.#exports.commitConfig();
  }

  fold(outcome: FoldOutcome): number {
    const subjectLength = writeIdentifier(this.#scratch, SCRATCH_ID_A, outcome.subject);
    const reporterLength = writeIdentifier(this.#scratch, SCRATCH_ID_B, outcome.reporter);
    const status = this.#exports.fold(
      WRITER_SLOT,
      subjectLength,
      reporterLength,
      1 - outcome.outcome,
      outcome.stakes,
      outcome.gradeIndex,
      outcome.signatureIndex,
      outcome.voice ?? VOICE_REPORTER,
      outcome.settledAtMs,
      outcome.incidentAtMs ?? outcome.settledAtMs,
      outcome.incident ?? 0,
    );
    if (!isAcceptedStatus(status)) throw new RangeError("the engine refused an outcome");
    return this.#exports.countedShare();
  }

  foldAssessment({ agent, asker, kindIndex, assessedAtMs }: FoldAssessment): void {
    const length = writeIdentifier(this.#scratch, SCRATCH_ID_A, agent);
    const status = this.#exports.assess(WRITER_SLOT, length, asker, kindIndex, assessedAtMs);
    if (!isAcceptedStatus(status)) throw new RangeError("the engine refused an assessment");
  }

  applyStandings({ isInForce, stakesHigh, agents }: StandingsPart): void {
    for (const { agent, flags, credibility, cluster } of agents) {
      const length = writeIdentifier(this.#scratch, SCRATCH_ID_A, agent);
      this.#exports.setStanding(WRITER_SLOT, length, flags, credibility, cluster);
    }
    this.#exports.setStandings(isInForce ? 1 : 0, stakesHigh);
  }

  markKeyRevoked(agent: string, isRevoked: boolean): void {
    const length = writeIdentifier(this.#scratch, SCRATCH_ID_A, agent);
    const isSet = isRevoked ? 1 : 0;
    this.#exports.setMark(WRITER_SLOT, length, FLAG_KEY_REVOKED, isSet);
  }

  get agents(): number {
    return this.header.agents;
  }

  get pairs(): number {
    return this.header.pairs;
  }

  get bytesMax(): number {
    return this.header.heapEnd - HEAP_BASE;
  }

  computeFillShare(): number {
    return this.header.computeFillShare();
  }

  hasCapacityFor({ agents, identifierBytes, pairs }: NewEntries): boolean {
    return this.#exports.hasRoomFor(agents, identifierBytes, pairs) === 1;
  }

  estimateNewEntries(outcome: FoldOutcome): Readonly<NewEntries> {
    const need = this.#newEntries;
    const subjectLength = writeIdentifier(this.#scratch, SCRATCH_ID_A, outcome.subject);
    const reporterLength = writeIdentifier(this.#scratch, SCRATCH_ID_B, outcome.reporter);
    const voice = outcome.voice ?? VOICE_REPORTER;
    const { signatureIndex } = outcome;
    const packed = this.#exports.needOf(
      WRITER_SLOT,
      subjectLength,
      reporterLength,
      signatureIndex,
      voice,
      outcome.outcome === 0 ? (outcome.incident ?? 0) : 0,
    );
    need.agents = packed & 0xff;
    need.pairs = packed >>> 8;
    need.identifierBytes = need.agents === 0 ? 0 : subjectLength + reporterLength;
    return need;
  }

  readTableByteCounts(): TableByteCounts {
    const header = new DataView(this.#memory.buffer, HEADER_BASE, 128);
    const agents = header.getUint32(HEADER_ROW_COUNT, true);
    return {
      agents,
      pairs: header.getUint32(HEADER_PAIR_COUNT, true),
      rowBytes: agents * ROW_STRIDE,
      indexBytes: header.getUint32(HEADER_BYTES_INDEX, true),
      identifierBytes: header.getUint32(HEADER_BYTES_ARENA, true),
      pairBytes: header.getUint32(HEADER_BYTES_PAIRS, true),
    };
  }
}

/** Whether the module took a record: what finds no room it counts, and changes nothing. */
function isAcceptedStatus(status: number): boolean {
  return status === STATUS_OK || status === STATUS_FULL;
}

/** All operations of the one writer. */
export interface TableWriter extends EngineWriter, TableCapacity {
  readonly header: TableHeader;
  /**
   * Makes `config` active for every thread's next read; returns its number. `fold` gives the
   * constants of the fold, where a table must go on as it was built.
   */
  installConfig(config: ScoringConfig, fold?: ScoringConfig): number;
  readTableByteCounts(): TableByteCounts;
}

/**
 * Takes the writer's role over a new memory and installs the first config. `seed` keys the
 * identifier hash: the same seed and the same log give the same bytes. `bytesMax` bounds the heap;
 * left out, the address space does.
 */
export function openEngineWriter(
  memory: WebAssembly.Memory,
  config: ScoringConfig,
  seed: bigint,
  bytesMax?: number,
): TableWriter {
  const writer = new WasmWriter(memory);
  writer.initialise(seed);
  if (bytesMax !== undefined) writer.header.setHeapEnd(computeHeapEnd(bytesMax));
  writer.installConfig(config);
  return writer;
}

/**
 * Takes the writer's role over a memory that was filled from a snapshot of that seed; undefined when
 * the log would have given another table under `bytesMax`.
 */
export function resumeEngineWriter(
  memory: WebAssembly.Memory,
  seed: bigint,
  bytesMax: number,
): TableWriter | undefined {
  const header = new DataView(memory.buffer, HEADER_BASE, 128);
  assert(header.getUint32(HEADER_MAGIC, true) === LAYOUT_MAGIC, "the memory holds a table");
  assert(header.getBigUint64(HEADER_SEED, true) === seed, "the table has the same seed");
  const writer = new WasmWriter(memory);
  const end = computeHeapEnd(bytesMax);
  const { heapEnd, heapTop, overflow } = writer.header;
  // Where nothing was left out, any end beyond the present top leads to the same bytes.
  if (end !== heapEnd && (overflow > 0 || heapTop > end)) return undefined;
  writer.header.setHeapEnd(end);
  return writer;
}
