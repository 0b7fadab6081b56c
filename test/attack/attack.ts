// An attack as the suite plays it: what it is a run of, how it is played, what came of it.
import type { AttackStage } from "./stage.ts";

export interface Attack {
  /** As `--only` takes it: `unread-replies`. */
  readonly name: string;
  /** What is attempted, in one sentence without a full stop. */
  readonly what: string;
  /**
   * Plays it against services that the stage starts, and ends by itself: bounded in count and time,
   * loopback only. A rejection counts as broken.
   */
  play(stage: AttackStage): Promise<Outcome>;
}

export interface Outcome {
  /** What did not hold, a sentence each; empty when all held. */
  readonly broken: readonly string[];
  /** Measured figures by name, with their unit at the end: `memory_peak_mib`, `others_p99_ratio`. */
  readonly figures: Readonly<Record<string, number>>;
  /** What this machine lacks for it, and how it comes there; left out: it was played. */
  readonly skipped?: string;
}
