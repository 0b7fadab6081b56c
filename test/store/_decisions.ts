// Decision log for tests: a bureau over a small table, and entries by number.
import { openBureau } from "../../src/bureau/open.ts";
import type { Bureau } from "../../src/bureau/bureau.ts";
import { defaultPolicySource } from "../../src/policy/active-policy.ts";
import type { PolicySource } from "../../src/policy/active-policy.ts";
import { createDecisionEntry } from "../../src/bureau/decisions/log-entry.ts";
import { DECISION_KINDS, DECISION_LEGS } from "../../src/contract/decisions.ts";
import type { DecisionEntry, DecisionLog, Disposition } from "../../src/contract/decisions.ts";
import type { Principal } from "../../src/contract/principal.ts";
import type { ReplayableLeg } from "../../src/contract/schemas/decisions.ts";
import { DECISIONS, REGIMES, TIERS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { TableReader } from "../../src/engine/reader.ts";
import { openEngineWriter, type TableWriter } from "../../src/engine/writer.ts";
import { INPUT_COUNT } from "../../src/store/decisions/ring-layout.ts";
import { closedLedger } from "../bureau/_harness.ts";
import { UuidV7Generator } from "../../src/platform/uuid.ts";

export const NOW_MS = Date.UTC(2026, 4, 5, 6, 7, 8, 123);

export function principalOf(tenant: string, isShadow = false): Principal {
  return {
    keyId: `key-${tenant}`,
    tenant,
    scopes: new Set(["score:read"]),
    minimumScores: { L0: 575, L1: 575, L2: 575, L3: 575 },
    isShadow,
    isFirstParty: false,
    voice: 2,
  };
}

/** A bureau over a table with a good agent, a bad one and one that looks. */
export function openTable(
  decisions: DecisionLog,
  clock: () => number = () => NOW_MS,
  policies: PolicySource = defaultPolicySource,
): { bureau: Bureau; writer: TableWriter; engine: TableReader } {
  const nowMs = clock();
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  for (let n = 0; n < 60; n++) {
    for (const [subject, outcome] of [
      ["agent://shop/good", 1],
      ["agent://shop/bad", n % 2],
    ] as const) {
      writer.fold({
        subject,
        reporter: `agent://acme/r${n % 7}`,
        outcome: outcome as 0 | 1,
        stakes: 40,
        gradeIndex: 3,
        signatureIndex: 1,
        settledAtMs: nowMs - (60 - n) * 7_200_000,
      });
    }
  }
  const engine = openEngineReader(memory, 1);
  const bureau = openBureau({
    engine,
    ledger: closedLedger,
    clock,
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator(() => undefined),
      isReservedEnabled: true,
    },
    policies,
    decisions,
  });
  return { bureau, writer, engine };
}

export function entryOf(n: number, isLetThrough: boolean): DecisionEntry {
  return {
    ...createDecisionEntry(),
    requestId: `request-${n}`,
    principal: principalOf("acme"),
    subject: `agent://shop/ünïcode-${n}`,
    isAllowed: isLetThrough,
    reasonCodes: ["THIN_FILE", "BASE_RATE"],
    configVersion: "c-0123456789abcdef",
    policyVersion: `p-${n}`,
    evaluatedAtMs: NOW_MS + n,
    stakes: n,
    inputs: new Float64Array(INPUT_COUNT).fill(n / 3),
  };
}

/** What the answer asks of the caller, by the words of an entry. */
function dispositionOf(entry: DecisionEntry): Disposition {
  const verdict = VERDICTS[entry.verdictIndex];
  const isOther = ["BELOW_TENANT_MINIMUM", "VERIFIED_SOURCES_REQUIRED"].includes(entry.logReason);
  const isPersons = DECISIONS[entry.decisionIndex] === "escalate";
  if (verdict === undefined) {
    return (["allow", "step_up", "person", "refuse"] as const)[entry.decisionIndex]!;
  }
  if (verdict === "ALLOW") return "allow";
  if (verdict !== "CHALLENGE") return "refuse";
  return isPersons && !isOther && entry.failureCode === "" ? "person" : "step_up";
}

/** The entry as the store gives it back. */
export function legOf(entry: DecisionEntry): ReplayableLeg {
  return {
    request_id: entry.requestId,
    kind: DECISION_KINDS[entry.kindIndex]!,
    leg: DECISION_LEGS[entry.legIndex]!,
    tenant: entry.principal.tenant,
    key_id: entry.principal.keyId,
    subject: entry.subject,
    viewer: entry.viewer || null,
    action: entry.action || null,
    session_duration_sec: null,
    tool_level: TOOL_LEVELS[entry.toolLevelIndex] ?? null,
    stakes: entry.stakes,
    verdict: VERDICTS[entry.verdictIndex] ?? null,
    decision: DECISIONS[entry.decisionIndex]!,
    leg_decision: DECISIONS[entry.legDecisionIndex]!,
    effective: entry.isAllowed || !entry.isEnforced ? "allow" : "deny",
    disposition: dispositionOf(entry),
    enforced: entry.isEnforced,
    flagged: entry.isFlagged,
    known: entry.isKnown,
    is_test: entry.isReserved,
    internal_score: entry.scoreInternal,
    effective_score: entry.scoreEffective,
    minimum_score: entry.scoreMinimum,
    failure_probability: entry.failureProbability,
    failure_optimistic: entry.failureOptimistic,
    failure_pessimistic: entry.failurePessimistic,
    tier: TIERS[entry.tierIndex]!,
    regime: REGIMES[entry.regimeIndex] ?? null,
    max_stakes: Number.isFinite(entry.stakesMax) ? entry.stakesMax : null,
    log_reason: entry.logReason || null,
    hard_failure: entry.failureCode || null,
    reason_codes: [...entry.reasonCodes],
    config_version: entry.configVersion,
    policy_version: entry.policyVersion,
    stands_for: 1,
    weight: entry.weight,
    trace_id: null,
    action_entry: entry.actionEntry < 0 ? null : entry.actionEntry,
    node: null,
    evaluated_at: new Date(entry.evaluatedAtMs).toISOString(),
    inputs: [...entry.inputs],
  };
}
