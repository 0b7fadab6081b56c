// Scores of all agents of a table as rows of the store: of the live table, and of replayed ones.
import { scaleScoreTo100 } from "../bureau/decisions/verify.ts";
import { decodeAgentKey } from "../contract/identifiers.ts";
import { extractNamespace } from "../contract/namespaces.ts";
import { STANDING_BITS } from "../contract/standings.ts";
import { REGIMES, TIERS } from "../contract/vocabulary.ts";
import { openEngineReader } from "../engine/reader.ts";
import type { AgentScoreDetails } from "../engine/reading.ts";
import { readAgentIdentifiers, AGENT_LISTING_SLOT } from "../engine/roster.ts";
import type { ScoreRow } from "../store/rows/scores.ts";
import type { ScoreSource } from "../store/score-refresh.ts";

/** Scores of a table by the number of its agents. `isWanted` leaves out agents before they are scored. */
export interface AgentScoreSource extends ScoreSource {
  read(
    first: number,
    countMax: number,
    nowMs: number,
    isWanted?: (agent: string) => boolean,
  ): ScoreRow[];
}

/** Opens the table in `memory`, which may grow. */
export function openScoreSource(memory: WebAssembly.Memory): AgentScoreSource {
  const engine = openEngineReader(memory, AGENT_LISTING_SLOT);
  return {
    get agentCount() {
      return engine.agentCount;
    },
    read(first, countMax, nowMs, isWanted = () => true) {
      const end = Math.min(engine.agentCount, first + countMax);
      return readAgentIdentifiers(memory, first, end).flatMap((key) => {
        const agent = decodeAgentKey(key);
        if (!isWanted(agent)) return [];
        const reading = engine.explain(key, nowMs);
        return [buildScoreRow(agent, reading, engine.findConfigVersion(reading.configNumber))];
      });
    },
  };
}

function buildScoreRow(agent: string, reading: AgentScoreDetails, configVersion: string): ScoreRow {
  const internal = Math.round(reading.scoreInternal);
  const isBelieved = (reading.flags & STANDING_BITS.believed) !== 0;
  return {
    agent,
    namespace: agent.startsWith("agent://") ? extractNamespace(agent) : "",
    tier: TIERS[reading.tierIndex] ?? "",
    regime: reading.regimeIndex < 0 ? "" : (REGIMES[reading.regimeIndex] ?? ""),
    config_version: configVersion,
    score: scaleScoreTo100(internal),
    internal_score: internal,
    effective_score: reading.scoreEffective,
    failure_probability: reading.failureProbability,
    failure_optimistic: reading.failureOptimistic,
    failure_pessimistic: reading.failurePessimistic,
    outcomes: reading.outcomeCount,
    reported: reading.reportedCount,
    successes_90d: reading.successes90,
    failures_90d: reading.failures90,
    successes_14d: reading.successes14,
    failures_14d: reading.failures14,
    stakes_proven: reading.stakesProven,
    first_seen_ms: reading.firstSeenMs,
    last_outcome_ms: reading.lastOutcomeMs,
    last_failure_ms: reading.lastFailureMs,
    credibility: isBelieved ? reading.credibility : -1,
    cluster: reading.cluster,
  };
}
