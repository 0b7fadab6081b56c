// One paid read for an agent's tools of every level: what the cache serves is what the service would
// have said, for any agent, policy, level and stakes, of verify, check and handshake.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { DEFAULT_POLICY, type LevelPolicy, type Policy } from "../../../src/contract/policy.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import {
  type LevelStakesPolicy,
  listStakesFaults,
  type StakesPolicy,
} from "../../../src/contract/stakes-policy.ts";
import {
  DECISIONS,
  type LogReason,
  TOOL_LEVELS,
  type ToolLevel,
} from "../../../src/contract/vocabulary.ts";
import type { AgentScore, EngineReader, FoldOutcome } from "../../../src/engine/reading.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createActivePolicy, defaultPolicySource } from "../../../src/policy/active-policy.ts";
import { NEWEST_MS, openSampleBureau } from "../../bureau/_harness.ts";
import { DAY_MS, openEngine, outcomeStream } from "../../engine/_engine.ts";
import { openDoor } from "./_bureau.ts";

const shipped = loadDefaultConfig();
const novel = { ...shipped.check, weights: { ...shipped.check.weights, stakes_novelty: 0.1 } };
/** The shipped config, and one in which stakes above those proven raise the probability. */
const CONFIGS = [{}, { check: novel }];

const share = fc.constantFrom(0.001, 0.01, 0.05, 0.1, 0.3, 1);
/** Records that are mixed, good ones, which stakes and silence alone hold back, and bad ones. */
const records = fc
  .tuple(outcomeStream(3, 60), fc.constantFrom(undefined, 1 as const, 0 as const))
  .map(([stream, all]) => stream.map((each) => ({ ...each, outcome: all ?? each.outcome })));
const level: fc.Arbitrary<LevelPolicy> = fc.record({
  allow_up_to: share,
  allow_handshake_up_to: share,
  flag_above: fc.constantFrom(1, 1, 0.15),
  thin: fc.constantFrom("allow", "flag", "challenge"),
  enforce: fc.constantFrom(true, true, false),
  deny_from: fc.constantFrom("fitted" as const, "never" as const, 0.2),
  minimum_score: fc.constantFrom(null, null, 500, 620),
  counts_stakes: fc.constantFrom(true, true, false),
  require_verified_sources: fc.constantFrom(false, false, true),
  shadow: fc.constantFrom(false, false, true),
});
const levelStakes: fc.Arbitrary<LevelStakesPolicy> = fc.record(
  {
    tolerated_loss_bps: fc.constantFrom(0, 20, 100, 250),
    loss_share: fc.constantFrom(1, 2),
    assumed: fc.constantFrom(0.01, 12, 300),
    stale_after_days: fc.constantFrom(0.5, 3),
    on_verification: fc.constantFrom("challenge", "allow_marked"),
  },
  { requiredKeys: [] },
);
const stakesPolicy: fc.Arbitrary<StakesPolicy> = fc
  .record(
    {
      unit: fc.constantFrom(0.01, 1, 150),
      review_cost: fc.constantFrom(0.5, 5, 60),
      verification_cost: fc.constantFrom(0, 0.3),
      risk_tolerance: fc.constantFrom(50, 5000),
      tolerated_loss_bps: fc.constantFrom(0, 250, 1000),
      review_friction: fc.constantFrom(0.05, 0.3),
      loss_share: fc.constantFrom(0.5, 1),
      assumed: fc.constantFrom(0.01, 7, 100),
      stale_after_days: fc.constantFrom(0.5, 3, 30),
      on_verification: fc.constantFrom("challenge", "allow_marked", "allow_marked"),
      levels: fc.record({ L2: levelStakes, L3: levelStakes }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .filter((given) => listStakesFaults(given, "").length === 0);
const word = { namespace: "agent://t/*", until: "2099-01-01T00:00:00Z", up_to: "L3" } as const;
const policy = fc.oneof(
  fc.constant(DEFAULT_POLICY),
  fc
    .record({
      levels: fc.record({ L0: level, L1: level, L2: level, L3: level }),
      allow_inverted: fc.constant(true),
    })
    .chain((rules) => fc.constantFrom(rules, { ...rules, vouched: [{ ...word, max_stakes: 100 }] }))
    .chain((rules) =>
      fc.oneof(
        fc.constant(rules),
        stakesPolicy.map((own) => ({ ...rules, stakes: own })),
      ),
    ),
);
const stakes = fc.oneof(
  fc.constantFrom(0, 0, 1, 1.01, 10, 50, 100, 100.01, 500, 5000, 1e6, 1e12),
  fc.double({ min: -3, max: 9, noNaN: true }).map((power) => 10 ** power),
);
const request = fc.record({
  // The ninth has no record.
  agent: fc.constantFrom(0, 1, 2, 9).map((index) => `agent://t/${index}`),
  toolLevel: fc.constantFrom(...TOOL_LEVELS),
  stakes,
});

const FLAGGED_ONCE: Readonly<Record<string, string>> = {
  THIN_FILE_FLAGGED: "THIN_FILE_TOLERATED",
  STALE_RECORD_FLAGGED: "RISK_TOLERATED",
};

/** What must not differ. A thin or silent record is flagged once a day, whoever asks first. */
function essence({ policy_action, trust_evaluation, enforced, review }: VerifyResponse) {
  const { verdict, log_reason: label } = policy_action;
  const said = FLAGGED_ONCE[label] ?? label;
  return { verdict, said, trust_evaluation, enforced, isHeld: review !== undefined };
}

const silence = fc.constantFrom(0, 0, 1, 40);

/** Every agent was last heard of as many days ago. Returns the engine. */
function setSilence(engine: EngineReader, days: number): EngineReader {
  const mark = (reading: AgentScore) => Object.assign(reading, { silentDays: days });
  const check = engine.check.bind(engine);
  const handshake = engine.handshake.bind(engine);
  engine.check = (...asked) => mark(check(...asked));
  engine.handshake = (...asked) => {
    const legs = handshake(...asked);
    legs.forEach(mark);
    return legs;
  };
  return engine;
}

/** A bureau with the stream on record, and a gateway of `agent://t/0` in front of it. */
function openWorld(
  overrides: (typeof CONFIGS)[number],
  stream: readonly FoldOutcome[],
  rules: Policy,
  { minimum = 300, silentDays = 0 },
) {
  const { writer, reader } = openEngine(overrides);
  for (const outcome of stream) writer.fold(outcome);
  const nowMs = stream.at(-1)!.settledAtMs + DAY_MS;
  const active = createActivePolicy(rules);
  const policies = { findActivePolicy: () => active, findPolicyVersion: () => active.policy };
  const minimums = { L0: 300, L1: 300, L2: minimum, L3: minimum };
  const door = openDoor(setSilence(reader, silentDays), () => nowMs, policies, minimums);
  const agentId = "agent://t/0";
  const client = new TrustRankClient({ baseUrl: "http://bureau", agentId, fetch: door.fetch });
  return { door, gateway: new TrustGateway({ client, follow: false, monotonic: () => 0 }) };
}

// Thousands of gateways are asked: what each of them says of a flagged answer is tested elsewhere.
beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

describe("what the cache serves", () => {
  const served = { cached: 0, acrossLevels: 0, marked: 0 };

  it.each(CONFIGS)("is what the service would have said", async (overrides) => {
    await fc.assert(
      fc.asyncProperty(
        records,
        policy,
        fc.record({ minimum: fc.constantFrom(300, 550), silentDays: silence }),
        fc.array(request, { minLength: 12, maxLength: 40 }),
        async (stream, rules, given, requests) => {
          const { door, gateway } = openWorld(overrides, stream, rules, given);
          const askedAt = new Map<string, ToolLevel[]>();
          for (const { agent, toolLevel, stakes: value } of requests) {
            const question = { agentId: agent, action: "a.b", toolLevel, stakes: value };
            const answer = await gateway.authorize(question);
            const fresh = door.verify({
              agent_id: agent,
              action: "a.b",
              tool_level: toolLevel,
              stakes: value,
            });
            expect(essence(answer.verdict!)).toEqual(essence(fresh));
            const { max_stakes: most } = answer.verdict!;
            const { verdict: decided, log_reason: label } = fresh.policy_action;
            if (answer.isCached && decided === "ALLOW" && label.startsWith("STAKES_")) {
              served.marked += 1;
            }
            if (decided === "ALLOW") {
              expect(most ?? Infinity).toBeGreaterThanOrEqual(value * (1 - 1e-9) - 1e-4);
              const at = { agent_id: agent, action: "a.b", tool_level: toolLevel };
              const there = door.verify({ ...at, stakes: Math.min(most ?? 1e12, 1e12) });
              expect(there.policy_action.verdict).toBe("ALLOW");
              // Reasons are given with the flag alone.
              const isFlagged = Object.keys(FLAGGED_ONCE).some((flag) =>
                [label, answer.verdict!.policy_action.log_reason].includes(flag as LogReason),
              );
              if (!isFlagged) expect(answer.verdict!.reason_codes).toEqual(fresh.reason_codes);
            }
            const levels = askedAt.get(agent) ?? [];
            if (!answer.isCached) askedAt.set(agent, [...levels, toolLevel]);
            else if (!levels.includes(toolLevel)) served.acrossLevels += 1;
            if (answer.isCached) served.cached += 1;
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("comes from the cache, for levels that were never asked about too", () => {
    expect(served.cached).toBeGreaterThan(1000);
    expect(served.acrossLevels).toBeGreaterThan(300);
    expect(served.marked).toBeGreaterThan(5);
  });

  it("of check and handshake is what the service would have given, and opens nothing to the denied", async () => {
    const decisions = new Map<string, number>();
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CONFIGS),
        records,
        policy,
        fc.record({ silentDays: silence }),
        fc.array(request, { minLength: 12, maxLength: 40 }),
        async (overrides, stream, rules, given, requests) => {
          const { door, gateway } = openWorld(overrides, stream, rules, given);
          for (const { agent, toolLevel, stakes: value } of requests) {
            const question = { agentId: agent, toolLevel, stakes: value };
            const checked = await gateway.check(question);
            const fresh = door.check(agent, value);
            expect(checked.verdict).toMatchObject({
              decision: fresh.decision,
              allowed: fresh.allowed,
              enforced: fresh.enforced,
            });
            // A rare decision is asked for again: whether the cache serves it is not left to chance.
            const isSeen = checked.isCached || decisions.has(checked.word);
            const { isCached, word: said } = isSeen ? checked : await gateway.check(question);
            if (isCached) decisions.set(said, (decisions.get(said) ?? 0) + 1);
            const isDenied = (["L2", "L3"] as const).some((tool_level) => {
              const asked = { agent_id: agent, action: "a.b", tool_level, stakes: value };
              const { verdict } = door.verify(asked).policy_action;
              return verdict === "QUARANTINE" || verdict === "BLOCK";
            });
            if (isDenied) expect(fresh.allowed).toBe(false);
            if (agent === "agent://t/0") continue;
            const admitted = await gateway.admit(question);
            const shaken = door.handshake(agent, "agent://t/0", value);
            const { decision, connected } = shaken;
            if (isDenied) denied += 1;
            if (isDenied) expect(connected).toBe(false);
            expect(admitted.verdict).toMatchObject({ decision, connected });
          }
        },
      ),
      { numRuns: 300 },
    );

    expect(denied).toBeGreaterThan(0);
    for (const each of DECISIONS) expect(decisions.get(each), each).toBeGreaterThan(0);
  });
});

describe("paid reads", () => {
  const { engine } = openSampleBureau();
  const open = () => {
    const door = openDoor(engine, () => NEWEST_MS, defaultPolicySource);
    const client = new TrustRankClient({ baseUrl: "http://bureau", fetch: door.fetch });
    return { door, gateway: new TrustGateway({ client, follow: false, monotonic: () => 0 }) };
  };
  const askAll = async (agentId: string, levels: readonly ToolLevel[]) => {
    const { door, gateway } = open();
    for (const toolLevel of levels) await gateway.authorize({ agentId, action: "a.b", toolLevel });
    return door.reads.verify;
  };

  it("are one for an agent at four levels, in whatever order", async () => {
    for (const agent of ["acme/ledger-sync", "acme/billing-bot", "stark/procurement"]) {
      for (const levels of [TOOL_LEVELS, TOOL_LEVELS.toReversed()]) {
        expect(await askAll(`agent://${agent}`, levels)).toBe(1);
      }
    }
  });

  it("are one for four levels at once", async () => {
    const { door, gateway } = open();
    const agentId = "agent://acme/ledger-sync";
    const ask = (toolLevel: ToolLevel) => gateway.authorize({ agentId, action: "a.b", toolLevel });
    const answers = await Promise.all(TOOL_LEVELS.map(ask));
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
    expect(door.reads.verify).toBe(1);
  });

  it("are more where a person would review an answer: no review is lost", async () => {
    // A newcomer is flagged at L1, once a day: L1 asks for itself unless it was the one that asked.
    expect(await askAll("agent://new/comer", ["L3", "L2", "L1", "L0", "L1"])).toBe(2);
    expect(await askAll("agent://new/comer", ["L1", "L0", "L2", "L3"])).toBe(1);
    // Flagged at L0 and L1, quarantined or blocked above.
    const reads = await askAll("agent://quickcash/loan-broker", TOOL_LEVELS);
    expect(reads).toBeGreaterThan(2);
  });

  it("are one more for stakes that the answer does not cover", async () => {
    const { door, gateway } = open();
    const ask = async (toolLevel: ToolLevel, value: number) => {
      const agentId = "agent://acme/ledger-sync";
      return gateway.authorize({ agentId, action: "a.b", toolLevel, stakes: value });
    };
    const { verdict } = await ask("L2", 1);
    const { holds_from: from, holds_to: to } = verdict!.levels!.L2!;
    expect(from).toBe(0);
    expect((await ask("L2", to!)).isCached).toBe(true);
    expect((await ask("L3", 0)).isCached).toBe(true);
    const beyond = await ask("L2", to! * 1.01);
    expect([beyond.isCached, beyond.word]).toEqual([false, "CHALLENGE"]);
    expect(door.reads.verify).toBe(2);
  });
});
