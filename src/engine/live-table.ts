// The live table that outcomes are folded into, and the fresh one that a re-fold fills beside it.
import type { ScoringConfig } from "./config.ts";
import { createEngineMemory } from "./memory.ts";
import type { FoldAssessment, FoldOutcome, Standings } from "./reading.ts";
import { openEngineWriter, resumeEngineWriter, type TableWriter } from "./writer.ts";

/** An empty table that no reader sees until it is published. */
export interface UnpublishedTable {
  fold(outcome: FoldOutcome): void;
  foldAssessment(assessment: FoldAssessment): void;
  applyStandings(standings: Standings): void;
  markKeyRevoked(agent: string, isRevoked: boolean): void;
  /** Makes this the live table, for the fold and for all readers. */
  publish(): void;
}

/**
 * The table that outcomes are folded into. A fresh one starts from the same config and the same
 * seed, so that the same log gives the same bytes; `notify` announces it to readers when it takes
 * over.
 */
export class LiveTable {
  memory: WebAssembly.Memory;
  /** Config of the fold, from the first record of the log on, whatever is promoted later. */
  readonly #base: ScoringConfig;
  #config: ScoringConfig;
  readonly #seed: bigint;
  #writer: TableWriter | undefined;
  #isAnnounced = false;

  constructor(memory: WebAssembly.Memory, config: ScoringConfig, seed: bigint) {
    this.memory = memory;
    this.#base = config;
    this.#config = config;
    this.#seed = seed;
  }

  /** Takes the writer's role over an empty memory, or over one that a snapshot has filled. */
  open(isResumed: boolean): void {
    this.#writer = isResumed
      ? resumeEngineWriter(this.memory, this.#seed)
      : openEngineWriter(this.memory, this.#base, this.#seed);
  }

  fold(outcome: FoldOutcome): void {
    this.#writer?.fold(outcome);
  }

  foldAssessment(assessment: FoldAssessment): void {
    this.#writer?.foldAssessment(assessment);
  }

  applyStandings(standings: Standings): void {
    this.#writer?.applyStandings(standings);
  }

  markKeyRevoked(agent: string, isRevoked: boolean): void {
    this.#writer?.markKeyRevoked(agent, isRevoked);
  }

  /** A promoted config scores; it plays no part in the fold: the same log, the same table. */
  install(config: ScoringConfig): void {
    this.#writer?.installConfig(config, this.#base);
    this.#config = config;
  }

  fresh(notify: (memory: WebAssembly.Memory) => void): UnpublishedTable {
    const memory = createEngineMemory();
    const base = this.#base;
    const writer = openEngineWriter(memory, base, this.#seed);
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
  announce(): WebAssembly.Memory {
    this.#isAnnounced = true;
    return this.memory;
  }
}
