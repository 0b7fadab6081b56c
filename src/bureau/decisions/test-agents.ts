// Reserved test agents: six identifiers that always score the same, so that an integrator can try
// every branch of a gateway without a history. Each is a fixed reading put through the same policy,
// reasons and combination as any other, never a fixed reply.
import { ServiceFault } from "../../contract/faults.ts";
import { DECISIONS, REASON_CODES, TIERS } from "../../contract/vocabulary.ts";
import type { Decision, ReasonCode, Tier } from "../../contract/vocabulary.ts";
import { CATCH_RATES_DEFAULT } from "../../contract/stakes-policy.ts";
import { computeInternalScore } from "../../contract/units.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { ProvenanceFinding } from "./provenance.ts";

export interface ReservedAgent {
  readonly reading: AgentScore;
  /** Delay of the reply; 0 for all but `slow`. */
  readonly delayMs: number;
  /** Replaces the assessed provenance in verify, when the agent stands for a finding. */
  readonly provenance: ProvenanceFinding | undefined;
}

const RESERVED_PREFIX = "agent://test/";

interface ReservedAgentSpec {
  readonly decision: Decision;
  readonly tier: Tier;
  /** Expected, optimistic and pessimistic probability of failure. */
  readonly failure: readonly [number, number, number];
  readonly reason?: ReasonCode;
  readonly delayMs?: number;
  readonly provenance?: ProvenanceFinding;
}

const HALLUCINATED_FINDING: ProvenanceFinding = {
  data: {
    is_hallucinated: true,
    source_verified: false,
    reason: "This reserved test agent always stands for hallucinated content.",
  },
  reasonCode: "HALLUCINATION_SIGNAL",
  hardFailureCode: "CONTENT_HALLUCINATED",
};

const CONNECT_SPEC = { decision: "connect", tier: "A", failure: [0.0005, 0.0003, 0.001] } as const;

const RESERVED_AGENT_SPECS: Readonly<Record<string, ReservedAgentSpec>> = {
  connect: CONNECT_SPEC,
  verify: {
    decision: "connect_with_verification",
    tier: "C",
    failure: [0.03, 0.01, 0.1],
    reason: "THIN_FILE",
  },
  escalate: {
    decision: "escalate",
    tier: "D",
    failure: [0.35, 0.15, 0.6],
    reason: "RECENT_FAILURE",
  },
  refuse: {
    decision: "refuse",
    tier: "D",
    failure: [0.9, 0.75, 0.97],
    reason: "FAILURE_HISTORY",
  },
  hallucinated: {
    decision: "connect_with_verification",
    tier: "B",
    failure: [0.02, 0.01, 0.04],
    reason: "HALLUCINATION_SIGNAL",
    provenance: HALLUCINATED_FINDING,
  },
  slow: { ...CONNECT_SPEC, delayMs: 250 },
};

function createReservedAgent(row: ReservedAgentSpec): ReservedAgent {
  const [failureProbability, failureOptimistic, failurePessimistic] = row.failure;
  const isRefused = row.decision === "refuse";
  // A person looks at both: verify holds them back where the tool is sensitive.
  const isDenied = isRefused || row.decision === "escalate";
  const reading: AgentScore = {
    isKnown: true,
    failureProbability,
    failureOptimistic,
    failurePessimistic,
    scoreInternal: computeInternalScore(failureProbability),
    scoreEffective: computeInternalScore(failurePessimistic),
    tierIndex: TIERS.indexOf(row.tier),
    regimeIndex: 0,
    isThin: false,
    isDenied,
    isRefused,
    isJudged: true,
    recordProbability: failureProbability,
    recordOptimistic: failureOptimistic,
    isRecordThin: false,
    isRecordDenied: isDenied,
    isRecordRefused: isRefused,
    ...CATCH_RATES_DEFAULT,
    stakesLogit: Math.log(failurePessimistic / (1 - failurePessimistic)),
    stakesNovelty: 0,
    stakesUntested: 0,
    stakesProven: 0,
    stakesReach: Number.POSITIVE_INFINITY,
    silentDays: 0,
    fixedDecisionIndex: DECISIONS.indexOf(row.decision),
    stakesFrom: 0,
    stakesTo: Number.POSITIVE_INFINITY,
    reasonIndexes: Uint8Array.of(row.reason === undefined ? 0 : REASON_CODES.indexOf(row.reason)),
    reasonCount: row.reason === undefined ? 0 : 1,
    configNumber: 0,
  };
  return { reading, delayMs: row.delayMs ?? 0, provenance: row.provenance };
}

const RESERVED_AGENTS: ReadonlyMap<string, ReservedAgent> = new Map(
  Object.entries(RESERVED_AGENT_SPECS).map(([name, row]) => [
    RESERVED_PREFIX + name,
    createReservedAgent(row),
  ]),
);

/**
 * Finds the reserved agent of that identifier; undefined for any other.
 * @throws ServiceFault `reserved_agent` when they are switched off: a production gateway must never
 *   be answered by one.
 */
export function findReservedAgent(agentId: string, isEnabled: boolean): ReservedAgent | undefined {
  if (!agentId.startsWith(RESERVED_PREFIX)) return undefined;
  const agent = RESERVED_AGENTS.get(agentId);
  if (agent !== undefined && !isEnabled) {
    throw new ServiceFault("reserved_agent", `\`${agentId}\` is switched off in production`);
  }
  return agent;
}
