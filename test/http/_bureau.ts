// Small, complete bureau in memory for the HTTP suite: real answers by a fixed rule, so every
// branch of the transport can be reached and compared between adapters. No randomness, no clock of
// its own.
import type { Bureau, CallContext, ImportResult, OutcomeContext } from "../../src/bureau/bureau.ts";
import type { DecisionReplay, ReplayableLeg } from "../../src/contract/schemas/decisions.ts";
import type { AgentExplanation } from "../../src/contract/schemas/scores.ts";
import { ServiceFault } from "../../src/contract/faults.ts";
import { VERDICT_TTL_MS } from "../../src/contract/limits.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  Leg,
  VerdictStamp,
  VerifyRequest,
  VerifyResponse,
} from "../../src/contract/schemas/scores.ts";
import {
  type Decision,
  DECISIONS,
  type LogReason,
  type Verdict,
} from "../../src/contract/vocabulary.ts";

/** Agents named for what they give, as the service's own reserved agents are. */
const BY_AGENT: Readonly<Record<string, Decision>> = {
  "agent://test/connect": "connect",
  "agent://test/verify": "connect_with_verification",
  "agent://test/escalate": "escalate",
  "agent://test/refuse": "refuse",
};

/** Challenged, and let through by a person alone. */
export const HELD_AGENT = "agent://test/held";
/** Allowed on a low score, and flagged for review. */
export const FLAGGED_AGENT = "agent://a/flagged";

const LABELS: Readonly<Record<Verdict, LogReason>> = {
  ALLOW: "TRUST_SUFFICIENT",
  CHALLENGE: "RISK_ABOVE_BOUND",
  QUARANTINE: "RISK_ABOVE_BORDER",
  BLOCK: "REFUSE_RULE",
};

const VERDICT_BY_DECISION: Readonly<Record<Decision, Verdict>> = {
  connect: "ALLOW",
  connect_with_verification: "CHALLENGE",
  escalate: "QUARANTINE",
  refuse: "BLOCK",
};

export class MemoryBureau implements Bureau {
  readonly #now: () => number;
  readonly #receipts = new Map<string, { text: string; receipt: OutcomeReceipt }>();
  /** Calls by name: a smuggled request must not show up here. */
  readonly calls = { verify: 0, check: 0, handshake: 0, recordOutcome: 0, explain: 0 };
  readonly recorded: { request: OutcomeRequest; call: OutcomeContext }[] = [];
  /** Traces of the verifications, in order. */
  readonly traces: (string | undefined)[] = [];
  readonly imported: { request: OutcomeRequest; source: string }[] = [];
  /** While set, outcomes wait for it: makes "in flight" last as long as a test needs. */
  hold: Promise<void> | undefined = undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  verify(request: VerifyRequest, call: CallContext): VerifyResponse | Promise<VerifyResponse> {
    this.calls.verify += 1;
    this.traces.push(call.traceId);
    if (request.agent_id === "agent://test/broken") throw new Error("secret detail of a defect");
    const response = this.#verdict(request, call);
    if (request.agent_id === "agent://test/slow") {
      return new Promise((resolve) => setTimeout(resolve, 20, response));
    }
    if (request.agent_id === "agent://test/never") return new Promise(() => undefined);
    return response;
  }

  listsActions(): boolean {
    return false;
  }

  check(request: CheckRequest, call: CallContext): CheckResponse {
    this.calls.check += 1;
    const leg = legOf(request.subject);
    const allowed = DECISIONS.indexOf(leg.decision) <= 1;
    return {
      ...leg,
      ...this.#stamp(call),
      stakes: request.stakes,
      allowed,
      enforced: !call.principal.isShadow,
    };
  }

  handshake(request: HandshakeRequest, call: CallContext): HandshakeResponse {
    this.calls.handshake += 1;
    const aToB = legOf(request.counterparty);
    const bToA = legOf(request.initiator);
    const index = Math.max(DECISIONS.indexOf(aToB.decision), DECISIONS.indexOf(bToA.decision));
    const decision = DECISIONS[index] as Decision;
    return {
      ...request,
      a_to_b: aToB,
      b_to_a: bToA,
      decision,
      connected: index <= 1,
      reasons: [...aToB.reasons, ...bToA.reasons],
      enforced: !call.principal.isShadow,
      ...this.#stamp(call),
    };
  }

  async recordOutcome(request: OutcomeRequest, call: OutcomeContext): Promise<OutcomeReceipt> {
    this.calls.recordOutcome += 1;
    if (request.subject === request.reporter) {
      throw new ServiceFault("self_report", "subject and reporter are the same agent");
    }
    await this.hold;
    this.recorded.push({ request, call });
    const id = call.idempotencyKey ?? request.id;
    const text = JSON.stringify(request);
    const known = id === undefined ? undefined : this.#receipts.get(id);
    if (known !== undefined && known.text !== text) {
      throw new ServiceFault("idempotency_conflict", "the id was used with another body");
    }
    if (known !== undefined) return { ...known.receipt, duplicate: true };
    const receipt = this.#receipt();
    if (id !== undefined) this.#receipts.set(id, { text, receipt });
    return receipt;
  }

  async recordOutcomeBatch(
    rows: readonly (OutcomeRequest | ServiceFault)[],
    call: OutcomeContext,
  ): Promise<ImportResult[]> {
    const keyless = { ...call, idempotencyKey: undefined };
    return Promise.all(
      rows.map(async (row) => {
        if (row instanceof ServiceFault) return row;
        return this.recordOutcome(row, keyless).catch((fault: unknown) => fault as ServiceFault);
      }),
    );
  }

  async importOutcomes(
    requests: readonly OutcomeRequest[],
    source: string,
  ): Promise<ImportResult[]> {
    return requests.map((request) => {
      if (request.subject === request.reporter) {
        return new ServiceFault("self_report", "subject and reporter are the same agent");
      }
      this.imported.push({ request, source });
      return this.#receipt();
    });
  }

  listObjections() {
    return [];
  }

  explainScore(agentId: string): AgentExplanation {
    this.calls.explain += 1;
    const leg = legOf(agentId);
    return {
      agent_id: agentId,
      known: agentId in BY_AGENT,
      internal_score: 600,
      score: 55,
      effective_score: leg.effective_score,
      tier: leg.tier,
      tool_level_max: "L1",
      vouched: null,
      conditions: [],
      failure_probability: { expected: 0.1, optimistic: 0.05, pessimistic: 0.2 },
      evidence: {
        outcomes: 0,
        reported: 0,
        successes_90d: 0,
        failures_90d: 0,
        successes_14d: 0,
        failures_14d: 0,
        first_seen_at: null,
        last_outcome_at: null,
        last_failure_at: null,
        last_heard_at: null,
        incidents_capped: 0,
        max_proven_stakes: 0,
        silent_days: null,
        stale_since: null,
      },
      unsettled_stakes: 0,
      assumed_stakes: { L2: 7, L3: 12 },
      assessments: { false_content: 0, bad_sources: 0, last_assessed_at: null },
      standing: {
        in_force: false,
        weight: 1,
        credibility: null,
        is_seed: false,
        cluster: null,
        signs: false,
        discounted: false,
        in_ring: false,
      },
      features: [{ name: "evidence", value: 0, points: -40 }],
      decisions: [{ stakes: 10, decision: leg.decision, max_stakes: leg.max_stakes }],
      improvements: ["more settled outcomes would narrow the range"],
      reason_codes: ["THIN_FILE"],
      config_version: "c-0123456789abcdef",
      evaluated_at: new Date(this.#now()).toISOString(),
    };
  }

  holdsConfig(): boolean {
    return false;
  }

  traceDecision(): never {
    throw new ServiceFault("not_found", "no decision has this request id");
  }

  replayDecision(
    legs: readonly ReplayableLeg[],
    configVersion: string | undefined,
  ): DecisionReplay {
    const [first] = legs;
    if (first === undefined) throw new ServiceFault("not_found", "no decision has this request id");
    return {
      request_id: first.request_id,
      recorded_config: first.config_version,
      replayed_config: configVersion ?? first.config_version,
      recorded_policy: first.policy_version,
      replayed_policy: first.policy_version ?? "p-0123456789abcdef",
      identical: configVersion === undefined,
      differences:
        configVersion === undefined
          ? []
          : [{ leg: first.leg, member: "tier", recorded: first.tier, replayed: "D" }],
    };
  }

  #verdict(request: VerifyRequest, call: CallContext): VerifyResponse {
    const leg = legOf(request.agent_id);
    const isHeld = request.agent_id === HELD_AGENT;
    const verdict = isHeld ? "CHALLENGE" : VERDICT_BY_DECISION[leg.decision];
    return {
      ...this.#stamp(call),
      ...(isHeld ? { review: { id: "rv-held", wait: "/v1/reviews/rv-held?wait=30" } } : {}),
      trust_evaluation: {
        score: 55,
        threshold_met: call.principal.minimumScores[request.tool_level] <= 602.5,
        risk_level: "MEDIUM",
        internal_score: 602.5,
        tier: leg.tier,
        ...(leg.regime === undefined ? {} : { regime: leg.regime }),
        confidence: 0.875,
      },
      provenance_data: {
        is_hallucinated: false,
        source_verified: request.context.cited_sources === undefined,
        reason: `no sources to verify for "${request.action}"`,
        ...(request.context.cited_sources === undefined
          ? {}
          : {
              sources: request.context.cited_sources.map((id) => ({
                id,
                status: "SOURCE_UNKNOWN" as const,
              })),
            }),
      },
      policy_action:
        request.agent_id === FLAGGED_AGENT
          ? { verdict: "ALLOW", log_reason: "DENIAL_FLAGGED_FOR_REVIEW" }
          : { verdict, log_reason: LABELS[verdict] },
      reason_codes: [...leg.reason_codes],
      max_stakes: null,
      enforced: !call.principal.isShadow,
      policy_version: "p-0123456789abcdef",
    };
  }

  #stamp(call: CallContext): VerdictStamp {
    const nowMs = this.#now();
    return {
      request_id: call.requestId,
      config_version: "c-0123456789abcdef",
      evaluated_at: new Date(nowMs).toISOString(),
      expires_at: new Date(nowMs + VERDICT_TTL_MS).toISOString(),
    };
  }

  #receipt(): OutcomeReceipt {
    const position = this.recorded.length + this.imported.length;
    return {
      outcome_id: `00000000-0000-7000-8000-${String(position).padStart(12, "0")}`,
      position,
      recorded_at: new Date(this.#now()).toISOString(),
      duplicate: false,
      signature: "none",
    };
  }
}

function legOf(agent: string): Leg {
  const decision = BY_AGENT[agent] ?? "connect";
  const index = DECISIONS.indexOf(decision);
  return {
    subject: agent,
    effective_score: 640.25 - index * 75,
    tier: index === 0 ? "A" : "D",
    ...(index === 0 ? {} : { regime: "shock" as const }),
    decision,
    reasons: index === 0 ? [] : ["recent failures weigh on the score"],
    reason_codes: index === 0 ? [] : ["RECENT_FAILURE"],
    max_stakes: index === 3 ? 0 : 1000,
    tool_level_max: index === 0 ? "L3" : "L1",
  };
}
