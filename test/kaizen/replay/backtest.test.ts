// The back-test of a journal against a bureau that was really asked: before every outcome of a small
// market, in order, verify and handshake are put to a bureau that has seen what came before.
import { afterEach, describe, expect, it } from "vitest";
import { openBureau } from "../../../src/bureau/open.ts";
import { fillPolicyDefaults } from "../../../src/contract/complete-policy.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { BacktestQuestion } from "../../../src/contract/schemas/backtest.ts";
import { SIGNATURES, TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineReader } from "../../../src/engine/reader.ts";
import { openEngineWriter } from "../../../src/engine/writer.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { backtestJournal } from "../../../src/kaizen/replay/backtest.ts";
import type { BacktestTask } from "../../../src/kaizen/replay/backtest.ts";
import { UuidV7Generator } from "../../../src/platform/uuid.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { closedLedger } from "../../bureau/_harness.ts";
import { NOW_MS, openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const CONFIG = loadDefaultConfig();
const NO_MINIMUMS = { L0: 300, L1: 300, L2: 300, L3: 300 };
const COUNT = 700;
const opened: Stage[] = [];

afterEach(async () => {
  for (const { kaizen, ledger } of opened.splice(0)) {
    await kaizen.close();
    await ledger.close();
  }
});

async function journalOf(outcomes: OutcomeRecord[]): Promise<Stage> {
  const stage = await openStage();
  opened.push(stage);
  await stage.ledger.appendBatch(outcomes);
  return stage;
}

function backtest({ dataDir, ledger }: Stage, changes: Partial<BacktestTask> = {}) {
  const task = {
    journal: resolveDataPaths(dataDir).journal,
    uptoLsn: ledger.position(),
    config: CONFIG,
    live: createActivePolicy(DEFAULT_POLICY),
    includesUnvouched: false,
    ...changes,
  };
  return backtestJournal(task, () => undefined);
}

/** What a real bureau answers right before each outcome, counted: allowed of good, of bad. */
function askedOf(outcomes: readonly OutcomeRecord[], policy: Policy) {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, CONFIG, 1n);
  let nowMs = 0;
  const bureau = openBureau({
    engine: openEngineReader(memory, 1),
    ledger: closedLedger,
    clock: () => nowMs,
    policies: {
      findActivePolicy: () => createActivePolicy(policy),
      findPolicyVersion: () => undefined,
    },
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator((bytes) => bytes.fill(7)),
      isReservedEnabled: false,
    },
  });
  const principal = {
    keyId: "k",
    tenant: "t",
    scopes: new Set(["admin" as const]),
    minimumScores: NO_MINIMUMS,
    isShadow: false,
    isFirstParty: true,
    voice: 1,
  };
  const call = { requestId: "r", principal };
  const counts = new Map<string, number>();
  const count = (question: BacktestQuestion, level: ToolLevel, kind: string, verdict: string) => {
    const name = `${question} ${level} ${kind} ${verdict}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (const each of outcomes) {
    nowMs = each.settledAtMs;
    const kind = each.outcome === 1 ? "good" : "bad";
    for (const tool_level of TOOL_LEVELS) {
      const verdict = (stakes?: number) => {
        const request = { agent_id: each.subject, action: "a.b", tool_level, context: {} };
        const answer = bureau.verify(
          { ...request, ...(stakes === undefined ? {} : { stakes }) },
          call,
        );
        if (answer instanceof Promise) throw new Error("not at once");
        return answer.policy_action.verdict;
      };
      count("verify", tool_level, kind, verdict());
      count("verify_with_stakes", tool_level, kind, verdict(each.stakes));
    }
    for (const question of ["handshake", "handshake_with_stakes"] as const) {
      const stakes = question === "handshake" ? 0 : each.stakes;
      const both = { initiator: each.reporter, counterparty: each.subject, stakes };
      const answer = bureau.handshake(both, call);
      if (answer instanceof Promise) throw new Error("not at once");
      const highest = answer.a_to_b.tool_level_max;
      for (const level of ["L2", "L3"] as const) {
        if (highest >= level) count(question, level, kind, "ALLOW");
      }
    }
    writer.fold({ ...each, signatureIndex: SIGNATURES.indexOf(each.signature) });
  }
  return (question: BacktestQuestion, level: ToolLevel, kind: string, verdict: string) =>
    counts.get(`${question} ${level} ${kind} ${verdict}`) ?? 0;
}

const STRICT = fillPolicyDefaults({
  levels: {
    L2: { ...DEFAULT_POLICY.levels.L2, allow_up_to: 0.04, allow_handshake_up_to: 0.03 },
    L3: { ...DEFAULT_POLICY.levels.L3, allow_up_to: 0.02, allow_handshake_up_to: 0.01 },
    L1: { ...DEFAULT_POLICY.levels.L1, enforce: true, deny_from: 0.4, minimum_score: 400 },
  },
  allow_inverted: true,
});

describe("a back-test of the journal", () => {
  it("says what verify and handshake would have said, question by question", async () => {
    const outcomes = outcomesOf(5, COUNT, undefined, 2);
    const { rows, ...found } = backtest(await journalOf(outcomes), {
      given: createActivePolicy(STRICT),
    });
    expect(found).toMatchObject({ outcomes: COUNT, unvouched: 0, without_stakes: 0 });
    const seen = new Set<string>();
    for (const [name, policy] of [
      ["live", DEFAULT_POLICY],
      ["given", STRICT],
    ] as const) {
      const asked = askedOf(outcomes, policy);
      for (const row of rows.filter((each) => each.policy === name)) {
        const { question, level } = row;
        const of = (kind: string, verdict: string) => asked(question, level, kind, verdict);
        const isHandshake = question.startsWith("handshake");
        if (isHandshake && level < "L2") continue;
        const told = [row.good_allowed, row.bad_allowed];
        expect(told, `${name} ${question} ${level}`).toEqual([
          of("good", "ALLOW"),
          of("bad", "ALLOW"),
        ]);
        if (isHandshake) continue;
        const denied = [
          row.good_quarantined,
          row.good_blocked,
          row.bad_quarantined,
          row.bad_blocked,
        ];
        expect(denied).toEqual([
          of("good", "QUARANTINE"),
          of("good", "BLOCK"),
          of("bad", "QUARANTINE"),
          of("bad", "BLOCK"),
        ]);
        if (row.good_allowed > 0) seen.add("allowed");
        if (row.good_challenged > 0) seen.add("challenged");
        if (row.bad_quarantined + row.bad_blocked > 0) seen.add("denied");
      }
    }
    expect([...seen].toSorted()).toEqual(["allowed", "challenged", "denied"]);
  });

  it("judges the window alone, by all that came before it", async () => {
    const outcomes = outcomesOf(6, 400);
    const [fromMs, toMs] = [outcomes[200]!.settledAtMs, outcomes[300]!.settledAtMs];
    const stage = await journalOf(outcomes);
    const within = backtest(stage, { fromMs, toMs });
    expect(within).toMatchObject({
      outcomes: 100,
      first_at: new Date(fromMs).toISOString(),
      last_at: new Date(outcomes[299]!.settledAtMs).toISOString(),
    });
    const parts = [backtest(stage, { toMs: fromMs }), within, backtest(stage, { fromMs: toMs })];
    const allowed = (found: typeof within) =>
      found.rows.map((row) => row.good_allowed + row.bad_allowed);
    const sums = parts.map(allowed).reduce((a, b) => a.map((count, i) => count + b[i]!));
    expect(sums).toEqual(allowed(backtest(stage)));
    expect(backtest(stage, { fromMs: NOW_MS })).toMatchObject({ outcomes: 0, first_at: null });
  });

  it("leaves out what keys sent that nobody vouches for, unless there is nothing else", async () => {
    const stranger = { signature: "none" as const, voice: 12_345 };
    const outcomes = outcomesOf(7, 300).map((each, i) =>
      i % 3 === 0 ? { ...each, ...stranger } : each,
    );
    const stage = await journalOf(outcomes);
    expect(backtest(stage)).toMatchObject({
      outcomes: 200,
      unvouched: 100,
      counts_unvouched: false,
    });
    expect(backtest(stage, { includesUnvouched: true })).toMatchObject({
      outcomes: 300,
      unvouched: 100,
      counts_unvouched: true,
    });
    const alone = await journalOf(outcomesOf(7, 50).map((each) => ({ ...each, ...stranger })));
    expect(backtest(alone)).toMatchObject({ outcomes: 50, unvouched: 50, counts_unvouched: true });
  });

  it("counts no money of ratings, whose stakes are part of the outcome", async () => {
    const ratings = outcomesOf(8, 100).map((each) => ({ ...each, source: "ratings:otc.csv" }));
    const { rows, without_stakes: withoutStakes } = backtest(await journalOf(ratings));
    expect(withoutStakes).toBe(100);
    expect(rows.every((row) => row.stakes_good + row.stakes_bad === 0)).toBe(true);
    const named = rows.filter((row) => row.question.endsWith("_with_stakes"));
    expect(named.every((row) => row.good + row.bad === 0)).toBe(true);
  });

  it("blocks an agent whose key was revoked, from the revocation on", async () => {
    const outcomes = outcomesOf(9, 300).map((each) => ({
      ...each,
      subject: "agent://made/1",
      outcome: 1 as const,
    }));
    const stage = await openStage();
    opened.push(stage);
    const event = (fields: object) =>
      stage.ledger.appendKeyEvent(Buffer.from(JSON.stringify(fields)));
    const kid = Buffer.alloc(32, 1).toString("base64url");
    await event({ event: "registered", agent: "agent://made/1", tenant: "t", kid });
    await stage.ledger.appendBatch(outcomes.slice(0, 200));
    await event({ event: "revoked", kid, at_ms: 1, compromised_since_ms: null });
    await stage.ledger.appendBatch(outcomes.slice(200));
    const { rows, reasons } = backtest(stage);
    const row = rows.find((each) => each.question === "verify" && each.level === "L3")!;
    // All but the one that settled while the revocation was on its way.
    expect(row.good_blocked).toBe(99);
    const isRefusal = { level: "L3", log_reason: "REFUSE_RULE", verdict: "BLOCK", good: 99 };
    expect(reasons).toContainEqual(expect.objectContaining(isRefusal));
  });
});
