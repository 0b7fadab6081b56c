// Precedence of everything that may decide a request: the first row that holds decides, for a verify as for a
// connection. Bounds (the minimum score, required sources) and identity can only restrict: no review and no
// clearance stands before them. A watch decides nothing: it marks the decision.
import type { ConditionFacts } from "./conditions.ts";

/** Everything that precedence looks at. */
export interface PrecedenceQuery {
  readonly facts: ConditionFacts;
  readonly isKeyRevoked: boolean;
  /** By the record or a threshold of the policy. */
  readonly isRefused: boolean;
  /** Broken or doubtful provenance, by the rule of its level. */
  readonly isProvenanceBroken: boolean;
  /** A minimum score is missed, or required sources are missing. */
  readonly isBoundMissed: boolean;
  /** A reviewer's newest decision replaced the ruling of the rules, or holds it up. */
  readonly isReviewed: boolean;
}

/** Whose decision counts: an operator's word, the rules' own, or a reviewer's. */
export type PrecedenceOutcome = "SUSPENDED" | "STOPPED" | "CLEARED" | "rules" | "review";

interface PrecedenceRow {
  readonly name: string;
  readonly outcome: PrecedenceOutcome;
  readonly holds: (query: PrecedenceQuery) => boolean;
}

export const PRECEDENCE: readonly PrecedenceRow[] = [
  {
    name: "bureau suspended",
    outcome: "SUSPENDED",
    holds: ({ facts }) => facts.bureauSuspended !== undefined,
  },
  {
    name: "tenant suspended",
    outcome: "SUSPENDED",
    holds: ({ facts }) => facts.tenantSuspended !== undefined,
  },
  { name: "bureau stop", outcome: "STOPPED", holds: ({ facts }) => facts.bureauStop !== undefined },
  { name: "tenant stop", outcome: "STOPPED", holds: ({ facts }) => facts.tenantStop !== undefined },
  { name: "revoked key", outcome: "rules", holds: ({ isKeyRevoked }) => isKeyRevoked },
  { name: "refuse rule", outcome: "rules", holds: ({ isRefused }) => isRefused },
  {
    name: "broken provenance",
    outcome: "rules",
    holds: ({ isProvenanceBroken }) => isProvenanceBroken,
  },
  { name: "missed bound", outcome: "rules", holds: ({ isBoundMissed }) => isBoundMissed },
  { name: "newest review", outcome: "review", holds: ({ isReviewed }) => isReviewed },
  {
    name: "tenant cleared",
    outcome: "CLEARED",
    holds: ({ facts }) => facts.tenantCleared !== undefined,
  },
  {
    name: "bureau cleared",
    outcome: "CLEARED",
    holds: ({ facts }) => facts.bureauCleared !== undefined,
  },
  { name: "record", outcome: "rules", holds: () => true },
];

/** Whose decision counts. */
export function selectPrecedenceOutcome(query: PrecedenceQuery): PrecedenceOutcome {
  for (const { holds, outcome } of PRECEDENCE) if (holds(query)) return outcome;
  return "rules";
}
