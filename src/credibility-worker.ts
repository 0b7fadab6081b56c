// Entry of the pool thread of a batch of credibility: reads the journal, walks the graph, answers
// with the records to write. It writes nothing itself: what it dies of changes no standing.
import type { ScoringConfig } from "./engine/config.ts";
import { readStandingHistory } from "./credibility-history.ts";
import type { SeedRules } from "./kaizen/seeds.ts";
import { standingBatch, standingPolicy } from "./kaizen/standings.ts";
import type { StandingFigures } from "./kaizen/standings.ts";
import { encodeStandings } from "./ledger/journal-standings.ts";
import { yieldToOthers } from "./niceness.ts";

export interface CredibilityTask {
  journal: string;
  /** The journal is read up to here; must be durable. */
  uptoLsn: number;
  rules: SeedRules;
  config: ScoringConfig;
}

export interface CredibilityResult {
  /** Journal payloads in order; none when nothing changed. */
  payloads: Uint8Array[];
  /** Absent when the rules name nobody in the history. */
  figures?: StandingFigures;
}

/** The task function that the pool calls. */
export default function run({ journal, uptoLsn, rules, config }: CredibilityTask) {
  yieldToOthers();
  const { history, isInForce } = readStandingHistory(journal, uptoLsn, config);
  const batch = standingBatch(history, rules, standingPolicy(config));
  if (batch === undefined) return { payloads: [] } satisfies CredibilityResult;
  const { standings, figures } = batch;
  const before = { isInForce, stakesHigh: history.stakesHigh };
  const isSame =
    isInForce && standings.agents.length === 0 && standings.stakesHigh === history.stakesHigh;
  const payloads = isSame ? [] : encodeStandings({ ...standings, computedFrom: uptoLsn }, before);
  return { payloads, figures } satisfies CredibilityResult;
}
