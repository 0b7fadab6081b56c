// Rows of scores of made-up agents, by their number.
import type { ScoreRow } from "../../src/store/rows/scores.ts";
import { NOW_MS } from "../ledger/_fixtures.ts";

export const DAY_MS = 86_400_000;

/** Tier B, of one namespace. */
export function rowOf(index: number): ScoreRow {
  return {
    agent: `agent://made/${index}`,
    namespace: "made",
    tier: "B",
    regime: "",
    config_version: "c-1",
    score: 50,
    internal_score: 575,
    effective_score: 550.25,
    failure_probability: 0.125,
    failure_optimistic: 0.1,
    failure_pessimistic: 0.2,
    outcomes: index,
    reported: 0,
    successes_90d: 1.5,
    failures_90d: 0,
    successes_14d: 0.5,
    failures_14d: 0,
    stakes_proven: 10,
    first_seen_ms: NOW_MS - DAY_MS,
    last_outcome_ms: NOW_MS,
    last_failure_ms: 0,
    credibility: -1,
    cluster: 0,
  };
}
