// The live table that outcomes are folded into, and the fresh one that a re-fold fills beside it.
import assert from "node:assert/strict";
import type { ScoringConfig } from "./config.ts";
import { createEngineMemory } from "./memory.ts";
import type {
  FoldAssessment,
  FoldOutcome,
  NewEntries,
  StandingsPart,
  TableCapacity,
} from "./reading.ts";
import { openEngineWriter, resumeEngineWriter, type TableWriter } from "./writer.ts";

/** An empty table that no reader sees until it is published. */
export interface UnpublishedTable {
  fold(outcome: FoldOutcome): number;
  foldAssessment(assessment: FoldAssessment): void;
  applyStandings(standings: StandingsPart): void;
  markKeyRevoked(agent: string, isRevoked: boolean): void;
  /** Makes this the live table, for the fold and for all readers. */
  publish(): void;
}

/**
 * The table that outcomes are folded into. A fresh one starts from the same config and the same
 * seed, so that the same log gives the same bytes; `notify` announces it to readers when it takes
 * over.
 */
export class LiveTable implements TableCapacity {
  memory: WebAssembly.Memory;
  /** Config of the fold, from the first record of the log on, whatever is promoted later. */
  readonly #base: ScoringConfig;
  #config: ScoringConfig;
  readonly #seed: bigint;
  readonly bytesMax: number;
  #writer: TableWriter | undefined;
  #isAnnounced = false;

  /** `bytesMax` bounds the heap of this table and of those that follow it. */
  constructor(memory: WebAssembly.Memory, config: ScoringConfig, seed: bigint, bytesMax: number) {
    this.memory = memory;
    this.#base = config;
    this.#config = config;
    this.#seed = seed;
    this.bytesMax = bytesMax;
  }

  /**
   * Takes the writer's role over an empty memory, or over one that a snapshot has filled; false when
   * that one was made under another bound and is not what the log gives under this one.
   */
  open(isResumed: boolean): boolean {
    this.#writer = isResumed
      ? resumeEngineWriter(this.memory, this.#seed, this.bytesMax)
      : openEngineWriter(this.memory, this.#base, this.#seed, this.bytesMax);
    return this.#writer !== undefined;
  }

  get agents(): number {
    return this.#writer?.agents ?? 0;
  }

  get pairs(): number {
    return this.#writer?.pairs ?? 0;
  }

  computeFillShare(): number {
    return this.#writer?.computeFillShare() ?? 0;
  }

  hasCapacityFor(entries: NewEntries): boolean {
    return this.#requireWriter().hasCapacityFor(entries);
  }

  estimateNewEntries(outcome: FoldOutcome): Readonly<NewEntries> {
    return this.#requireWriter().estimateNewEntries(outcome);
  }

  /** Records that found no room so far. */
  get overflow(): number {
    return this.#writer?.header.overflow ?? 0;
  }

  #requireWriter(): TableWriter {
    assert(this.#writer !== undefined, "the table is open");
    return this.#writer;
  }

  /** Share, 0 to 1, of its weight that it counted for. */
  fold(outcome: FoldOutcome): number {
    return this.#writer?.fold(outcome) ?? 1;
  }

  foldAssessment(assessment: FoldAssessment): void {
    this.#writer?.foldAssessment(assessment);
  }

  applyStandings(standings: StandingsPart): void {
    this.#writer?.applyStandings(standings);
  }

  markKeyRevoked(agent: string, isRevoked: boolean): void {
    this.#writer?.markKeyRevoked(agent, isRevoked);
  }

  /** A promoted config scores; it plays no part in the fold: the same log, the same table. */
  installConfig(config: ScoringConfig): void {
    this.#writer?.installConfig(config, this.#base);
    this.#config = config;
  }

  createUnpublishedTable(notify: (memory: WebAssembly.Memory) => void): UnpublishedTable {
    const memory = createEngineMemory();
    const base = this.#base;
    const writer = openEngineWriter(memory, base, this.#seed, this.bytesMax);
    return {
      fold: (outcome) => writer.fold(outcome),
      foldAssessment: (assessment) => writer.foldAssessment(assessment),
      applyStandings: (standings) => writer.applyStandings(standings),
      markKeyRevoked: (agent, isRevoked) => writer.markKeyRevoked(agent, isRevoked),
      publish: () => {
        if (this.#config !== base) writer.installConfig(this.#config, base);
        this.memory = memory;
        this.#writer = writer;
        if (this.#isAnnounced) notify(memory);
      },
    };
  }

  /** The table as replay left it. From here on, later tables are announced to readers. */
  startAnnouncing(): WebAssembly.Memory {
    this.#isAnnounced = true;
    return this.memory;
  }
}
