// What every use case of the bureau works with: its collaborators and the outside world (clock,
// timer, randomness), all handed in so that a test or a replay can fix them.
import type { DecisionEntry, DecisionLog } from "../contract/decisions.ts";
import type { EngineReader } from "../engine/reading.ts";
import type { EventLog, Ledger } from "../ledger/ledger.ts";
import type { PolicySource } from "./decisions/active-policy.ts";
import type { DailyOnce } from "./decisions/daily-once.ts";
import type { OutcomeIds } from "./outcomes/ids.ts";
import type { ProvenanceAssessor } from "./decisions/provenance.ts";
import type { VerdictTimes } from "./decisions/verdict-times.ts";

/** The outside world as the bureau sees it. */
export interface BureauEnvironment {
  /** Resolves after `ms`; only the reserved agent `agent://test/slow` ever waits. */
  delay(ms: number): Promise<void>;
  /** Fills the array with random bytes, for outcome ids. */
  fillRandom(bytes: Uint8Array): void;
  /** Whether the reserved test agents answer; false in production unless switched on. */
  readonly isReservedEnabled: boolean;
}

export interface BureauOptions {
  readonly engine: EngineReader;
  readonly ledger: Ledger;
  /** Takes signed batches; defaults to a log that takes none. */
  readonly events?: Pick<EventLog, "appendEvidence">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly environment: BureauEnvironment;
  /** Defaults to the assessor of a bureau in which no source is registered. */
  readonly provenance?: ProvenanceAssessor;
  /** The policies in force; defaults to the shipped one for everyone. */
  readonly policies?: PolicySource;
  /** Where every answer is logged; defaults to nowhere. */
  readonly decisions?: DecisionLog;
}

/** The options with their defaults filled in, plus what is made once per bureau. */
export interface BureauServices extends Required<BureauOptions> {
  readonly times: VerdictTimes;
  readonly outcomeIds: OutcomeIds;
  readonly flaggedToday: DailyOnce;
  /** The one entry that is filled for the decision log. */
  readonly entry: DecisionEntry;
  /** Epoch ms of the verdict under way. */
  nowMs: number;
}

/** Fixes the times of one verdict and returns now, epoch ms. */
export function openTimes(services: BureauServices): number {
  const nowMs = services.clock();
  services.nowMs = nowMs;
  services.times.set(nowMs);
  return nowMs;
}
